//===- ConstantFolding.h - values of ops on constants -----------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_DIALECT_STABLEHLO_IR_CONSTANTFOLDING_H
#define TSP_LIB_DIALECT_STABLEHLO_IR_CONSTANTFOLDING_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Operation.h"

namespace tsp::stablehlo {

/// Constants of more elements are folded only when they are splats.
inline constexpr int64_t kMaxFoldedElements = 64;

/// The result of an elementwise op on constants, or null when an operand is not
/// a small constant or the op has no value for it at compile time.
mlir::Attribute foldElementwise(mlir::Operation *op,
                                llvm::ArrayRef<mlir::Attribute> operands);

/// Whether a constant has this value everywhere, bit for bit (-0.0 is not 0.0).
bool isAll(mlir::Attribute constant, double value);

/// The one element of a splat constant, or null.
mlir::Attribute getSplatElement(mlir::Attribute constant);

/// A constant of `type` with this element everywhere.
mlir::Attribute makeSplat(mlir::Type type, mlir::Attribute element);

} // namespace tsp::stablehlo

#endif // TSP_LIB_DIALECT_STABLEHLO_IR_CONSTANTFOLDING_H
