//===- BulkCopy.h - cp.async.bulk, done as late as it may ---*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Data Movement and Conversion Instructions: Bulk copy" and "Tensor
// copy". A copy that an mbarrier waits for happens when no warp can go on
// without it; one of a bulk group when its thread waits for the group, or when
// the kernel ends. What it overwrites in shared memory is NaN in between.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_BULKCOPY_H
#define TSP_EMULATION_EXEC_BULKCOPY_H

#include "exec/TensorMap.h"
#include "exec/WarpContext.h"

#include <deque>
#include <vector>

namespace tsp::emulation {

struct PhaseBarrier;
class Scheduler;

/// From where to where a copy goes.
enum class BulkDirection : uint8_t { Load };

struct BulkCopy {
  uint32_t site = 0;
  /// The thread that issued it.
  const WarpContext *warp = nullptr;
  unsigned lane = 0;
  bool isTensor = false;
  /// Of a tensor copy; else `global` and `bytes` say what is copied.
  TensorMap map;
  int32_t coordinates[TensorMap::maxRank] = {};
  uint64_t global = 0;
  /// In the shared memory of `block`.
  BlockRunner *block = nullptr;
  uint32_t shared = 0;
  uint32_t bytes = 0;
  /// What is told that the bytes have come, and its phase at the issue.
  PhaseBarrier *barrier = nullptr;
  uint64_t phase = 0;
};

/// The copies that a cluster has issued and that have not happened.
class BulkCopies {
public:
  explicit BulkCopies(Scheduler &scheduler) : scheduler(scheduler) {}

  void reset() { inFlight.clear(); }
  void issue(BulkCopy copy);
  /// Does one of the copies that an mbarrier waits for, a random one under a
  /// seed. False when there is none.
  bool deliverOne();
  /// A fault unless all copies issued in the barrier's phase have come.
  void checkPhase(const PhaseBarrier &barrier) const;

private:
  void deliver(const BulkCopy &copy);

  Scheduler &scheduler;
  std::deque<BulkCopy> inFlight;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_BULKCOPY_H
