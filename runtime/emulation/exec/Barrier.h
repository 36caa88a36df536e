//===- Barrier.h - mbarrier objects of a block --------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
// The object in shared memory is opaque, so the word there only has to be
// there: what it stands for is kept beside it.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_BARRIER_H
#define TSP_EMULATION_EXEC_BARRIER_H

#include "exec/Order.h"
#include "exec/WarpContext.h"

#include <unordered_map>

namespace tsp::emulation {

struct PhaseBarrier {
  bool isValid = false;
  /// In its block's shared memory.
  uint32_t offset = 0;
  /// Arrivals that a phase takes, and how many are missing in this one.
  uint32_t expected = 0;
  uint32_t pending = 0;
  /// The tx-count: bytes that copies still have to bring in this phase.
  int64_t bytes = 0;
  /// Phases that have completed.
  uint64_t phase = 0;

  // Of the checker.
  /// Counts the phases in clocks.
  unsigned agent = 0;
  /// Who initialised it, and when.
  unsigned initAgent = 0;
  uint32_t initTime = 0;
  uint32_t initSite = 0;
  /// A fence.mbarrier_init came after that.
  bool isFenced = false;
  uint32_t initThread = 0;
  /// What those know who arrived in this phase, and in those before.
  Knowledge arrived;
  Knowledge completed;
};

/// What is missing in the current phase, in words.
std::string describe(const PhaseBarrier &barrier);

/// The largest arrival count; the tx-count's absolute value has it too.
constexpr uint32_t maxPhaseCount = (uint32_t(1) << 20) - 1;
/// The state that an arrival returns: the phase, and above it the arrivals that
/// were missing before.
constexpr unsigned stateCountShift = 40;

/// What mbarrier.arrive does beside arriving.
struct ArriveFlags {
  enum : uint8_t {
    ExpectBytes = 1,
    Drop = 2,
    KeepPhase = 4,
    Relaxed = 8,
    NoIncrement = 16,
    Alone = 32, ///< without the other threads of the warp
  };
};
/// What a fence for the async proxy is about.
struct FenceFlags {
  enum : uint8_t { BarrierInit = 1, Async = 2 };
};
/// What tells a wait which phase it is for.
struct WaitFlags {
  enum : uint8_t { Parity = 1, Relaxed = 8 };
};

/// A warp that waits, lane by lane, for phases.
struct PhaseWait {
  uint32_t site = 0;
  uint32_t mask = 0;
  /// Lanes whose phase has completed.
  uint32_t done = 0;
  const PhaseBarrier *barriers[warpSize] = {};
};

class PhaseBarriers {
public:
  explicit PhaseBarriers(BlockRunner &block) : block(block) {}

  /// A new block begins: no object is there.
  void reset() { objects.clear(); }
  /// fence.mbarrier_init: the async proxy sees all that are initialised.
  void fenceInit();

  void init(const WarpContext &warp, uint32_t site, unsigned lane,
            uint32_t offset, uint32_t count);
  void invalidate(const WarpContext &warp, uint32_t site, unsigned lane,
                  uint32_t offset);
  /// The object at an offset; a fault when none was initialised there.
  PhaseBarrier &find(const WarpContext &warp, uint32_t site, unsigned lane,
                     uint32_t offset);
  /// Gives the state before. `flags`: ArriveFlags; `bytes` with ExpectBytes.
  uint64_t arrive(const WarpContext &warp, uint32_t site, unsigned lane,
                  PhaseBarrier &barrier, uint32_t count, uint32_t bytes,
                  unsigned flags);
  void expectBytes(const WarpContext &warp, uint32_t site, unsigned lane,
                   PhaseBarrier &barrier, uint32_t bytes);
  /// A copy, or mbarrier.complete_tx, has brought bytes.
  void completeBytes(PhaseBarrier &barrier, uint32_t bytes);

private:
  void completeIfDone(PhaseBarrier &barrier);

  BlockRunner &block;
  /// By offset.
  std::unordered_map<uint32_t, PhaseBarrier> objects;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_BARRIER_H
