//===- TspDialect.h - the tsp dialect ---------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_DIALECT_TSP_IR_TSPDIALECT_H
#define TSP_DIALECT_TSP_IR_TSPDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tsp/Dialect/TSP/IR/TspDialect.h.inc"
#include "tsp/Dialect/TSP/IR/TspEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tsp/Dialect/TSP/IR/TspAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "tsp/Dialect/TSP/IR/TspTypes.h.inc"

#define GET_OP_CLASSES
#include "tsp/Dialect/TSP/IR/TspOps.h.inc"

#endif // TSP_DIALECT_TSP_IR_TSPDIALECT_H
