//===- AsyncChecks.cpp - mbarriers and the async proxy, checked -----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/BlockRunner.h"
#include "exec/Checker.h"

namespace tsp::emulation {

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

void Checker::initPhases(const WarpContext &warp, uint32_t site, unsigned lane,
                         PhaseBarrier &barrier) {
  barrier.agent = order.addAgent();
  barrier.initAgent = agentOf(warp);
  barrier.initTime = now(warp);
  barrier.initSite = site;
  barrier.initThread = threadOf(warp, lane);
}

void Checker::useBarrier(const WarpContext &warp, uint32_t site, unsigned lane,
                         const PhaseBarrier &barrier) {
  const Knowledge &own = order.of(agentOf(warp));
  if (barrier.initTime > own.known[barrier.initAgent] &&
      barrier.initTime > own.inits[barrier.initAgent])
    race(warp, site, lane, barrier.offset, "an mbarrier initialised by",
         barrier.initThread, barrier.initSite);
}

void Checker::arriveAtPhase(const WarpContext &warp, unsigned lane,
                            PhaseBarrier &barrier, bool isAlone) {
  if (isAlone)
    order.arriveAlone(agentOf(warp), threadOf(warp, lane), barrier.arrived);
  else
    order.arrive(agentOf(warp), barrier.arrived);
  if (warp.clusterBlocks > 1)
    warp.block->checker()->global.release();
}

void Checker::completePhase(PhaseBarrier &barrier) {
  // Phases come one after the other: who waits for one has waited for those
  // before.
  barrier.completed.join(barrier.arrived);
  barrier.arrived.clear();
  uint32_t time = uint32_t(barrier.phase) + 1;
  barrier.completed.known.set(barrier.agent, time);
}

void Checker::leavePhase(const WarpContext &warp, const PhaseBarrier &barrier) {
  order.leave(agentOf(warp), barrier.completed);
  if (warp.clusterBlocks > 1)
    global.acquire();
  // Each lane waits for itself.
  ++warpTimes[warp.warp];
}

//===----------------------------------------------------------------------===//
// The async proxy
//===----------------------------------------------------------------------===//

void Checker::fence(const WarpContext &warp, uint32_t site) {
  unsigned flags = block.site(site).flags;
  if (flags & FenceFlags::BarrierInit)
    order.releaseInits(agentOf(warp));
  if (flags & FenceFlags::Async)
    order.fence(agentOf(warp));
  if (!flags)
    order.release(agentOf(warp));
  synchronizeBlocks(site);
}

AsyncIssue Checker::issueAsync(const WarpContext &warp, uint32_t site,
                               unsigned lane, bool isWarp) const {
  unsigned agent = agentOf(warp);
  return {&warp, site, lane,
          isWarp ? order.of(agent)
                 : order.knowledgeOf(agent, threadOf(warp, lane)),
          isWarp};
}

/// Faults unless what was written to a byte was there, for the async proxy,
/// before the issue.
void Checker::checkWriterAsync(const AsyncIssue &issue, uint64_t offset) {
  const Byte &byte = bytes[offset];
  if (!byte.isWritten)
    return;
  // What the warp wrote after a product is not fenced.
  bool isOwn = issue.isWarp && byte.writeAgent == agentOf(*issue.warp);
  bool isKnown = isOwn || knowsWriter(issue.knowledge, byte);
  if (byte.isPending || (byte.isAsync && !isKnown))
    faultPending(*issue.warp, issue.site, issue.lane, offset);
  if (!isKnown)
    race(*issue.warp, issue.site, issue.lane, offset, "written by", byte.writer,
         byte.writeSite);
  checkFence(issue, offset);
}

void Checker::checkFence(const AsyncIssue &issue, uint64_t offset) {
  const Byte &byte = bytes[offset];
  if (issue.isAsync && byte.needsFence &&
      byte.writeTime > issue.knowledge.fenced[byte.writeAgent])
    block.fault(*issue.warp, issue.site, issue.lane,
                "shared address " + std::to_string(offset) +
                    " was written by an ordinary store, of " +
                    threadName(byte.writer) + " at PTX line " +
                    std::to_string(block.site(byte.writeSite).line) +
                    ", with no fence.proxy.async in between");
}

void Checker::checkWritesSince(const AsyncIssue &issue, uint32_t offset,
                               uint32_t size) {
  unsigned self = agentOf(*issue.warp);
  for (uint32_t end = offset + size; offset < end; ++offset)
    if (bytes[offset].isWritten && bytes[offset].writeAgent == self)
      checkFence(issue, offset);
}

void Checker::checkReadAsync(const AsyncIssue &issue, uint64_t offset) {
  if (!bytes[offset].isWritten)
    block.fault(*issue.warp, issue.site, issue.lane,
                "read of shared address " + std::to_string(offset) +
                    ", which nobody has written");
  checkWriterAsync(issue, offset);
}

void Checker::readAsync(const AsyncIssue &issue, uint32_t offset, uint32_t size,
                        const PhaseBarrier *barrier) {
  const WarpContext &warp = *issue.warp;
  for (uint32_t end = offset + size; offset < end; ++offset) {
    checkReadAsync(issue, offset);
    if (!barrier) {
      noteRead(warp, issue.site, issue.lane, offset);
      continue;
    }
    bytes[offset].isRead = true;
    bytes[offset].readWarpTime = never;
    otherReads[offset].push_back({barrier->agent, uint32_t(barrier->phase) + 1,
                                  threadOf(warp, issue.lane), issue.site});
  }
}

void Checker::readByProduct(const AsyncIssue &issue, uint32_t offset,
                            uint32_t size, uint32_t group) {
  const WarpContext &warp = *issue.warp;
  unsigned reader = mostWarps + warp.warp / warpsOfWarpgroup;
  for (uint32_t end = offset + size; offset < end; ++offset) {
    checkReadAsync(issue, offset);
    Byte &byte = bytes[offset];
    byte.isRead = true;
    byte.reader = threadOf(warp, 0);
    byte.readSite = issue.site;
    // All lanes wait for it together.
    byte.readWarpTime = never;
    readTimes[offset][reader] = group + 1;
  }
}

void Checker::waitForProducts(const WarpContext &warp, uint32_t groups) {
  order.learn(agentOf(warp), productsOf(warp.warp), groups);
}

void Checker::beginWrite(const AsyncIssue &issue, uint32_t offset,
                         uint32_t size, const PhaseBarrier &barrier) {
  const WarpContext &warp = *issue.warp;
  if (issue.isAsync && !barrier.isFenced &&
      barrier.initTime > issue.knowledge.fenced[barrier.initAgent])
    block.fault(warp, issue.site, issue.lane,
                "the mbarrier at shared address " +
                    std::to_string(barrier.offset) +
                    " was initialised with no fence.mbarrier_init or "
                    "fence.proxy.async in between");
  for (uint32_t end = offset + size; offset < end; ++offset) {
    Byte &byte = bytes[offset];
    checkWriterAsync(issue, offset);
    if (byte.isRead)
      checkReadersBut(nobody, issue.knowledge, warp, issue.site, issue.lane,
                      offset);
    byte.isWritten = byte.isPending = byte.isAsync = true;
    byte.isAtomic = byte.needsFence = false;
    byte.writer = threadOf(warp, issue.lane);
    byte.writeSite = issue.site;
    byte.writeAgent = barrier.agent;
  }
}

void Checker::endWrite(uint32_t offset, uint32_t size,
                       const PhaseBarrier &barrier) {
  for (uint32_t end = offset + size; offset < end; ++offset) {
    bytes[offset].isPending = false;
    bytes[offset].writeTime = uint32_t(barrier.phase) + 1;
  }
}

} // namespace tsp::emulation
