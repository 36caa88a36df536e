//===- Scheduler.h - warps of blocks that run together ------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread runs the blocks of a cluster together (a launch without clusters
// has clusters of one block), or, of a cooperative launch, those of the grid,
// each warp on a stack of its own. A warp runs
// until it waits. Copies of the async proxy happen as late as they may: when no
// warp can go on, one of them is done.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_SCHEDULER_H
#define TSP_EMULATION_EXEC_SCHEDULER_H

#include "exec/BulkCopy.h"
#include "exec/Fiber.h"
#include "exec/Order.h"
#include "exec/WarpContext.h"

#include <memory>
#include <random>
#include <vector>

namespace tsp::emulation {

struct LaunchState;
struct Warp;

class Scheduler {
public:
  explicit Scheduler(LaunchState &state);
  ~Scheduler();

  /// Takes clusters until none is left or one has faulted.
  void runAll();

  /// A warp has come to the barrier of its cluster, relaxed: without telling
  /// what it did.
  void arriveAtCluster(Warp &warp, bool isRelaxed);
  /// It leaves the barrier, to which all have come.
  void leaveCluster(Warp &warp);
  /// Prepares a warp's run of the kernel.
  void start(Warp &warp);

  // On a warp's stack.
  /// Gives way until makeReady(warp); the warp's state says what it waits for.
  void suspend(Warp &warp);
  /// Gives way to the others once: the warp has asked in vain.
  void yield(Warp &warp);
  /// Gives way now and then: the warp may ask again and again for what another
  /// has to write.
  void poll(Warp &warp);

  void makeReady(Warp &warp);
  /// Something happened that a waiting warp may have waited for.
  void progress() { futileRounds = 0; }
  BulkCopies &copies() { return bulkCopies; }
  Order &order() { return happened; }
  BlockRunner &block(unsigned rank) { return *blocks[rank]; }
  unsigned numBlocks() const { return unsigned(blocks.size()); }
  /// A random number under a seed, else 0.
  uint64_t draw() { return seeded ? random() : 0; }
  /// The stack of a warp, where its lanes' own memory is.
  Fiber &fiberOf(const WarpContext &context) const;

  /// A fault was recorded: the cluster ends. Leaves the current warp for good.
  [[noreturn]] void abandon();

private:
  struct Abandoned {};

  /// The barrier of a cluster.
  struct ClusterBarrier {
    bool isPending = false;
    // Of the checker: what those know who have come.
    Knowledge arrived, completed;
  };

  ClusterBarrier &clusterBarrierOf(const Warp &warp);
  void releaseClusters();
  void runTogether(uint64_t number);
  void runToEnd();
  bool runReady();
  void resume(Warp &warp);
  bool wake(std::vector<Warp *> &warps);
  bool allDone() const;
  bool wakeInVain();
  void reportDeadlock();
  LaunchState &state;
  std::vector<std::unique_ptr<Fiber>> &fibers;
  /// Of the checker.
  Order happened;
  std::vector<uint8_t> sharedMemory;
  std::vector<std::unique_ptr<BlockRunner>> blocks;
  std::vector<ClusterBarrier> clusterBarriers;
  BulkCopies bulkCopies;
  std::vector<Warp *> ready, round, polling;
  Warp *current = nullptr;
  /// How often in a row all that waited were told that it is not yet.
  unsigned futileRounds = 0;
  bool isAbandoned = false;
  bool seeded = false;
  std::mt19937_64 random;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_SCHEDULER_H
