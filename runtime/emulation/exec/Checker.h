//===- Checker.h - races and other faults in shared memory --*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows every access of a block to shared memory. Warps are ordered by
// barriers only: each has a clock and knows, as a vector, up to which time of
// every other warp it has waited (vector clocks). An access that meets one of
// another warp it has not waited for is a race, in whatever order the emulation
// ran the two. Lanes of one warp are ordered by the warp's synchronizing
// instructions.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_CHECKER_H
#define TSP_EMULATION_EXEC_CHECKER_H

#include "Engine.h"
#include "exec/WarpContext.h"

#include <array>
#include <vector>

namespace tsp::emulation {

struct PendingCopy;

enum class AccessKind : uint8_t { Read, Write, Atomic, AsyncCopy };

class Checker {
public:
  Checker(BlockRunner &block, unsigned warps, const uint8_t *shared,
          uint32_t sharedBytes);

  void startBlock();

  /// An access of `bytes` a lane, after its bounds were checked. What does not
  /// fall into shared memory is only counted.
  void access(const WarpContext &warp, uint32_t site, uint32_t mask,
              const uint64_t *addresses, unsigned bytes, AccessKind kind,
              ptx::Space space);
  /// The rows of matrices: 16 bytes at each of the first 8 * matrices
  /// addresses.
  void accessRows(const WarpContext &warp, uint32_t site, unsigned matrices,
                  const uint64_t *addresses, AccessKind kind, ptx::Space space);
  /// A cp.async was waited for; its destination is there.
  void completeCopy(const WarpContext &warp, const PendingCopy &copy);

  /// A warp comes to a barrier, and leaves it when all have come.
  void arrive(unsigned warp, unsigned barrier);
  void leave(unsigned warp, unsigned barrier);
  void resetBarrier(unsigned barrier);
  /// The lanes of a warp wait for each other.
  void synchronizeWarp(unsigned warp) { ++warpTimes[warp]; }

  Counters counters;

private:
  using Clock = std::array<uint32_t, 32>;
  /// What happened last to a byte of shared memory.
  struct Byte {
    uint32_t writeTime = 0; ///< of the writer's warp
    uint32_t writeSite = 0;
    uint32_t writeWarpTime = 0;
    uint32_t readSite = 0;
    uint32_t readWarpTime = 0;
    uint16_t writer = 0; ///< thread of the block
    uint16_t reader = 0;
    bool isWritten = false;
    bool isRead = false;
    bool isAtomic = false;
    /// Written by a cp.async that nobody has waited for.
    bool isPending = false;
  };

  void touch(const WarpContext &warp, uint32_t site, unsigned lane,
             uint64_t offset, AccessKind kind);
  void checkWriter(const WarpContext &warp, uint32_t site, unsigned lane,
                   uint64_t offset, AccessKind kind);
  void checkReaders(const WarpContext &warp, uint32_t site, unsigned lane,
                    uint64_t offset);
  [[noreturn]] void race(const WarpContext &warp, uint32_t site, unsigned lane,
                         uint64_t offset, const char *what, uint16_t other,
                         uint32_t otherSite);
  void countShared(const uint64_t *offsets, uint32_t lanes, unsigned bytes);
  void countGlobal(const uint64_t *addresses, uint32_t mask, unsigned bytes);

  BlockRunner &block;
  uint64_t sharedBase;
  uint32_t sharedBytes;
  std::vector<Clock> clocks;
  std::vector<uint32_t> warpTimes;
  std::vector<Clock> arrived;
  std::vector<Byte> bytes;
  /// Of each byte: when each warp read it last.
  std::vector<Clock> readTimes;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_CHECKER_H
