//===- BulkCopy.h - cp.async.bulk, done as late as it may -------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Data Movement and Conversion Instructions: Bulk copy" and "Tensor
// copy". A copy that an mbarrier waits for happens when no warp can go on
// without it. What it overwrites in shared memory is NaN in between. One of a
// bulk group reads and writes when its thread waits for that, or when the block
// ends.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_BULKCOPY_H
#define TSP_EMULATION_EXEC_BULKCOPY_H

#include "exec/AsyncProxy.h"
#include "exec/TensorMap.h"

#include <deque>
#include <vector>

namespace tsp::emulation {

struct PhaseBarrier;
class Scheduler;

/// Flags of the site.
struct BulkFlags {
  enum : uint8_t {
    Reduce = 1,   ///< by the site's operation, what is there with what comes
    ReadOnly = 2, ///< of a wait: only for the reading
  };
};

/// A copy between global memory and the shared memory of a block.
struct BulkCopy {
  AsyncIssue issue;
  bool isTensor = false;
  /// Of a tensor copy; else `global` and `bytes` say what is copied.
  TensorMap map;
  int32_t coordinates[TensorMap::maxRank] = {};
  uint64_t global = 0;
  /// Of a copy within the cluster: where in whose shared memory it comes from,
  /// unless the bytes are there from the start (`st.async`).
  BlockRunner *from = nullptr;
  uint32_t fromShared = 0;
  BlockRunner *block = nullptr;
  uint32_t shared = 0;
  uint32_t bytes = 0;

  /// To shared memory: what is told that the bytes have come, and its phase at
  /// the issue.
  PhaseBarrier *barrier = nullptr;
  uint64_t phase = 0;

  /// From shared memory: its thread's group, and the bytes once they are read.
  uint32_t group = 0;
  std::vector<uint8_t> data;

  bool isRead() const { return !data.empty(); }
  /// Visits the ranges of global memory that are copied.
  template <typename F> void forEachRange(F visit) const {
    if (!isTensor)
      return visit(Range{global, global + bytes});
    map.forEachChunk(coordinates, shared, [&](const TensorMap::Chunk &chunk) {
      uint64_t begin = reinterpret_cast<uint64_t>(chunk.global);
      if (chunk.global)
        visit(Range{begin + chunk.begin, begin + chunk.end});
    });
  }
};

/// The copies from shared memory of one warp.
struct BulkStores {
  std::deque<BulkCopy> pending;
  /// Groups that each lane has committed.
  uint32_t groups[warpSize] = {};

  /// Reads, and unless `readOnly` writes, those of a lane's groups before
  /// `end`.
  void complete(unsigned lane, uint32_t end, bool readOnly);
  /// The block ends: all happen. For the checker a fault if one has not read.
  void finish();
};

/// cp.async.mbarrier.arrive: arrivals when the copies so far of a warp have
/// come.
struct CopyArrival {
  const WarpContext *warp = nullptr;
  uint32_t site = 0;
  uint32_t mask = 0;
  /// Without other threads of the warp.
  bool isAlone = false;
  /// Copies of the warp so far.
  uint64_t copies = 0;
  PhaseBarrier *barriers[warpSize] = {};
};

/// What a cluster has issued for its mbarriers and has not happened.
class BulkCopies {
public:
  explicit BulkCopies(Scheduler &scheduler) : scheduler(scheduler) {}

  void reset();
  void issue(BulkCopy copy);
  void issue(CopyArrival arrival) { arrivals.push_back(arrival); }
  /// Does one, a random one under a seed. False when there is none.
  bool deliverOne();
  /// A fault unless all copies issued in the barrier's phase have come.
  void checkPhase(const PhaseBarrier &barrier) const;

private:
  void deliver(const BulkCopy &copy);
  void deliver(const CopyArrival &arrival);

  Scheduler &scheduler;
  std::deque<BulkCopy> loads;
  std::deque<CopyArrival> arrivals;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_BULKCOPY_H
