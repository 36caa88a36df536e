//===- StableHLODialect.h - the stablehlo and chlo input dialects *- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_DIALECT_STABLEHLO_IR_STABLEHLODIALECT_H
#define TSP_DIALECT_STABLEHLO_IR_STABLEHLODIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h.inc"
#include "tsp/Dialect/StableHLO/IR/StableHLOEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "tsp/Dialect/StableHLO/IR/StableHLOAttrs.h.inc"

#define GET_OP_CLASSES
#include "tsp/Dialect/StableHLO/IR/ElementwiseOps.h.inc"
#define GET_OP_CLASSES
#include "tsp/Dialect/StableHLO/IR/ShapeOps.h.inc"
#define GET_OP_CLASSES
#include "tsp/Dialect/StableHLO/IR/ReductionOps.h.inc"
#define GET_OP_CLASSES
#include "tsp/Dialect/StableHLO/IR/ControlFlowOps.h.inc"
#define GET_OP_CLASSES
#include "tsp/Dialect/StableHLO/IR/CollectiveOps.h.inc"
#define GET_OP_CLASSES
#include "tsp/Dialect/StableHLO/IR/RefusedOps.h.inc"

#include "tsp/Dialect/StableHLO/IR/ChloDialect.h.inc"
#define GET_OP_CLASSES
#include "tsp/Dialect/StableHLO/IR/ChloOps.h.inc"

namespace tsp::stablehlo {

/// True for ops that compute each element of the result from the elements of
/// the operands at the same place (select and clamp count, also with a scalar
/// pred or bound).
bool isElementwise(mlir::Operation *op);

/// The one op `op(block arg 0, block arg 1)` that a body of two arguments
/// returns, or null: how sums, maxima and the like are told from other bodies.
mlir::Operation *getSimpleReducer(mlir::Region &body);

/// Why the compiler refuses ops of this name, or "" when it does not.
llvm::StringRef getRefusalReason(llvm::StringRef opName);

} // namespace tsp::stablehlo

#endif // TSP_DIALECT_STABLEHLO_IR_STABLEHLODIALECT_H
