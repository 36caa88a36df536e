//===- TspVerifiers.h - what verifiers share --------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_DIALECT_TSP_IR_TSPVERIFIERS_H
#define TSP_DIALECT_TSP_IR_TSPVERIFIERS_H

#include "tsp/Dialect/TSP/IR/TspDialect.h"

namespace tsp {

/// That `dim`, the attribute `name` of `op`, is a dim of `type`.
mlir::LogicalResult verifyDim(mlir::Operation *op, llvm::StringRef name,
                              int64_t dim, mlir::RankedTensorType type);

} // namespace tsp

#endif // TSP_DIALECT_TSP_IR_TSPVERIFIERS_H
