//===- Checker.cpp - races and other faults in shared memory --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/Checker.h"
#include "exec/BlockRunner.h"

#include <algorithm>

namespace tsp::emulation {

Checker::Checker(BlockRunner &block, Order &order, GlobalAccesses &accesses,
                 const uint8_t *shared, uint32_t sharedBytes)
    : block(block), sharedBase(reinterpret_cast<uint64_t>(shared)),
      sharedBytes(sharedBytes), order(order), global(block, accesses),
      warpTimes(block.allWarps().size()), arrived(numBarriers),
      bytes(sharedBytes), readTimes(sharedBytes) {}

void Checker::startBlock() {
  std::fill(bytes.begin(), bytes.end(), Byte());
  std::fill(readTimes.begin(), readTimes.end(), ReadTimes());
  otherReads.clear();
  std::fill(arrived.begin(), arrived.end(), Knowledge());
  std::fill(warpTimes.begin(), warpTimes.end(), 0);
  for (unsigned warp = 0; warp < warpTimes.size(); warp += warpsOfWarpgroup) {
    unsigned agent = order.addAgent();
    if (warp == 0)
      firstProducts = agent;
  }
  global.startBlock();
}

unsigned Checker::agentOf(const WarpContext &warp) const {
  return warp.block->groupPlace() * unsigned(warpTimes.size()) + warp.warp;
}

uint32_t Checker::otherWarpTime(const WarpContext &warp) const {
  return warp.block->checker()->warpTimes[warp.warp];
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

void Checker::synchronizeWarp(const WarpContext &warp) {
  ++warpTimes[warp.warp];
  order.synchronize(agentOf(warp));
}

void Checker::arrive(unsigned warp, unsigned barrier) {
  const WarpContext &context = block.allWarps()[warp].context;
  order.arrive(agentOf(context), arrived[barrier]);
  synchronizeWarp(context);
}

void Checker::leave(unsigned warp, unsigned barrier) {
  order.leave(agentOf(block.allWarps()[warp].context), arrived[barrier]);
}

void Checker::arriveAt(const WarpContext &warp, Knowledge &barrier,
                       bool isRelaxed) {
  if (isRelaxed) {
    order.arriveRelaxed(agentOf(warp), barrier);
  } else {
    order.arrive(agentOf(warp), barrier);
    global.release();
  }
  synchronizeWarp(warp);
}

void Checker::leaveFrom(const WarpContext &warp, const Knowledge &barrier) {
  order.leave(agentOf(warp), barrier);
  global.acquire();
}

void Checker::synchronizeBlocks(uint32_t site) {
  uint8_t flags = block.site(site).order;
  if (flags & MemoryOrder::Release)
    global.release();
  if (flags & MemoryOrder::Acquire)
    global.acquire();
}

void Checker::resetBarrier(unsigned barrier) { arrived[barrier].clear(); }

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

std::string Checker::threadName(uint32_t thread) const {
  uint32_t perBlock = uint32_t(warpTimes.size()) * warpSize;
  unsigned place = thread / perBlock;
  const WarpContext &warp = block.allWarps()[0].context;
  uint32_t x = warp.blockSize[0], y = warp.blockSize[1];
  thread %= perBlock;
  std::string name = "thread (" + std::to_string(thread % x) + "," +
                     std::to_string(thread / x % y) + "," +
                     std::to_string(thread / x / y) + ")";
  if (place != block.groupPlace())
    name +=
        " of the cluster's block " + std::to_string(place % warp.clusterBlocks);
  return name;
}

void Checker::race(const WarpContext &warp, uint32_t site, unsigned lane,
                   uint64_t offset, const char *what, uint32_t other,
                   uint32_t otherSite) {
  std::string message;
  {
    const Site &where = block.site(otherSite);
    message = "race at shared address " + std::to_string(offset) + ": " + what +
              " " + threadName(other) + " at PTX line " +
              std::to_string(where.line) + " (" + where.spelling +
              ") with no barrier in between";
  }
  block.fault(warp, site, lane, std::move(message));
}

void Checker::checkWriter(const WarpContext &warp, uint32_t site, unsigned lane,
                          uint64_t offset, AccessKind kind) {
  const Byte &byte = bytes[offset];
  if (!byte.isWritten || (byte.isAtomic && kind == AccessKind::Atomic))
    return;
  unsigned self = agentOf(warp);
  // Lanes of one store that meet: one of them wins.
  if (byte.writeAgent == self && byte.writeSite == site &&
      byte.writeWarpTime == warpTime(warp) && kind == AccessKind::Write)
    return;
  bool apart = byte.writeAgent != self
                   ? !knowsWriter(order.of(self), byte)
                   : byte.writer != threadOf(warp, lane) &&
                         byte.writeWarpTime == warpTime(warp);
  if (apart)
    race(warp, site, lane, offset, "written by", byte.writer, byte.writeSite);
}

bool Checker::knowsWriter(const Knowledge &knowledge, const Byte &byte) {
  bool isThread = byte.writer / warpSize == byte.writeAgent;
  return byte.writeTime <= knowledge.known[byte.writeAgent] ||
         (isThread && knowledge.knows(byte.writer, byte.writeTime));
}

void Checker::checkReaders(const WarpContext &warp, uint32_t site,
                           unsigned lane, uint64_t offset) {
  const Byte &byte = bytes[offset];
  if (!byte.isRead)
    return;
  checkReadersBut(agentOf(warp), order.of(agentOf(warp)), warp, site, lane,
                  offset);
  if (byte.reader / warpSize == agentOf(warp) &&
      byte.reader != threadOf(warp, lane) &&
      byte.readWarpTime == warpTime(warp))
    race(warp, site, lane, offset, "read by", byte.reader, byte.readSite);
}

/// Faults if an agent other than `self` may still read a byte.
void Checker::checkReadersBut(unsigned self, const Knowledge &knowledge,
                              const WarpContext &warp, uint32_t site,
                              unsigned lane, uint64_t offset) {
  const Byte &byte = bytes[offset];
  const Clock &known = knowledge.known;
  unsigned first = agentOf(block.allWarps()[0].context);
  for (unsigned other = 0; other < warpTimes.size(); ++other) {
    unsigned agent = first + other;
    uint32_t time = readTimes[offset][other];
    if (agent == self || time <= known[agent])
      continue;
    bool isLast = byte.reader / warpSize == agent;
    if (isLast ? knowledge.knows(byte.reader, time)
               : knowledge.knowsOfWarp(agent, time))
      continue;
    uint32_t thread = isLast ? byte.reader : agent * warpSize;
    race(warp, site, lane, offset, "read by", thread, byte.readSite);
  }
  for (unsigned other = 0; other < warpTimes.size(); other += warpsOfWarpgroup)
    if (readTimes[offset][mostWarps + other / warpsOfWarpgroup] >
        known[productsOf(other)])
      race(warp, site, lane, offset, "read by a product of",
           (first + other) * warpSize, byte.readSite);
  auto others = otherReads.find(offset);
  if (others == otherReads.end())
    return;
  for (const OtherRead &read : others->second)
    if (read.agent != self && read.time > known[read.agent] &&
        !knowledge.knows(read.thread, read.time))
      race(warp, site, lane, offset, "read by", read.thread, read.site);
}

/// Notes that a warp reads a byte now.
void Checker::noteRead(const WarpContext &warp, uint32_t site, unsigned lane,
                       uint64_t offset) {
  Byte &byte = bytes[offset];
  byte.isRead = true;
  byte.reader = threadOf(warp, lane);
  byte.readSite = site;
  byte.readWarpTime = warpTime(warp);
  if (warp.block == &block)
    readTimes[offset][warp.warp] = now(warp);
  else
    otherReads[offset].push_back({agentOf(warp), now(warp), byte.reader, site});
}

void Checker::faultPending(const WarpContext &warp, uint32_t site,
                           unsigned lane, uint64_t offset) {
  const Byte &byte = bytes[offset];
  std::string message =
      "shared address " + std::to_string(offset) + " is the destination of a " +
      (byte.isAsync ? "bulk copy" : "cp.async") +
      " that was not waited for, of " + threadName(byte.writer) +
      " at PTX line " + std::to_string(block.site(byte.writeSite).line);
  block.fault(warp, site, lane, message);
}

void Checker::touch(const WarpContext &warp, uint32_t site, unsigned lane,
                    uint64_t offset, AccessKind kind) {
  Byte &byte = bytes[offset];
  bool reads = kind == AccessKind::Read || kind == AccessKind::Atomic;
  unsigned self = agentOf(warp);
  if (byte.isPending || (byte.isAsync && !knowsWriter(order.of(self), byte)))
    faultPending(warp, site, lane, offset);
  if (reads && !byte.isWritten)
    block.fault(warp, site, lane,
                "read of shared address " + std::to_string(offset) +
                    ", which nobody has written");
  checkWriter(warp, site, lane, offset, kind);
  if (kind == AccessKind::Read)
    return noteRead(warp, site, lane, offset);
  checkReaders(warp, site, lane, offset);
  byte.isWritten = true;
  byte.isAtomic = kind == AccessKind::Atomic;
  byte.isPending = kind == AccessKind::AsyncCopy;
  byte.writer = threadOf(warp, lane);
  byte.writeSite = site;
  byte.isAsync = false;
  byte.needsFence = kind != AccessKind::AsyncCopy;
  byte.writeAgent = self;
  byte.writeTime = now(warp);
  byte.writeWarpTime = warpTime(warp);
}

void Checker::touchAll(const WarpContext &warp, uint32_t site, unsigned lane,
                       uint64_t address, unsigned size, AccessKind kind) {
  for (unsigned i = 0; i < size; ++i)
    touch(warp, site, lane, address - sharedBase + i, kind);
}

void Checker::access(const WarpContext &warp, uint32_t site, uint32_t mask,
                     const uint64_t *addresses, unsigned size, AccessKind kind,
                     ptx::Space space) {
  uint64_t base = space == ptx::Space::Shared ? 0 : sharedBase;
  uint64_t offsets[warpSize];
  uint32_t shared = 0;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    offsets[lane] = addresses[lane] - base;
    bool mayBeShared =
        space == ptx::Space::Shared || space == ptx::Space::Generic;
    if (!mayBeShared)
      continue;
    if (offsets[lane] >= sharedBytes) {
      // Of another block of the cluster?
      if (BlockRunner *other = block.ofShared(addresses[lane]))
        other->checker()->touchAll(warp, site, lane, addresses[lane], size,
                                   kind);
      continue;
    }
    shared |= uint32_t(1) << lane;
    for (unsigned i = 0; i < size; ++i)
      touch(warp, site, lane, offsets[lane] + i, kind);
  }
  if (shared) {
    // 128 bytes at a time: of wide accesses the half or quarter of a warp.
    unsigned lanes = std::max(8u, std::min(warpSize, 128 / size));
    for (unsigned first = 0; first < warpSize; first += lanes) {
      uint32_t part = lanes == warpSize
                          ? shared
                          : shared & (((uint32_t(1) << lanes) - 1) << first);
      if (part)
        countShared(offsets, part, size);
    }
  } else if (space == ptx::Space::Global || space == ptx::Space::Generic) {
    countGlobal(addresses, mask, size);
    accessGlobal(warp, site, mask, addresses, size, kind, space);
  }
}

void Checker::accessGlobal(const WarpContext &warp, uint32_t site,
                           uint32_t mask, const uint64_t *addresses,
                           unsigned size, AccessKind kind, ptx::Space space) {
  if (space == ptx::Space::Generic)
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      if (block.ofShared(addresses[lane]) ||
          !block.isGlobal(warp, addresses[lane]))
        mask ^= uint32_t(1) << lane;
    }
  uint8_t flags = block.site(site).order;
  if (flags & MemoryOrder::Release)
    global.release();
  using Kind = GlobalChecker::Kind;
  global.access(warp, site, mask, addresses, size,
                flags & MemoryOrder::Strong  ? Kind::Synchronize
                : kind == AccessKind::Read   ? Kind::Read
                : kind == AccessKind::Atomic ? Kind::Reduce
                                             : Kind::Write);
  if (flags & MemoryOrder::Acquire)
    global.acquire();
}

void Checker::accessGlobal(const BulkCopy &copy, GlobalChecker::Kind kind) {
  countBulk(copy);
  global.access(copy, kind);
}

void Checker::accessRows(const WarpContext &warp, uint32_t site,
                         unsigned matrices, const uint64_t *addresses,
                         AccessKind kind, ptx::Space space) {
  uint64_t base = space == ptx::Space::Shared ? 0 : sharedBase;
  uint64_t offsets[warpSize];
  for (unsigned row = 0; row < 8 * matrices; ++row) {
    offsets[row] = addresses[row] - base;
    for (unsigned i = 0; i < 16 && offsets[row] < sharedBytes; ++i)
      touch(warp, site, row, offsets[row] + i, kind);
  }
  for (unsigned matrix = 0; matrix < matrices; ++matrix)
    countShared(offsets, uint32_t(0xff) << (8 * matrix), 16);
}

void Checker::completeCopy(const WarpContext &warp, const PendingCopy &copy) {
  unsigned size = block.site(copy.site).size;
  for (uint32_t rest = copy.mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    for (unsigned i = 0; i < size; ++i) {
      Byte &byte = bytes[copy.to[lane] - sharedBase + i];
      byte.isPending = false;
      byte.writeTime = now(warp);
      byte.writeWarpTime = warpTimes[warp.warp];
    }
  }
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

void Checker::countShared(const uint64_t *offsets, uint32_t lanes,
                          unsigned size) {
  // Each of 32 banks gives one word of 4 bytes a pass.
  uint64_t words[warpSize * 4];
  unsigned count = 0;
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t first = offsets[lane] / 4, last = (offsets[lane] + size - 1) / 4;
    for (uint64_t word = first; word <= last && count < warpSize * 4; ++word)
      words[count++] = word;
  }
  std::sort(words, words + count);
  count = unsigned(std::unique(words, words + count) - words);
  unsigned ofBank[32] = {}, passes = 1;
  for (unsigned i = 0; i < count; ++i)
    passes = std::max(passes, ++ofBank[words[i] % 32]);
  ++counters.sharedRequests;
  counters.sharedPasses += passes;
}

void Checker::countGlobal(const uint64_t *addresses, uint32_t mask,
                          unsigned size) {
  uint64_t sectors[warpSize * 2], starts[warpSize];
  unsigned count = 0, lanes = 0;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    uint64_t address = addresses[__builtin_ctz(rest)];
    starts[lanes++] = address;
    sectors[count++] = address / 32;
    if ((address + size - 1) / 32 != address / 32)
      sectors[count++] = (address + size - 1) / 32;
  }
  std::sort(sectors, sectors + count);
  std::sort(starts, starts + lanes);
  lanes = unsigned(std::unique(starts, starts + lanes) - starts);
  ++counters.globalRequests;
  counters.globalSectors +=
      uint64_t(std::unique(sectors, sectors + count) - sectors);
  counters.globalIdealSectors += (uint64_t(lanes) * size + 31) / 32;
}

void Checker::countBulk(const BulkCopy &copy) {
  uint64_t bytes = 0, behind = 0; // the sector behind the last one counted
  auto count = [&](uint64_t address, uint64_t size) {
    // Two chunks in a row may share a sector.
    uint64_t first = address / 32;
    first += first + 1 == behind;
    behind = (address + size + 31) / 32;
    counters.globalSectors += behind - first;
    bytes += size;
  };
  copy.forEachRange(
      [&](Range range) { count(range.begin, range.end - range.begin); });
  ++counters.globalRequests;
  counters.globalIdealSectors += (bytes + 31) / 32;
}

} // namespace tsp::emulation
