//===- Helpers.cpp - functions that compiled code calls -------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/Helpers.h"

namespace tsp::emulation::helpers {

const std::vector<Entry> &all() {
#define TSP_HELPER(name)                                                       \
  { #name, reinterpret_cast < void *>(&name) }
  static const std::vector<Entry> entries = {
      TSP_HELPER(load1),
      TSP_HELPER(load2),
      TSP_HELPER(load4),
      TSP_HELPER(load8),
      TSP_HELPER(store1),
      TSP_HELPER(store2),
      TSP_HELPER(store4),
      TSP_HELPER(store8),
      TSP_HELPER(loadUniform),
      TSP_HELPER(atomic),
      TSP_HELPER(asyncCopy),
      TSP_HELPER(asyncCommit),
      TSP_HELPER(asyncWait),
      TSP_HELPER(asyncWaitAll),
      TSP_HELPER(asyncArrive),
      TSP_HELPER(mbarrierInit),
      TSP_HELPER(mbarrierInvalidate),
      TSP_HELPER(mbarrierArrive),
      TSP_HELPER(mbarrierExpect),
      TSP_HELPER(mbarrierComplete),
      TSP_HELPER(mbarrierWait),
      TSP_HELPER(fence),
      TSP_HELPER(bulkTensorLoad),
      TSP_HELPER(bulkLoad),
      TSP_HELPER(bulkTensorStore),
      TSP_HELPER(bulkStore),
      TSP_HELPER(bulkClusterCopy),
      TSP_HELPER(storeAsync),
      TSP_HELPER(replaceInMap),
      TSP_HELPER(copyMap),
      TSP_HELPER(bulkCommit),
      TSP_HELPER(bulkWait),
      TSP_HELPER(clusterArrive),
      TSP_HELPER(clusterWait),
      TSP_HELPER(mapShared),
      TSP_HELPER(rankOfShared),
      TSP_HELPER(clusterAddresses),
      TSP_HELPER(clusterOffsets),
      TSP_HELPER(isOfCluster),
      TSP_HELPER(checkMembers),
      TSP_HELPER(shuffle),
      TSP_HELPER(reduce),
      TSP_HELPER(match),
      TSP_HELPER(sameInLanes),
      TSP_HELPER(barrier),
      TSP_HELPER(trap),
      TSP_HELPER(print),
      TSP_HELPER(chooseFairly),
      TSP_HELPER(exp2),
      TSP_HELPER(log2),
      TSP_HELPER(sin),
      TSP_HELPER(cos),
      TSP_HELPER(tanh),
      TSP_HELPER(addRounded),
      TSP_HELPER(mulRounded),
      TSP_HELPER(fmaRounded),
      TSP_HELPER(divRounded),
      TSP_HELPER(sqrtRounded),
      TSP_HELPER(narrowRounded),
      TSP_HELPER(addRounded64),
      TSP_HELPER(mulRounded64),
      TSP_HELPER(fmaRounded64),
      TSP_HELPER(divRounded64),
      TSP_HELPER(sqrtRounded64),
      TSP_HELPER(ldmatrix),
      TSP_HELPER(ldmatrixTrans),
      TSP_HELPER(stmatrix),
      TSP_HELPER(stmatrixTrans),
      TSP_HELPER(movmatrix),
      TSP_HELPER(checkWhole),
      TSP_HELPER(mma),
      TSP_HELPER(wgmma),
      TSP_HELPER(wgmmaFence),
      TSP_HELPER(wgmmaCommit),
      TSP_HELPER(wgmmaWait),
      TSP_HELPER(wgmmaTouch),
  };
#undef TSP_HELPER
  return entries;
}

} // namespace tsp::emulation::helpers
