//===- FormIndexing.cpp - the loops that index a fused value --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormIndexing.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

LoopMap tsp::getRootLoops(Operation *root) {
  LoopMap loops;
  for (auto [dim, size] : llvm::enumerate(shapeOf(root->getResult(0))))
    loops.push_back(size == 1 ? int64_t(noLoop) : int64_t(dim));
  return loops;
}

/// Dims of size other than 1 stand for each other when they are the same in both
/// shapes, in order.
static LoopMap mapReshape(ArrayRef<int64_t> from, ArrayRef<int64_t> to,
                          ArrayRef<int64_t> toLoops) {
  LoopMap result(from.size(), noLoop);
  size_t at = 0;
  for (auto [dim, size] : llvm::enumerate(from)) {
    if (size == 1)
      continue;
    while (at < to.size() && to[at] == 1)
      ++at;
    if (at == to.size() || to[at] != size)
      return LoopMap(from.size(), otherIndex);
    result[dim] = toLoops[at++];
  }
  return result;
}

LoopMap tsp::mapToOperand(OpOperand &use, ArrayRef<int64_t> userLoops) {
  Operation *user = use.getOwner();
  ArrayRef<int64_t> from = shapeOf(use.get()), to = shapeOf(user->getResult(0));
  LoopMap result(from.size(), otherIndex);
  if (auto broadcast = dyn_cast<BroadcastInDimOp>(user)) {
    for (auto [dim, target] : llvm::enumerate(broadcast.getBroadcastDimensions()))
      result[dim] = userLoops[target];
  } else if (auto transpose = dyn_cast<TransposeOp>(user)) {
    for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
      result[dim] = userLoops[i];
  } else if (isa<ReshapeOp>(user)) {
    result = mapReshape(from, to, userLoops);
  } else if (auto reduce = dyn_cast<ReduceOp>(user)) {
    size_t kept = 0;
    for (size_t dim = 0; dim < from.size(); ++dim)
      result[dim] = llvm::is_contained(reduce.getDimensions(), int64_t(dim))
                        ? int64_t(ownLoop)
                        : userLoops[kept++];
  } else if (isElementwise(user)) {
    if (from.size() == to.size())
      result.assign(userLoops.begin(), userLoops.end());
  } else if (isa<SliceOp, ConcatenateOp, PadOp, ReverseOp, DynamicSliceOp>(user)) {
    // Dims that the op leaves whole and in order.
    auto reverse = dyn_cast<ReverseOp>(user);
    if (from.size() == to.size())
      for (size_t dim = 0; dim < from.size(); ++dim)
        if (from[dim] == to[dim] &&
            !(reverse && llvm::is_contained(reverse.getDimensions(), int64_t(dim))))
          result[dim] = userLoops[dim];
  }
  for (auto [loop, size] : llvm::zip(result, from))
    if (size == 1)
      loop = noLoop;
  return result;
}

bool tsp::getDistinctLoops(ArrayRef<int64_t> map, SmallVectorImpl<int64_t> &loops) {
  for (int64_t loop : map) {
    if (loop == noLoop)
      continue;
    if (loop < 0 || llvm::is_contained(loops, loop))
      return false;
    loops.push_back(loop);
  }
  llvm::sort(loops);
  return true;
}
