//===- Scheduler.cpp - warps of blocks that run together ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/Scheduler.h"
#include "exec/BlockRunner.h"

#include <algorithm>

namespace tsp::emulation {

/// How often all waits of a cluster are answered with no before they count as
/// endless: lanes that wait for others of their warp need some turns.
constexpr unsigned maxFutileRounds = 1000;
/// How many polls a warp makes before it gives way.
constexpr uint32_t pollsPerTurn = 64;

/// Stacks are kept by each worker: mapping them anew would cost more than most
/// blocks.
static std::vector<std::unique_ptr<Fiber>> &fibersOfThread() {
  static thread_local std::vector<std::unique_ptr<Fiber>> fibers;
  return fibers;
}

Scheduler::Scheduler(LaunchState &state)
    : state(state), fibers(fibersOfThread()), bulkCopies(*this),
      seeded(state.launch.seed != 0) {
  size_t clusters = size_t(state.clustersTogether());
  size_t count = clusters * state.blocksPerCluster();
  while (fibers.size() < count * state.warpsPerBlock())
    fibers.push_back(std::make_unique<Fiber>());
  // Hardware aligns shared memory at least so far.
  constexpr size_t alignment = 1024;
  auto aligned = [](size_t value) {
    return (value + alignment - 1) / alignment * alignment;
  };
  size_t stride = aligned(BlockRunner::sharedBytes(state));
  sharedMemory.resize(count * stride + alignment);
  auto base = aligned(reinterpret_cast<size_t>(sharedMemory.data()));
  for (unsigned place = 0; place < count; ++place)
    blocks.push_back(std::make_unique<BlockRunner>(
        state, *this, place,
        reinterpret_cast<uint8_t *>(base + place * stride)));
  clusterBarriers.resize(clusters);
}

Scheduler::~Scheduler() = default;

Fiber &Scheduler::fiberOf(const WarpContext &context) const {
  return *fibers[context.block->groupPlace() * state.warpsPerBlock() +
                 context.warp];
}

void Scheduler::runAll() {
  uint64_t clusters = state.clusters(), together = state.clustersTogether();
  while (!state.failed) {
    uint64_t number = state.nextCluster.fetch_add(together);
    if (number >= clusters)
      return;
    runTogether(number);
  }
}

/// Runs the clusters from `number` on that run together.
void Scheduler::runTogether(uint64_t number) {
  const Launch &launch = state.launch;
  if (seeded)
    random.seed(launch.seed * 0x9e3779b97f4a7c15u + number);
  ready.clear();
  polling.clear();
  bulkCopies.reset();
  std::fill(clusterBarriers.begin(), clusterBarriers.end(), ClusterBarrier());
  futileRounds = 0;
  if (state.checker)
    happened.start(numBlocks() * state.warpsPerBlock());
  for (const std::unique_ptr<BlockRunner> &block : blocks) {
    std::array<uint32_t, 3> index;
    uint64_t cluster = number + block->groupPlace() / state.blocksPerCluster();
    uint32_t rank = block->clusterRank();
    for (unsigned axis = 0; axis < 3; ++axis) {
      uint32_t size = launch.cluster[axis], count = launch.grid[axis] / size;
      index[axis] = uint32_t(cluster % count) * size + rank % size;
      cluster /= count;
      rank /= size;
    }
    block->start(index);
  }
  try {
    runToEnd();
  } catch (const Abandoned &) {
    // The fault is recorded.
  }
}

void Scheduler::runToEnd() {
  while (true) {
    if (runReady() || bulkCopies.deliverOne() || wake(polling))
      continue;
    if (allDone())
      break;
    if (!wakeInVain())
      return reportDeadlock();
  }
  for (const std::unique_ptr<BlockRunner> &block : blocks)
    block->finish();
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

void Scheduler::start(Warp &warp) {
  fiberOf(warp.context)
      .start(
          [](void *argument) {
            auto &warp = *static_cast<Warp *>(argument);
            Scheduler &scheduler = warp.context.block->scheduler();
            scheduler.state.entry(&warp.context);
            warp.state = Warp::State::Done;
            scheduler.progress();
            scheduler.fiberOf(warp.context).finish();
          },
          &warp);
  makeReady(warp);
}

void Scheduler::makeReady(Warp &warp) {
  warp.state = Warp::State::Ready;
  ready.push_back(&warp);
}

void Scheduler::resume(Warp &warp) {
  current = &warp;
  fiberOf(warp.context).resume();
  current = nullptr;
  if (isAbandoned)
    abandon();
}

void Scheduler::suspend(Warp &warp) { fiberOf(warp.context).suspend(); }

void Scheduler::yield(Warp &warp) {
  makeReady(warp);
  suspend(warp);
}

void Scheduler::poll(Warp &warp) {
  if (++warp.polls % pollsPerTurn)
    return;
  // A block that has faulted writes no more.
  if (state.failed)
    abandon();
  polling.push_back(&warp);
  suspend(warp);
}

/// Runs the warps that are ready, each until it waits. False when there are
/// none.
bool Scheduler::runReady() {
  if (ready.empty())
    return false;
  round.clear();
  std::swap(ready, round);
  if (seeded)
    std::shuffle(round.begin(), round.end(), random);
  for (Warp *warp : round)
    resume(*warp);
  for (const std::unique_ptr<BlockRunner> &block : blocks)
    block->releaseComplete();
  releaseClusters();
  return true;
}

bool Scheduler::wake(std::vector<Warp *> &warps) {
  for (Warp *warp : warps)
    makeReady(*warp);
  bool isAny = !warps.empty();
  warps.clear();
  return isAny;
}

bool Scheduler::allDone() const {
  return std::all_of(blocks.begin(), blocks.end(),
                     [](const auto &block) { return block->isDone(); });
}

/// Tells all that wait for a phase that it has not completed: other lanes of
/// their warps may have to go on first. False when that does not help.
bool Scheduler::wakeInVain() {
  std::vector<Warp *> waiting;
  for (const std::unique_ptr<BlockRunner> &block : blocks)
    for (Warp &warp : block->allWarps())
      if (warp.state == Warp::State::AtPhase)
        waiting.push_back(&warp);
  return ++futileRounds <= maxFutileRounds && wake(waiting);
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

void Scheduler::reportDeadlock() {
  // What a barrier waits for may be a thread that waits for a phase.
  const Warp *found = nullptr;
  for (const std::unique_ptr<BlockRunner> &block : blocks)
    for (const Warp &warp : block->allWarps()) {
      bool isPhase = warp.state == Warp::State::AtPhase;
      bool isFirstPhase =
          isPhase && (!found || found->state != Warp::State::AtPhase);
      if (isFirstPhase || (!found && warp.state != Warp::State::Done))
        found = &warp;
    }
  found->context.block->recordEndless(*found);
}

void Scheduler::abandon() {
  isAbandoned = true;
  if (!current)
    throw Abandoned();
  fiberOf(current->context).finish();
}

} // namespace tsp::emulation
