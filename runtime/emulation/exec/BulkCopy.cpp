//===- BulkCopy.cpp - cp.async.bulk, done as late as it may ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/BulkCopy.h"
#include "exec/Atomics.h"
#include "exec/BlockRunner.h"
#include "exec/Scheduler.h"

#include <algorithm>
#include <cstring>

namespace tsp::emulation {

//===----------------------------------------------------------------------===//
// To shared memory
//===----------------------------------------------------------------------===//

void BulkCopies::reset() {
  loads.clear();
  arrivals.clear();
}

void BulkCopies::issue(BulkCopy copy) {
  // The hardware may write at any time from now on.
  std::memset(copy.block->sharedMemory() + copy.shared, 0xff, copy.bytes);
  copy.phase = copy.barrier->phase;
  if (Checker *checker = copy.block->checker())
    checker->beginWrite(copy.issue, copy.shared, copy.bytes, *copy.barrier);
  loads.push_back(std::move(copy));
}

template <typename T> static T takeFrom(std::deque<T> &list, size_t index) {
  T taken = std::move(list[index]);
  list.erase(list.begin() + std::ptrdiff_t(index));
  return taken;
}

bool BulkCopies::deliverOne() {
  size_t count = loads.size() + arrivals.size();
  if (count == 0)
    return false;
  scheduler.progress();
  size_t chosen = scheduler.draw() % count;
  if (chosen < loads.size())
    deliver(takeFrom(loads, chosen));
  else
    deliver(takeFrom(arrivals, chosen - loads.size()));
  return true;
}

void BulkCopies::deliver(const BulkCopy &copy) {
  uint8_t *shared = copy.block->sharedMemory();
  if (copy.isTensor) {
    copy.map.load(copy.coordinates, shared, copy.shared);
  } else if (copy.isRead()) {
    std::memcpy(shared + copy.shared, copy.data.data(), copy.bytes);
  } else if (copy.from) {
    if (Checker *checker = copy.from->checker())
      checker->readAsync(copy.issue, copy.fromShared, copy.bytes, copy.barrier);
    std::memcpy(shared + copy.shared,
                copy.from->sharedMemory() + copy.fromShared, copy.bytes);
  } else {
    std::memcpy(shared + copy.shared,
                reinterpret_cast<const void *>(copy.global), copy.bytes);
  }
  if (Checker *checker = copy.block->checker()) {
    checker->endWrite(copy.shared, copy.bytes, *copy.barrier);
    if (copy.isTensor || copy.global)
      copy.issue.warp->block->checker()->accessGlobal(
          copy, GlobalChecker::Kind::Read);
  }
  copy.block->phaseBarriers().completeBytes(*copy.barrier, copy.bytes);
}

void BulkCopies::deliver(const CopyArrival &arrival) {
  BlockRunner &block = *arrival.warp->block;
  completeCopies(block, block.warpOf(arrival.warp), arrival.copies);
  unsigned flags = arrival.isAlone ? ArriveFlags::Alone : 0;
  for (uint32_t rest = arrival.mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    block.phaseBarriers().arrive(*arrival.warp, arrival.site, lane,
                                 *arrival.barriers[lane], 1, 0, flags);
  }
}

void BulkCopies::checkPhase(const PhaseBarrier &barrier) const {
  for (const BulkCopy &copy : loads)
    if (copy.barrier == &barrier && copy.phase == barrier.phase)
      copy.block->fault(
          *copy.issue.warp, copy.issue.site, copy.issue.lane,
          "this copy of " + std::to_string(copy.bytes) +
              " bytes was issued in phase " + std::to_string(barrier.phase) +
              " of the mbarrier at shared address " +
              std::to_string(barrier.offset) +
              ", which completes without it: expect_tx says too little");
}

//===----------------------------------------------------------------------===//
// From shared memory
//===----------------------------------------------------------------------===//

/// Stores bytes, or combines them with what is there, element by element.
static void put(const Site &site, ptx::Type type, uint8_t *to,
                const uint8_t *from, uint32_t bytes) {
  if (!(site.flags & BulkFlags::Reduce)) {
    std::memcpy(to, from, bytes);
    return;
  }
  unsigned size = type.bits / 8;
  for (uint32_t at = 0; at < bytes; at += size) {
    uint64_t value = 0;
    std::memcpy(&value, from + at, size);
    updateAtomically(AtomicOp(site.operation), type, size,
                     reinterpret_cast<uint64_t>(to + at), value, 0);
  }
}

static void read(BulkCopy &copy) {
  if (Checker *checker = copy.block->checker())
    checker->readAsync(copy.issue, copy.shared, copy.bytes);
  const uint8_t *from = copy.block->sharedMemory() + copy.shared;
  copy.data.assign(from, from + copy.bytes);
}

static void write(const BulkCopy &copy) {
  const Site &site = copy.block->site(copy.issue.site);
  if (Checker *checker = copy.block->checker())
    checker->accessGlobal(copy, site.flags & BulkFlags::Reduce
                                    ? GlobalChecker::Kind::Reduce
                                    : GlobalChecker::Kind::Write);
  if (!copy.isTensor)
    return put(site, site.type, reinterpret_cast<uint8_t *>(copy.global),
               copy.data.data(), copy.bytes);
  copy.map.forEachChunk(
      copy.coordinates, copy.shared, [&](const TensorMap::Chunk &chunk) {
        const uint8_t *from = copy.data.data() + (chunk.shared - copy.shared);
        if (chunk.global)
          put(site, copy.map.elementType(), chunk.global + chunk.begin,
              from + chunk.begin, uint32_t(chunk.end - chunk.begin));
      });
}

void BulkStores::complete(unsigned lane, uint32_t end, bool readOnly) {
  auto isMeant = [&](const BulkCopy &copy) {
    return copy.issue.lane == lane && copy.group < end;
  };
  for (BulkCopy &copy : pending) {
    if (!isMeant(copy))
      continue;
    if (!copy.isRead())
      read(copy);
    if (!readOnly)
      write(copy);
  }
  if (!readOnly)
    pending.erase(std::remove_if(pending.begin(), pending.end(), isMeant),
                  pending.end());
}

void BulkStores::finish() {
  for (BulkCopy &copy : pending) {
    if (copy.block->checker() && !copy.isRead())
      copy.block->fault(*copy.issue.warp, copy.issue.site, copy.issue.lane,
                        "the block ends while this copy may still read its "
                        "shared memory: no cp.async.bulk.wait_group waits for "
                        "it");
    if (!copy.isRead())
      read(copy);
    write(copy);
  }
  pending.clear();
}

} // namespace tsp::emulation
