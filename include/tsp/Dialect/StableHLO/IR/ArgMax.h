//===- ArgMax.h - reductions that find the largest element ------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_DIALECT_STABLEHLO_IR_ARGMAX_H
#define TSP_DIALECT_STABLEHLO_IR_ARGMAX_H

#include "mlir/IR/Region.h"

namespace tsp::stablehlo {

/// Whether a reducer of pairs (value, index) keeps the greater value, NaN being
/// greater than any number, and of equal values the lowest index. Between two
/// NaNs the index may also be that of the first pair.
bool isArgMaxReducer(mlir::Region &body);

} // namespace tsp::stablehlo

#endif // TSP_DIALECT_STABLEHLO_IR_ARGMAX_H
