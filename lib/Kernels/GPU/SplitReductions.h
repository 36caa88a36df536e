//===- SplitReductions.h - reductions in two steps --------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results that are few and long to compute leave most of a GPU idle. Such a
// reduction is divided into parts of its contracted dim, each with results of
// its own in memory, and a reduction of these in the order of the parts: two
// kernels, whose bits do not depend on timing. What follows the reduction
// follows the second step, once.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GPU_SPLITREDUCTIONS_H
#define TSP_LIB_KERNELS_GPU_SPLITREDUCTIONS_H

#include "CostModel.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "mlir/IR/Builders.h"

namespace tsp {

/// Numbers from 2 to `most` that divide `size`.
llvm::SmallVector<int64_t> getDivisors(int64_t size, int64_t most);

/// Dims [dim, dim + count) as dims `parts` and the rest.
mlir::Value splitDims(mlir::OpBuilder &builder, mlir::Value value, int64_t dim,
                      int64_t count, int64_t parts);

/// Each divides an op if the parts take less time on `target` and one launch
/// more than the whole does, and says whether it did.
bool splitProduct(stablehlo::DotGeneralOp dot, const TargetDescription &target);
bool splitReduce(stablehlo::ReduceOp reduce, const TargetDescription &target);
bool splitTopK(chlo::TopKOp topK, const TargetDescription &target);

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_SPLITREDUCTIONS_H
