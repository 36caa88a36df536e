//===- GlobalChecker.h - races between blocks -------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Follows the accesses of one block to global memory, and compares them with
// those of the launch's other blocks (GlobalAccesses.h).
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_GLOBALCHECKER_H
#define TSP_EMULATION_EXEC_GLOBALCHECKER_H

#include "exec/GlobalAccesses.h"
#include "exec/WarpContext.h"

namespace tsp::emulation {

struct BulkCopy;

class GlobalChecker {
public:
  enum class Kind : uint8_t { Read, Write, Reduce, Synchronize };

  GlobalChecker(BlockRunner &block, GlobalAccesses &accesses)
      : block(block), accesses(accesses) {}

  void startBlock();

  /// Of `bytes` at the address of each lane.
  void access(const WarpContext &warp, uint32_t site, uint32_t mask,
              const uint64_t *addresses, unsigned bytes, Kind kind);
  /// Of what a bulk copy copies.
  void access(const BulkCopy &copy, Kind kind);

  /// What the block has done so far is told to those who acquire from now on.
  void release();
  /// What an access reads may have been written just after it was noted, so
  /// knowledge comes with the next one.
  void acquire() { acquires = true; }

private:
  void touch(const WarpContext &warp, uint32_t site, unsigned lane, Range range,
             Kind kind);
  GlobalPage &pageOf(uint64_t number);
  bool isKnown(const GlobalMark &mark);
  const GlobalMark *findConflict(const GlobalPlace &place, Kind kind);
  void note(GlobalPlace &place, uint32_t site, Kind kind);
  [[noreturn]] void race(const WarpContext &warp, uint32_t site, unsigned lane,
                         uint64_t address, const GlobalMark &other,
                         bool wasWritten);

  BlockRunner &block;
  GlobalAccesses &accesses;
  uint64_t number = 0;
  uint32_t section = 0;
  /// Whether anything has happened in the section.
  bool isUsed = false;
  bool acquires = false;
  /// Releases that the block knows of.
  uint64_t acquired = 0;
  /// Pages touched last, by the last bits of their numbers.
  struct {
    uint64_t number = ~uint64_t(0);
    GlobalPage *page = nullptr;
  } recent[16];
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_GLOBALCHECKER_H
