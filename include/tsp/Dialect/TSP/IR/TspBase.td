//===- TspBase.td - base classes of tsp operations -------------------- *- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_BASE_TD
#define TSP_BASE_TD

include "tsp/Dialect/TSP/IR/TspAttrs.td"
include "tsp/Dialect/TSP/IR/TspTypes.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/SymbolInterfaces.td"

class Tsp_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tsp_Dialect, mnemonic, traits>;

#endif // TSP_BASE_TD
