//===- Cluster.cpp - blocks of a cluster ----------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "barrier.cluster", "mapa", "getctarank". An address of
// shared::cluster is the offset in a block's shared memory, and above it the
// block's rank plus one; without a rank it is the thread's own block.
//
//===----------------------------------------------------------------------===//

#include "exec/BlockRunner.h"
#include "exec/Helpers.h"
#include "exec/Scheduler.h"

namespace tsp::emulation {

BlockRunner *BlockRunner::ofCluster(unsigned rank) const {
  unsigned size = state.blocksPerCluster();
  return rank < size ? &owner.block(place / size * size + rank) : nullptr;
}

BlockRunner *BlockRunner::ofShared(uint64_t address) const {
  for (unsigned rank = 0; rank < state.blocksPerCluster(); ++rank) {
    BlockRunner *block = ofCluster(rank);
    uint64_t begin = reinterpret_cast<uint64_t>(block->shared);
    if (address >= begin && address - begin < totalShared)
      return block;
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// The barrier
//===----------------------------------------------------------------------===//

void BlockRunner::arriveAtCluster(WarpContext &context, uint32_t siteIndex,
                                  uint32_t mask) {
  Warp &warp = warpOf(&context);
  if (mask != context.live)
    fault(context, siteIndex, unsigned(__builtin_ctz(context.live & ~mask)),
          "divergent barrier: this thread does not arrive together with its "
          "warp");
  if (warp.clusterArrival != Warp::ClusterArrival::None)
    fault(context, siteIndex, unsigned(__builtin_ctz(mask)),
          "this thread arrives again before it has waited for its cluster");
  warp.clusterArrival = Warp::ClusterArrival::Arrived;
  owner.arriveAtCluster(warp, site(siteIndex).flags & ArriveFlags::Relaxed);
}

void BlockRunner::waitForCluster(WarpContext &context, uint32_t siteIndex,
                                 uint32_t mask) {
  Warp &warp = warpOf(&context);
  if (mask != context.live)
    fault(context, siteIndex, unsigned(__builtin_ctz(context.live & ~mask)),
          "divergent barrier: this thread does not wait together with its "
          "warp");
  if (warp.clusterArrival == Warp::ClusterArrival::None)
    fault(context, siteIndex, unsigned(__builtin_ctz(mask)),
          "this thread waits for its cluster without having arrived");
  if (warp.clusterArrival == Warp::ClusterArrival::Complete)
    return owner.leaveCluster(warp);
  warp.clusterSite = siteIndex;
  warp.state = Warp::State::AtCluster;
  owner.suspend(warp);
}

Scheduler::ClusterBarrier &Scheduler::clusterBarrierOf(const Warp &warp) {
  return clusterBarriers[warp.context.block->groupPlace() /
                         state.blocksPerCluster()];
}

void Scheduler::arriveAtCluster(Warp &warp, bool isRelaxed) {
  ClusterBarrier &barrier = clusterBarrierOf(warp);
  barrier.isPending = true;
  if (Checker *checker = warp.context.block->checker())
    checker->arriveAt(warp.context, barrier.arrived, isRelaxed);
}

void Scheduler::leaveCluster(Warp &warp) {
  warp.clusterArrival = Warp::ClusterArrival::None;
  if (Checker *checker = warp.context.block->checker())
    checker->leaveFrom(warp.context, clusterBarrierOf(warp).completed);
}

/// Completes the barriers to which all warps that are not done have come.
void Scheduler::releaseClusters() {
  unsigned size = state.blocksPerCluster();
  for (size_t cluster = 0; cluster < clusterBarriers.size(); ++cluster) {
    ClusterBarrier &barrier = clusterBarriers[cluster];
    if (!barrier.isPending)
      continue;
    bool haveAllCome = true;
    auto forEachWarp = [&](auto visit) {
      for (size_t place = cluster * size; place < (cluster + 1) * size; ++place)
        for (Warp &warp : blocks[place]->allWarps())
          if (warp.state != Warp::State::Done)
            visit(warp);
    };
    forEachWarp([&](Warp &warp) {
      haveAllCome &= warp.clusterArrival == Warp::ClusterArrival::Arrived;
    });
    if (!haveAllCome)
      continue;
    barrier.isPending = false;
    std::swap(barrier.completed, barrier.arrived);
    barrier.arrived.clear();
    progress();
    forEachWarp([&](Warp &warp) {
      warp.clusterArrival = Warp::ClusterArrival::Complete;
      if (warp.state != Warp::State::AtCluster)
        return;
      leaveCluster(warp);
      makeReady(warp);
    });
  }
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

namespace helpers {

void clusterArrive(Context context, uint32_t site, uint32_t mask) {
  if (mask)
    context->block->arriveAtCluster(*context, site, mask);
}

void clusterWait(Context context, uint32_t site, uint32_t mask) {
  if (mask)
    context->block->waitForCluster(*context, site, mask);
}

void mapShared(Context context, uint32_t siteIndex, uint32_t mask,
               Lanes64 addresses, Lanes32 ranks, uint64_t *results) {
  BlockRunner &block = *context->block;
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    ptx::Space space = block.site(siteIndex).space;
    SharedPlace place = block.sharedPlace(*context, siteIndex, lane,
                                          addresses[lane], 0, 1, space);
    BlockRunner *target = block.ofCluster(ranks[lane]);
    if (!target)
      block.fault(*context, siteIndex, lane,
                  "the cluster has no block of rank " +
                      std::to_string(ranks[lane]));
    results[lane] =
        space == ptx::Space::Shared
            ? place.offset | uint64_t(ranks[lane] + 1) << clusterRankShift
            : reinterpret_cast<uint64_t>(target->sharedMemory()) + place.offset;
  }
}

void rankOfShared(Context context, uint32_t siteIndex, uint32_t mask,
                  Lanes64 addresses, uint32_t *results) {
  BlockRunner &block = *context->block;
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    results[lane] = block
                        .sharedPlace(*context, siteIndex, lane, addresses[lane],
                                     0, 1, block.site(siteIndex).space)
                        .block->clusterRank();
  }
}

void clusterAddresses(Context context, uint32_t siteIndex, uint32_t mask,
                      Lanes64 addresses, uint64_t *results) {
  BlockRunner &block = *context->block;
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    SharedPlace place = block.sharedPlace(
        *context, siteIndex, lane, addresses[lane], 0, 1, ptx::Space::Shared);
    results[lane] =
        reinterpret_cast<uint64_t>(place.block->sharedMemory()) + place.offset;
  }
}

void clusterOffsets(Context context, uint32_t, uint32_t mask, Lanes64 addresses,
                    uint64_t *results) {
  BlockRunner &block = *context->block;
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    BlockRunner *found = block.ofShared(addresses[lane]);
    BlockRunner *target = found ? found : &block; // a fault where it is used
    uint64_t offset =
        addresses[lane] - reinterpret_cast<uint64_t>(target->sharedMemory());
    results[lane] = target == &block
                        ? offset
                        : offset | uint64_t(target->clusterRank() + 1)
                                       << clusterRankShift;
  }
}

uint32_t isOfCluster(Context context, uint32_t, uint32_t mask,
                     Lanes64 addresses) {
  uint32_t result = 0;
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    bool isInside = context->block->ofShared(addresses[lane]) != nullptr;
    result |= uint32_t(isInside) << lane;
  }
  return result;
}

} // namespace helpers
} // namespace tsp::emulation
