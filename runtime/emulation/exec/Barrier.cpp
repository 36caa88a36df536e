//===- Barrier.cpp - mbarrier objects of a block --------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/Barrier.h"
#include "exec/BlockRunner.h"
#include "exec/Helpers.h"
#include "exec/Scheduler.h"

namespace tsp::emulation {

std::string describe(const PhaseBarrier &barrier) {
  std::string text = "phase " + std::to_string(barrier.phase) +
                     " of the mbarrier at shared address " +
                     std::to_string(barrier.offset) + " lacks " +
                     std::to_string(barrier.pending) + " of " +
                     std::to_string(barrier.expected) + " arrivals";
  if (barrier.bytes > 0)
    text +=
        " and " + std::to_string(barrier.bytes) + " bytes that no copy brings";
  if (barrier.bytes < 0)
    text += ", and copies have brought " + std::to_string(-barrier.bytes) +
            " bytes more than it expects";
  return text;
}

void PhaseBarriers::init(const WarpContext &warp, uint32_t site, unsigned lane,
                         uint32_t offset, uint32_t count) {
  if (count == 0 || count > maxPhaseCount)
    block.fault(warp, site, lane,
                "an mbarrier of " + std::to_string(count) +
                    " arrivals: it takes 1 to " +
                    std::to_string(maxPhaseCount));
  PhaseBarrier &barrier = objects[offset];
  if (barrier.isValid)
    block.fault(warp, site, lane,
                "the mbarrier at shared address " + std::to_string(offset) +
                    " is initialised again without mbarrier.inval");
  barrier = PhaseBarrier();
  barrier.isValid = true;
  barrier.offset = offset;
  barrier.expected = barrier.pending = count;
  if (Checker *checker = block.checker())
    checker->initPhases(warp, site, lane, barrier);
}

void PhaseBarriers::fenceInit() {
  for (auto &[offset, barrier] : objects)
    barrier.isFenced = true;
}

PhaseBarrier &PhaseBarriers::find(const WarpContext &warp, uint32_t site,
                                  unsigned lane, uint32_t offset) {
  PhaseBarrier &barrier = objects[offset];
  if (!barrier.isValid)
    warp.block->fault(warp, site, lane,
                      "there is no mbarrier at shared address " +
                          std::to_string(offset) +
                          ": it was never initialised, or was invalidated");
  if (Checker *checker = block.checker())
    checker->useBarrier(warp, site, lane, barrier);
  return barrier;
}

void PhaseBarriers::invalidate(const WarpContext &warp, uint32_t site,
                               unsigned lane, uint32_t offset) {
  find(warp, site, lane, offset).isValid = false;
}

uint64_t PhaseBarriers::arrive(const WarpContext &warp, uint32_t site,
                               unsigned lane, PhaseBarrier &barrier,
                               uint32_t count, uint32_t bytes, unsigned flags) {
  if (flags & ArriveFlags::ExpectBytes)
    expectBytes(warp, site, lane, barrier, bytes);
  uint64_t state = barrier.phase | uint64_t(barrier.pending) << stateCountShift;
  if (count == 0 || count > barrier.pending)
    warp.block->fault(warp, site, lane,
                      std::to_string(count) +
                          " arrivals are too many: " + describe(barrier));
  if (Checker *checker =
          flags & ArriveFlags::Relaxed ? nullptr : block.checker())
    checker->arriveAtPhase(warp, lane, barrier, flags & ArriveFlags::Alone);
  barrier.pending -= count;
  if (flags & ArriveFlags::Drop)
    barrier.expected -= count;
  if (flags & ArriveFlags::KeepPhase && barrier.pending == 0)
    warp.block->fault(warp, site, lane,
                      "an arrival with .noComplete is the last of its phase");
  completeIfDone(barrier);
  return state;
}

void PhaseBarriers::expectBytes(const WarpContext &warp, uint32_t site,
                                unsigned lane, PhaseBarrier &barrier,
                                uint32_t bytes) {
  if (barrier.bytes + int64_t(bytes) > int64_t(maxPhaseCount))
    warp.block->fault(warp, site, lane,
                      "an mbarrier cannot expect " +
                          std::to_string(barrier.bytes + int64_t(bytes)) +
                          " bytes: at most " + std::to_string(maxPhaseCount));
  barrier.bytes += bytes;
}

void PhaseBarriers::completeBytes(PhaseBarrier &barrier, uint32_t bytes) {
  barrier.bytes -= bytes;
  completeIfDone(barrier);
}

void PhaseBarriers::completeIfDone(PhaseBarrier &barrier) {
  if (barrier.pending || barrier.bytes)
    return;
  block.scheduler().copies().checkPhase(barrier);
  if (Checker *checker = block.checker())
    checker->completePhase(barrier);
  ++barrier.phase;
  barrier.pending = barrier.expected;
  block.wakeWaiting(barrier);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

namespace helpers {

/// Calls visit(lane, objects of its block, offset) for each lane.
template <typename F>
static void forEachPlace(Context context, uint32_t siteIndex, uint32_t mask,
                         Lanes64 addresses, F visit) {
  BlockRunner &block = *context->block;
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    SharedPlace place =
        block.sharedPlace(*context, siteIndex, lane, addresses[lane], 8, 8,
                          block.site(siteIndex).space);
    visit(lane, place.block->phaseBarriers(), place.offset);
  }
}

void mbarrierInit(Context context, uint32_t site, uint32_t mask,
                  Lanes64 addresses, Lanes32 counts) {
  forEachPlace(context, site, mask, addresses,
               [&](unsigned lane, PhaseBarriers &barriers, uint32_t offset) {
                 barriers.init(*context, site, lane, offset, counts[lane]);
               });
}

void mbarrierInvalidate(Context context, uint32_t site, uint32_t mask,
                        Lanes64 addresses) {
  forEachPlace(context, site, mask, addresses,
               [&](unsigned lane, PhaseBarriers &barriers, uint32_t offset) {
                 barriers.invalidate(*context, site, lane, offset);
               });
}

void mbarrierArrive(Context context, uint32_t site, uint32_t mask,
                    Lanes64 addresses, Lanes32 counts, Lanes32 bytes,
                    uint64_t *states) {
  unsigned flags = mask ? context->block->site(site).flags : 0;
  if (mask != context->live)
    flags |= ArriveFlags::Alone;
  forEachPlace(context, site, mask, addresses,
               [&](unsigned lane, PhaseBarriers &barriers, uint32_t offset) {
                 PhaseBarrier &barrier =
                     barriers.find(*context, site, lane, offset);
                 states[lane] =
                     barriers.arrive(*context, site, lane, barrier,
                                     counts[lane], bytes[lane], flags);
               });
}

void mbarrierExpect(Context context, uint32_t site, uint32_t mask,
                    Lanes64 addresses, Lanes32 bytes) {
  forEachPlace(context, site, mask, addresses,
               [&](unsigned lane, PhaseBarriers &barriers, uint32_t offset) {
                 barriers.expectBytes(
                     *context, site, lane,
                     barriers.find(*context, site, lane, offset), bytes[lane]);
               });
}

void mbarrierComplete(Context context, uint32_t site, uint32_t mask,
                      Lanes64 addresses, Lanes32 bytes) {
  forEachPlace(context, site, mask, addresses,
               [&](unsigned lane, PhaseBarriers &barriers, uint32_t offset) {
                 barriers.completeBytes(
                     barriers.find(*context, site, lane, offset), bytes[lane]);
               });
}

uint32_t mbarrierWait(Context context, uint32_t site, uint32_t mask,
                      Lanes64 addresses, Lanes64 phases) {
  if (!mask)
    return 0;
  BlockRunner &block = *context->block;
  PhaseWait &wait = block.warpOf(context).phaseWait;
  wait.site = site;
  wait.mask = mask;
  wait.done = 0;
  bool byParity = block.site(site).flags & WaitFlags::Parity;
  bool acquires = !(block.site(site).flags & WaitFlags::Relaxed);
  forEachPlace(
      context, site, mask, addresses,
      [&](unsigned lane, PhaseBarriers &barriers, uint32_t offset) {
        const PhaseBarrier &barrier =
            barriers.find(*context, site, lane, offset);
        uint64_t low = (uint64_t(1) << (byParity ? 1 : stateCountShift)) - 1;
        bool isOver = ((barrier.phase ^ phases[lane]) & low) != 0;
        if (Checker *checker = isOver && acquires ? block.checker() : nullptr)
          checker->leavePhase(*context, barrier);
        wait.done |= uint32_t(isOver) << lane;
        wait.barriers[lane] = &barrier;
      });
  return block.waitForPhases(*context);
}

void fence(Context context, uint32_t site, uint32_t mask) {
  if (!mask)
    return;
  BlockRunner &block = *context->block;
  if (block.site(site).flags & FenceFlags::BarrierInit)
    block.phaseBarriers().fenceInit();
  if (Checker *checker = block.checker())
    checker->fence(*context, site);
}

} // namespace helpers
} // namespace tsp::emulation
