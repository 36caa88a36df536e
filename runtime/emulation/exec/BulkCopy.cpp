//===- BulkCopy.cpp - cp.async.bulk, done as late as it may ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/BulkCopy.h"
#include "exec/BlockRunner.h"
#include "exec/Helpers.h"
#include "exec/Scheduler.h"

#include <cstring>

namespace tsp::emulation {

void BulkCopies::issue(BulkCopy copy) {
  // The hardware may write at any time from now on.
  std::memset(copy.block->sharedMemory() + copy.shared, 0xff, copy.bytes);
  copy.phase = copy.barrier->phase;
  if (Checker *checker = copy.block->checker())
    checker->beginWrite(checker->issueAsync(*copy.warp, copy.site, copy.lane),
                        copy.shared, copy.bytes, *copy.barrier);
  inFlight.push_back(std::move(copy));
}

bool BulkCopies::deliverOne() {
  if (inFlight.empty())
    return false;
  auto chosen =
      inFlight.begin() + std::ptrdiff_t(scheduler.draw() % inFlight.size());
  BulkCopy copy = std::move(*chosen);
  inFlight.erase(chosen);
  deliver(copy);
  return true;
}

void BulkCopies::deliver(const BulkCopy &copy) {
  uint8_t *shared = copy.block->sharedMemory();
  if (copy.isTensor)
    copy.map.load(copy.coordinates, shared, copy.shared);
  else
    std::memcpy(shared + copy.shared,
                reinterpret_cast<const void *>(copy.global), copy.bytes);
  if (Checker *checker = copy.block->checker())
    checker->endWrite(copy.shared, copy.bytes, *copy.barrier);
  copy.block->phaseBarriers().completeBytes(*copy.barrier, copy.bytes);
}

void BulkCopies::checkPhase(const PhaseBarrier &barrier) const {
  for (const BulkCopy &copy : inFlight)
    if (copy.barrier == &barrier && copy.phase == barrier.phase)
      copy.warp->block->fault(
          *copy.warp, copy.site, copy.lane,
          "this copy of " + std::to_string(copy.bytes) +
              " bytes was issued in phase " + std::to_string(barrier.phase) +
              " of the mbarrier at shared address " +
              std::to_string(barrier.offset) +
              ", which completes without it: expect_tx says too little");
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

namespace helpers {

/// The parts of a copy that a lane's operands of shared memory say.
static BulkCopy makeCopy(Context context, uint32_t siteIndex, unsigned lane,
                         uint64_t shared, uint32_t bytes, unsigned alignment,
                         uint64_t barrier) {
  BlockRunner &block = *context->block;
  BulkCopy copy;
  copy.site = siteIndex;
  copy.warp = context;
  copy.lane = lane;
  copy.bytes = bytes;
  SharedPlace place = block.sharedPlace(*context, siteIndex, lane, shared,
                                        bytes, alignment, ptx::Space::Shared);
  copy.block = place.block;
  copy.shared = place.offset;
  place = block.sharedPlace(*context, siteIndex, lane, barrier, 8, 8,
                            ptx::Space::Shared);
  copy.barrier = &place.block->phaseBarriers().find(*context, siteIndex, lane,
                                                    place.offset);
  return copy;
}

/// The tensor map at a lane's address, checked.
static const TensorMap &mapOf(Context context, uint32_t siteIndex,
                              unsigned lane, Lanes64 maps) {
  BlockRunner &block = *context->block;
  block.checkAccess(*context, siteIndex, uint32_t(1) << lane, maps, 128, 64,
                    ptx::Space::Generic);
  const auto &map = *reinterpret_cast<const TensorMap *>(maps[lane]);
  unsigned rank = block.site(siteIndex).count;
  if (!map.isEncoded())
    block.fault(*context, siteIndex, lane,
                "there is no tensor map at this address");
  if (map.rank != rank)
    block.fault(*context, siteIndex, lane,
                "the tensor map is of " + std::to_string(map.rank) +
                    " dimensions, the copy of " + std::to_string(rank));
  return map;
}

void bulkTensorLoad(Context context, uint32_t siteIndex, uint32_t mask,
                    Lanes64 shared, Lanes64 maps, Lanes32 coordinates,
                    Lanes64 barriers) {
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    const TensorMap &map = mapOf(context, siteIndex, lane, maps);
    // PTX ISA, "cp.async.bulk.tensor": tiles begin at multiples of 128 bytes.
    BulkCopy copy = makeCopy(context, siteIndex, lane, shared[lane],
                             map.boxBytes(), 128, barriers[lane]);
    copy.isTensor = true;
    copy.map = map;
    for (unsigned dim = 0; dim < map.rank; ++dim)
      copy.coordinates[dim] = int32_t(coordinates[dim * warpSize + lane]);
    Range touched = map.touched(copy.coordinates);
    if (touched.begin != touched.end)
      context->block->checkGlobal(*context, siteIndex, lane, touched);
    context->block->scheduler().copies().issue(std::move(copy));
  }
}

void bulkLoad(Context context, uint32_t siteIndex, uint32_t mask,
              Lanes64 shared, Lanes64 global, Lanes32 bytes, Lanes64 barriers) {
  BlockRunner &block = *context->block;
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    if (bytes[lane] % 16 || global[lane] % 16)
      block.fault(*context, siteIndex, lane,
                  "a bulk copy of " + std::to_string(bytes[lane]) +
                      " bytes that is not in pieces of 16 bytes");
    BulkCopy copy = makeCopy(context, siteIndex, lane, shared[lane],
                             bytes[lane], 16, barriers[lane]);
    copy.global = global[lane];
    block.checkGlobal(*context, siteIndex, lane,
                      {global[lane], global[lane] + bytes[lane]});
    block.scheduler().copies().issue(std::move(copy));
  }
}

} // namespace helpers
} // namespace tsp::emulation
