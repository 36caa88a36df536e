//===- FormIndexing.h - the loops that index a fused value ------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_FORMINDEXING_H
#define TSP_LIB_KERNELS_FORMINDEXING_H

#include "mlir/IR/Operation.h"

namespace tsp {

/// For each dim of a value inside a kernel the loop of the kernel's result that
/// indexes it, or one of the negative values.
using LoopMap = llvm::SmallVector<int64_t, 4>;
enum : int64_t {
  noLoop = -1,    ///< the dim has size 1
  ownLoop = -2,   ///< a loop of a reduction inside the kernel
  otherIndex = -3 ///< something else: an index that is computed
};

/// The loops that index the result of an op that is the root of a kernel.
LoopMap getRootLoops(mlir::Operation *root);

/// The loops that index the value of `use`, given those that index the results
/// of the user.
LoopMap mapToOperand(mlir::OpOperand &use, llvm::ArrayRef<int64_t> userLoops);

/// The loops of a kernel that a value depends on, sorted; false if they are not
/// known, or one of them is used twice.
bool getDistinctLoops(llvm::ArrayRef<int64_t> map, llvm::SmallVectorImpl<int64_t> &loops);

} // namespace tsp

#endif // TSP_LIB_KERNELS_FORMINDEXING_H
