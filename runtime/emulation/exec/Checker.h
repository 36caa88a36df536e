//===- Checker.h - races and other faults in shared memory --*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows every access of a block to shared memory. An access that meets one of
// another warp, or of a bulk copy, that is not known to be over (Order.h) is a
// race, in whatever order the emulation ran the two. Lanes of one warp are
// ordered by the warp's synchronizing instructions.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_CHECKER_H
#define TSP_EMULATION_EXEC_CHECKER_H

#include "Engine.h"
#include "exec/AsyncProxy.h"
#include "exec/GlobalChecker.h"
#include "exec/Order.h"
#include "exec/WarpContext.h"

#include <array>
#include <unordered_map>
#include <vector>

namespace tsp::emulation {

struct BulkCopy;
struct PendingCopy;
struct PhaseBarrier;

enum class AccessKind : uint8_t { Read, Write, Atomic, AsyncCopy };

class Checker {
public:
  Checker(BlockRunner &block, Order &order, GlobalAccesses &accesses,
          const uint8_t *shared, uint32_t sharedBytes);

  void startBlock();

  /// An access of `bytes` a lane, after its bounds were checked.
  void access(const WarpContext &warp, uint32_t site, uint32_t mask,
              const uint64_t *addresses, unsigned bytes, AccessKind kind,
              ptx::Space space);
  /// The rows of matrices: 16 bytes at each of the first 8 * matrices
  /// addresses.
  void accessRows(const WarpContext &warp, uint32_t site, unsigned matrices,
                  const uint64_t *addresses, AccessKind kind, ptx::Space space);
  /// A bulk copy reads or writes global memory now.
  void accessGlobal(const BulkCopy &copy, GlobalChecker::Kind kind);
  /// A cp.async was waited for; its destination is there.
  void completeCopy(const WarpContext &warp, const PendingCopy &copy);

  /// A warp comes to a barrier, and leaves it when all have come.
  void arrive(unsigned warp, unsigned barrier);
  void leave(unsigned warp, unsigned barrier);
  void resetBarrier(unsigned barrier);
  /// The same for the barrier of a cluster.
  void arriveAt(const WarpContext &warp, Knowledge &barrier, bool isRelaxed);
  void leaveFrom(const WarpContext &warp, const Knowledge &barrier);
  /// Fences for other blocks and atomics, as the site's `order` says.
  void synchronizeBlocks(uint32_t site);
  /// The lanes of a warp wait for each other.
  void synchronizeWarp(const WarpContext &warp);

  // AsyncChecks.cpp: mbarriers of this block, and the async proxy.
  void initPhases(const WarpContext &warp, uint32_t site, unsigned lane,
                  PhaseBarrier &barrier);
  /// A fault unless the barrier is known to be initialised.
  void useBarrier(const WarpContext &warp, uint32_t site, unsigned lane,
                  const PhaseBarrier &barrier);
  void arriveAtPhase(const WarpContext &warp, unsigned lane,
                     PhaseBarrier &barrier, bool isAlone);
  void completePhase(PhaseBarrier &barrier);
  void leavePhase(const WarpContext &warp, const PhaseBarrier &barrier);
  /// See FenceFlags; without, an ordinary fence.
  void fence(const WarpContext &warp, uint32_t site);
  /// By one thread, or by the warp together.
  AsyncIssue issueAsync(const WarpContext &warp, uint32_t site, unsigned lane,
                        bool isWarp) const;
  /// See AsyncProxy.h. `barrier`: what says that it is done reading, else the
  /// warp waits for that.
  void readAsync(const AsyncIssue &issue, uint32_t offset, uint32_t bytes,
                 const PhaseBarrier *barrier = nullptr);
  /// Faults where the warp that started a product has written since.
  void checkWritesSince(const AsyncIssue &issue, uint32_t offset,
                        uint32_t bytes);
  /// A product of matrices, of a group of its warpgroup.
  void readByProduct(const AsyncIssue &issue, uint32_t offset, uint32_t bytes,
                     uint32_t group);
  /// A warp has waited for the first `groups` groups of its warpgroup.
  void waitForProducts(const WarpContext &warp, uint32_t groups);
  /// A copy that will tell a barrier may write from now on.
  void beginWrite(const AsyncIssue &issue, uint32_t offset, uint32_t bytes,
                  const PhaseBarrier &barrier);
  /// It has, in the barrier's current phase.
  void endWrite(uint32_t offset, uint32_t bytes, const PhaseBarrier &barrier);

  Counters counters;

private:
  static constexpr unsigned mostWarps = 32;
  static constexpr uint32_t never = ~uint32_t(0);
  static constexpr unsigned nobody = ~0u;
  /// When each warp, and behind them each warpgroup by its products, read a
  /// byte last.
  using ReadTimes =
      std::array<uint32_t, mostWarps + mostWarps / warpsOfWarpgroup>;
  /// What happened last to a byte of shared memory.
  struct Byte {
    uint32_t writeTime = 0; ///< of writeAgent
    uint32_t writeAgent = 0;
    uint32_t writeSite = 0;
    uint32_t writeWarpTime = 0;
    uint32_t readSite = 0;
    uint32_t readWarpTime = 0;
    uint32_t writer = 0; ///< see threadOf
    uint32_t reader = 0;
    bool isWritten = false;
    bool isRead = false;
    bool isAtomic = false;
    /// Written by a cp.async or bulk copy that nobody has waited for.
    bool isPending = false;
    /// Written by the async proxy.
    bool isAsync = false;
    /// An ordinary store, which the async proxy sees after a fence only.
    bool needsFence = false;
  };
  /// A read by a warp of another block, or by a copy.
  struct OtherRead {
    uint32_t agent, time, thread, site;
  };

  void touch(const WarpContext &warp, uint32_t site, unsigned lane,
             uint64_t offset, AccessKind kind);
  /// The bytes from an address of the host on.
  void touchAll(const WarpContext &warp, uint32_t site, unsigned lane,
                uint64_t address, unsigned size, AccessKind kind);
  void checkWriter(const WarpContext &warp, uint32_t site, unsigned lane,
                   uint64_t offset, AccessKind kind);
  void checkReaders(const WarpContext &warp, uint32_t site, unsigned lane,
                    uint64_t offset);
  static bool knowsWriter(const Knowledge &knowledge, const Byte &byte);
  void checkWriterAsync(const AsyncIssue &issue, uint64_t offset);
  void checkReadAsync(const AsyncIssue &issue, uint64_t offset);
  void checkFence(const AsyncIssue &issue, uint64_t offset);
  /// The agent of a warpgroup's products: its times are numbers of groups.
  unsigned productsOf(unsigned warp) const {
    return firstProducts + warp / warpsOfWarpgroup;
  }
  void checkReadersBut(unsigned self, const Knowledge &knowledge,
                       const WarpContext &warp, uint32_t site, unsigned lane,
                       uint64_t offset);
  [[noreturn]] void faultPending(const WarpContext &warp, uint32_t site,
                                 unsigned lane, uint64_t offset);
  unsigned agentOf(const WarpContext &warp) const;
  /// The number of a thread among those of the blocks that run together.
  uint32_t threadOf(const WarpContext &warp, unsigned lane) const {
    return agentOf(warp) * warpSize + lane;
  }
  std::string threadName(uint32_t thread) const;
  uint32_t warpTime(const WarpContext &warp) const {
    return warp.block == &block ? warpTimes[warp.warp] : otherWarpTime(warp);
  }
  uint32_t otherWarpTime(const WarpContext &warp) const;
  void noteRead(const WarpContext &warp, uint32_t site, unsigned lane,
                uint64_t offset);
  uint32_t now(const WarpContext &warp) const {
    return order.now(agentOf(warp));
  }
  [[noreturn]] void race(const WarpContext &warp, uint32_t site, unsigned lane,
                         uint64_t offset, const char *what, uint32_t other,
                         uint32_t otherSite);
  void countShared(const uint64_t *offsets, uint32_t lanes, unsigned bytes);
  void countGlobal(const uint64_t *addresses, uint32_t mask, unsigned bytes);
  void countBulk(const BulkCopy &copy);
  void accessGlobal(const WarpContext &warp, uint32_t site, uint32_t mask,
                    const uint64_t *addresses, unsigned bytes, AccessKind kind,
                    ptx::Space space);

  BlockRunner &block;
  uint64_t sharedBase;
  uint32_t sharedBytes;
  Order &order;
  GlobalChecker global;
  std::vector<uint32_t> warpTimes;
  unsigned firstProducts = 0;
  std::vector<Knowledge> arrived;
  std::vector<Byte> bytes;
  std::vector<ReadTimes> readTimes;
  /// By offset.
  std::unordered_map<uint64_t, std::vector<OtherRead>> otherReads;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_CHECKER_H
