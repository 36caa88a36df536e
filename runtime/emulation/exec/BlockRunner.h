//===- BlockRunner.h - runs blocks of a launch --------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_BLOCKRUNNER_H
#define TSP_EMULATION_EXEC_BLOCKRUNNER_H

#include "Engine.h"
#include "exec/Barrier.h"
#include "exec/BulkCopy.h"
#include "exec/Checker.h"
#include "exec/WarpContext.h"
#include "exec/Wgmma.h"
#include "jit/Program.h"

#include <atomic>
#include <deque>
#include <mutex>

namespace tsp::emulation {

/// A launch as all workers see it.
struct LaunchState {
  LaunchState(const CompiledKernel &kernel, KernelEntry entry,
              const Launch &launch, uint8_t *variables, uint64_t variableBytes,
              bool checker)
      : kernel(kernel), entry(entry), launch(launch), variables(variables),
        variableBytes(variableBytes), checker(checker) {
    if (checker)
      global = std::make_unique<GlobalAccesses>();
  }

  const CompiledKernel &kernel;
  KernelEntry entry;
  const Launch &launch;
  uint8_t *variables;
  uint64_t variableBytes;
  bool checker;

  /// The next cluster to run.
  std::atomic<uint64_t> nextCluster{0};
  /// Of a cooperative launch: its size in bytes, and a barrier.
  uint32_t gridWorkspace[2] = {sizeof(gridWorkspace), 0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  /// Of the lowest block that faulted.
  uint64_t faultBlock = ~uint64_t(0);
  std::string fault;
  Counters counters;
  /// Null unless the launch is checked.
  std::unique_ptr<GlobalAccesses> global;

  /// Clusters that one thread runs together: whose blocks may wait for each
  /// other.
  uint64_t clustersTogether() const {
    return launch.cooperative ? clusters() : 1;
  }
  unsigned blocksPerCluster() const {
    return launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
  }
  uint64_t clusters() const {
    uint64_t count = 1;
    for (unsigned axis = 0; axis < 3; ++axis)
      count *= launch.grid[axis] / launch.cluster[axis];
    return count;
  }
  unsigned warpsPerBlock() const {
    return (launch.block[0] * launch.block[1] * launch.block[2] + warpSize -
            1) /
           warpSize;
  }
};

/// One cp.async of a warp, not done yet.
struct PendingCopy {
  uint32_t site;
  /// Copies of its warp before it.
  uint64_t number;
  uint32_t mask;
  /// The number of the group that it belongs to.
  uint32_t group;
  uint64_t to[warpSize];
  uint64_t from[warpSize];
  uint32_t sourceBytes[warpSize];
};

struct Warp {
  enum class State : uint8_t {
    Ready,
    AtBarrier,
    AtPhase,
    AtCluster,
    AtProducts,
    Done
  };
  /// Whether the warp has come to its cluster's barrier, and whether all have.
  enum class ClusterArrival : uint8_t { None, Arrived, Complete };
  WarpContext context;
  State state = State::Ready;
  unsigned barrier = 0;
  uint32_t barrierSite = 0;
  uint32_t barrierResult = 0;
  std::deque<PendingCopy> copies;
  uint32_t groups = 0;
  /// Copies issued.
  uint64_t issuedCopies = 0;
  Products products;
  uint32_t productSite = 0;
  ClusterArrival clusterArrival = ClusterArrival::None;
  uint32_t clusterSite = 0;
  PhaseWait phaseWait;
  BulkStores stores;
  /// How often it has read what others may have to write.
  uint32_t polls = 0;
};

class Scheduler;

/// AsyncCopy.cpp: does the first `count` cp.async of a warp.
void completeCopies(BlockRunner &block, Warp &warp, uint64_t count);

/// A place in the shared memory of a block.
struct SharedPlace {
  BlockRunner *block;
  uint32_t offset;
};

/// The state of a block: its shared memory, its warps, its barriers.
class BlockRunner {
public:
  /// The block of this place among those that run together, with shared memory
  /// of sharedBytes(state).
  BlockRunner(LaunchState &state, Scheduler &scheduler, unsigned place,
              uint8_t *shared);
  ~BlockRunner();

  static uint32_t sharedBytes(const LaunchState &state);

  /// Makes its warps ready to run block `index` of the grid.
  void start(const std::array<uint32_t, 3> &index);
  /// Lets the warps go on that wait at barriers to which all have come.
  void releaseComplete();
  bool isDone() const;
  /// All warps are done: so are their copies.
  void finish();

  const Site &site(uint32_t index) const { return state.kernel.sites[index]; }
  Warp &warpOf(const WarpContext *context) { return warps[context->warp]; }
  std::vector<Warp> &allWarps() { return warps; }
  uint8_t *sharedMemory() const { return shared; }
  PhaseBarriers &phaseBarriers() { return phases; }
  Scheduler &scheduler() { return owner; }
  /// Among the blocks that run together.
  unsigned groupPlace() const { return place; }
  /// In its cluster.
  unsigned clusterRank() const { return place % state.blocksPerCluster(); }
  /// The block of this rank in its cluster; null when there is none.
  BlockRunner *ofCluster(unsigned rank) const;
  /// The block of its cluster whose shared memory holds an address; null when
  /// none does.
  BlockRunner *ofShared(uint64_t address) const;
  /// Of the block in the grid.
  uint64_t gridNumber() const { return number; }
  /// Null unless the launch is checked.
  Checker *checker() { return check.get(); }

  // Faults.
  [[noreturn]] void fault(const WarpContext &context, uint32_t site,
                          unsigned lane, const std::string &message);
  /// Records the fault that this warp waits for ever.
  void recordEndless(const Warp &warp);

  // On a warp's stack.
  uint32_t barrier(WarpContext &context, uint32_t site, uint32_t mask,
                   uint32_t id, uint32_t threads, uint32_t predicate);
  /// The lanes whose phases have completed: all, unless no other warp can go on
  /// before the others of this one do.
  uint32_t waitForPhases(WarpContext &context);
  /// A phase has completed: wakes those that waited for it.
  void wakeWaiting(const PhaseBarrier &barrier);

  // Cluster.cpp
  void arriveAtCluster(WarpContext &context, uint32_t site, uint32_t mask);
  void waitForCluster(WarpContext &context, uint32_t site, uint32_t mask);

  // Bounds.cpp
  /// Faults unless all lanes may access `bytes` at their addresses, aligned to
  /// `alignment`. Returns what must be added to make host addresses of them.
  uint64_t checkAccess(const WarpContext &context, uint32_t site, uint32_t mask,
                       const uint64_t *addresses, unsigned bytes,
                       unsigned alignment, ptx::Space space);
  uint32_t sharedSize() const { return totalShared; }
  /// The allocation that holds an address; empty when none does.
  Range allocationOf(uint64_t address) const;
  /// Whether an address that is in no shared memory is in global memory, where
  /// other blocks may access it.
  bool isGlobal(const WarpContext &context, uint64_t address) const;
  /// The place of a lane's address in shared memory, or a fault.
  SharedPlace sharedPlace(const WarpContext &context, uint32_t site,
                          unsigned lane, uint64_t address, uint32_t bytes,
                          unsigned alignment, ptx::Space space);
  /// Faults unless a lane may access [range.begin, range.end) of global memory.
  void checkGlobal(const WarpContext &context, uint32_t site, unsigned lane,
                   const Range &range);

private:
  struct Barrier {
    uint32_t arrivedWarps = 0;
    uint32_t expectedWarps = 0;
    uint32_t count = 0;
    bool every = true;
    bool any = false;
  };
  void checkLane(const WarpContext &context, uint32_t site, unsigned lane,
                 uint64_t address, uint64_t bytes, ptx::Space space);
  std::string describeMiss(uint64_t address, uint64_t bytes) const;
  std::string locate(const WarpContext &context, uint32_t site, unsigned lane,
                     const std::string &message) const;
  void record(std::string message);

  LaunchState &state;
  Scheduler &owner;
  unsigned place;
  uint64_t number = 0;
  std::vector<Warp> warps;
  uint8_t *shared;
  uint32_t totalShared;
  /// The allocation that each site touched last.
  std::vector<Range> ranges;
  Barrier barriers[numBarriers];
  PhaseBarriers phases;
  std::unique_ptr<Checker> check;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_BLOCKRUNNER_H
