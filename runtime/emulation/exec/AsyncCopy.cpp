//===- AsyncCopy.cpp - cp.async, deferred to its wait ---------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy happens when its group is waited for, as late as the hardware may do
// it: a kernel that does not wait reads what was there before.
//
//===----------------------------------------------------------------------===//

#include "exec/BlockRunner.h"
#include "exec/Helpers.h"
#include "exec/Scheduler.h"

#include <algorithm>
#include <cstring>

namespace tsp::emulation {

/// Does the first copy of a warp.
static void completeFirst(BlockRunner &block, Warp &warp) {
  const PendingCopy &copy = warp.copies.front();
  if (Checker *checker = block.checker())
    checker->completeCopy(warp.context, copy);
  unsigned bytes = block.site(copy.site).size;
  for (uint32_t rest = copy.mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    auto *to = reinterpret_cast<uint8_t *>(copy.to[lane]);
    auto *from = reinterpret_cast<const uint8_t *>(copy.from[lane]);
    if (copy.sourceBytes[lane] == 16) {
      std::memcpy(to, from, 16);
      continue;
    }
    std::memcpy(to, from, copy.sourceBytes[lane]);
    std::memset(to + copy.sourceBytes[lane], 0, bytes - copy.sourceBytes[lane]);
  }
  warp.copies.pop_front();
}

void completeCopies(BlockRunner &block, Warp &warp, uint64_t count) {
  while (!warp.copies.empty() && warp.copies.front().number < count)
    completeFirst(block, warp);
}

namespace helpers {

/// Checks the sources of copies that do not all read their whole size; gives
/// the lanes that read anything. The others may have any source address.
static uint32_t checkPartial(Context context, uint32_t siteIndex, uint32_t mask,
                             Lanes64 from, Lanes32 sourceBytes) {
  BlockRunner &block = *context->block;
  const Site &site = block.site(siteIndex);
  uint32_t reading = 0;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    if (sourceBytes[lane] > site.size)
      block.fault(*context, siteIndex, lane,
                  "a copy of " + std::to_string(sourceBytes[lane]) +
                      " bytes into " + std::to_string(site.size));
    if (sourceBytes[lane] == 0)
      continue;
    reading |= uint32_t(1) << lane;
    block.checkAccess(*context, siteIndex, uint32_t(1) << lane, from,
                      sourceBytes[lane], site.size, ptx::Space::Global);
  }
  return reading;
}

void asyncCopy(Context context, uint32_t siteIndex, uint32_t mask, Lanes64 to,
               Lanes64 from, Lanes32 sourceBytes) {
  if (!mask)
    return;
  BlockRunner &block = *context->block;
  const Site &site = block.site(siteIndex);
  uint64_t base = block.checkAccess(*context, siteIndex, mask, to, site.size,
                                    site.size, ptx::Space::Shared);
  uint32_t difference = 0, reading = mask;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    difference |= sourceBytes[lane] ^ site.size;
  if (difference)
    reading = checkPartial(context, siteIndex, mask, from, sourceBytes);
  else
    block.checkAccess(*context, siteIndex, mask, from, site.size, site.size,
                      ptx::Space::Global);
  if (Checker *checker = block.checker()) {
    checker->access(*context, siteIndex, mask, to, site.size,
                    AccessKind::AsyncCopy, ptx::Space::Shared);
    if (reading)
      checker->access(*context, siteIndex, reading, from, site.size,
                      AccessKind::Read, ptx::Space::Global);
  }
  Warp &warp = block.warpOf(context);
  warp.copies.emplace_back();
  PendingCopy &copy = warp.copies.back();
  copy.site = siteIndex;
  copy.number = warp.issuedCopies++;
  copy.mask = mask;
  copy.group = warp.groups;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    copy.to[lane] = base + to[lane];
  std::memcpy(copy.from, from, sizeof(copy.from));
  std::memcpy(copy.sourceBytes, sourceBytes, sizeof(copy.sourceBytes));
}

void asyncCommit(Context context, uint32_t siteIndex, uint32_t mask) {
  if (!mask)
    return;
  // Groups are counted for the warp; lanes that count apart would need their
  // own.
  if (mask != context->live)
    context->block->fault(
        *context, siteIndex, unsigned(__builtin_ctz(context->live & ~mask)),
        "this thread does not commit together with its warp, which the "
        "emulation does not support");
  ++context->block->warpOf(context).groups;
}

void asyncWait(Context context, uint32_t siteIndex, uint32_t mask,
               uint32_t pending) {
  if (!mask)
    return;
  if (mask != context->live)
    context->block->fault(
        *context, siteIndex, unsigned(__builtin_ctz(context->live & ~mask)),
        "this thread does not wait together with its warp, which the emulation "
        "does not support");
  Warp &warp = context->block->warpOf(context);
  uint32_t end = warp.groups - std::min(pending, warp.groups);
  while (!warp.copies.empty() && warp.copies.front().group < end)
    completeFirst(*context->block, warp);
}

void asyncWaitAll(Context context, uint32_t siteIndex, uint32_t mask) {
  if (!mask)
    return;
  // Also of copies that no group holds yet.
  asyncCommit(context, siteIndex, mask);
  asyncWait(context, siteIndex, mask, 0);
}

void asyncArrive(Context context, uint32_t siteIndex, uint32_t mask,
                 Lanes64 addresses) {
  if (!mask)
    return;
  BlockRunner &block = *context->block;
  CopyArrival arrival;
  arrival.warp = context;
  arrival.site = siteIndex;
  arrival.mask = mask;
  arrival.isAlone = mask != context->live;
  arrival.copies = block.warpOf(context).issuedCopies;
  bool countsItself = !(block.site(siteIndex).flags & ArriveFlags::NoIncrement);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    SharedPlace place =
        block.sharedPlace(*context, siteIndex, lane, addresses[lane], 8, 8,
                          block.site(siteIndex).space);
    PhaseBarrier &barrier = place.block->phaseBarriers().find(
        *context, siteIndex, lane, place.offset);
    barrier.pending += countsItself;
    arrival.barriers[lane] = &barrier;
  }
  block.scheduler().copies().issue(arrival);
}

} // namespace helpers
} // namespace tsp::emulation
