//===- BlockRunner.cpp - the state of a block -----------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/BlockRunner.h"
#include "exec/Scheduler.h"

#include <algorithm>
#include <cstring>

namespace tsp::emulation {

uint32_t BlockRunner::sharedBytes(const LaunchState &state) {
  uint32_t dynamic = state.launch.dynamicSharedBytes;
  return dynamic ? uint32_t(state.kernel.dynamicOffset) + dynamic
                 : state.kernel.description.staticSharedBytes;
}

BlockRunner::BlockRunner(LaunchState &state, Scheduler &scheduler,
                         unsigned place, uint8_t *shared)
    : state(state), owner(scheduler), place(place),
      warps(state.warpsPerBlock()), shared(shared),
      totalShared(sharedBytes(state)), ranges(state.kernel.sites.size()),
      phases(*this) {
  const Launch &launch = state.launch;
  for (uint32_t w = 0; w < warps.size(); ++w) {
    WarpContext &context = warps[w].context;
    context.warp = w;
    context.warps = uint32_t(warps.size());
    context.dynamicShared = launch.dynamicSharedBytes;
    context.totalShared = totalShared;
    context.shared = shared;
    context.parameters = static_cast<const uint8_t *>(launch.parameters);
    context.variables = state.variables;
    context.block = this;
    context.clusterRank = clusterRank();
    context.clusterBlocks = state.blocksPerCluster();
    context.isCluster = context.clusterBlocks > 1;
    if (launch.cooperative)
      context.gridWorkspace = reinterpret_cast<uint64_t>(state.gridWorkspace);
    for (unsigned axis = 0; axis < 3; ++axis) {
      context.blockSize[axis] = launch.block[axis];
      context.gridSize[axis] = launch.grid[axis];
      context.clusterSize[axis] = launch.cluster[axis];
      context.clusterGrid[axis] = launch.grid[axis] / launch.cluster[axis];
    }
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      uint32_t thread = w * warpSize + lane;
      context.thread[0][lane] = thread % launch.block[0];
      context.thread[1][lane] = thread / launch.block[0] % launch.block[1];
      context.thread[2][lane] = thread / launch.block[0] / launch.block[1];
    }
  }
  if (state.checker)
    check = std::make_unique<Checker>(*this, scheduler.order(), *state.global,
                                      shared, totalShared);
}

BlockRunner::~BlockRunner() {
  if (!check)
    return;
  std::lock_guard<std::mutex> lock(state.mutex);
  state.counters += check->counters;
}

void BlockRunner::start(const std::array<uint32_t, 3> &index) {
  const Launch &launch = state.launch;
  number = index[0] + uint64_t(launch.grid[0]) *
                          (index[1] + uint64_t(launch.grid[1]) * index[2]);
  // Not zeros: what a kernel forgets to write must show, as NaN where it can.
  std::memset(shared, 0xff, totalShared);
  for (Barrier &barrier : barriers)
    barrier = Barrier();
  phases.reset();
  if (check)
    check->startBlock();
  uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  for (Warp &warp : warps) {
    WarpContext &context = warp.context;
    uint32_t lanes = std::min(warpSize, threads - context.warp * warpSize);
    context.live =
        lanes == warpSize ? ~uint32_t(0) : (uint32_t(1) << lanes) - 1;
    for (unsigned axis = 0; axis < 3; ++axis) {
      context.blockIndex[axis] = index[axis];
      context.clusterBlock[axis] = index[axis] % launch.cluster[axis];
      context.clusterIndex[axis] = index[axis] / launch.cluster[axis];
    }
    context.dispatches = 0;
    context.starved = 0;
    warp.copies.clear();
    warp.groups = 0;
    warp.products = Products();
    warp.issuedCopies = 0;
    warp.stores = BulkStores();
    warp.clusterArrival = Warp::ClusterArrival::None;
    warp.polls = 0;
    owner.start(warp);
  }
}

bool BlockRunner::isDone() const {
  return std::all_of(warps.begin(), warps.end(), [](const Warp &warp) {
    return warp.state == Warp::State::Done;
  });
}

void BlockRunner::finish() {
  checkWarpgroups(*this);
  for (Warp &warp : warps)
    warp.stores.finish();
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

uint32_t BlockRunner::barrier(WarpContext &context, uint32_t siteIndex,
                              uint32_t mask, uint32_t id, uint32_t threads,
                              uint32_t predicate) {
  if (mask != context.live)
    fault(context, siteIndex, unsigned(__builtin_ctz(context.live & ~mask)),
          "divergent barrier: this thread does not arrive together with its "
          "warp (lanes " +
              std::to_string(__builtin_popcount(mask)) + " of " +
              std::to_string(__builtin_popcount(context.live)) + ")");
  unsigned lane = unsigned(__builtin_ctz(mask));
  if (id >= numBarriers)
    fault(context, siteIndex, lane,
          "barrier " + std::to_string(id) + " does not exist");
  if (threads % warpSize)
    fault(context, siteIndex, lane,
          "a barrier of " + std::to_string(threads) +
              " threads: not a multiple of a warp");
  Barrier &barrier = barriers[id];
  if (barrier.arrivedWarps && barrier.expectedWarps != threads / warpSize)
    fault(context, siteIndex, lane,
          "barrier " + std::to_string(id) +
              " is waited for with different numbers of threads");
  barrier.expectedWarps = threads / warpSize;
  ++barrier.arrivedWarps;
  uint32_t set = predicate & mask;
  barrier.count += uint32_t(__builtin_popcount(set));
  barrier.every &= set == mask;
  barrier.any |= set != 0;
  if (check)
    check->arrive(context.warp, id);
  BarrierKind kind = BarrierKind(site(siteIndex).operation);
  if (kind == BarrierKind::Arrive)
    return 0;
  Warp &warp = warpOf(&context);
  warp.state = Warp::State::AtBarrier;
  warp.barrier = id;
  warp.barrierSite = siteIndex;
  owner.suspend(warp);
  return warp.barrierResult;
}

void BlockRunner::releaseComplete() {
  uint32_t alive =
      uint32_t(std::count_if(warps.begin(), warps.end(), [](const Warp &warp) {
        return warp.state != Warp::State::Done;
      }));
  for (unsigned id = 0; id < numBarriers; ++id) {
    Barrier &barrier = barriers[id];
    uint32_t expected = barrier.expectedWarps ? barrier.expectedWarps : alive;
    if (!barrier.arrivedWarps || barrier.arrivedWarps < expected)
      continue;
    for (Warp &warp : warps) {
      if (warp.state != Warp::State::AtBarrier || warp.barrier != id)
        continue;
      BarrierKind kind = BarrierKind(site(warp.barrierSite).operation);
      warp.barrierResult = kind == BarrierKind::Popc  ? barrier.count
                           : kind == BarrierKind::And ? barrier.every
                                                      : barrier.any;
      if (check)
        check->leave(warp.context.warp, id);
      owner.makeReady(warp);
    }
    if (check)
      check->resetBarrier(id);
    barrier = Barrier();
  }
}

//===----------------------------------------------------------------------===//
// Phases of mbarriers
//===----------------------------------------------------------------------===//

uint32_t BlockRunner::waitForPhases(WarpContext &context) {
  Warp &warp = warpOf(&context);
  PhaseWait &wait = warp.phaseWait;
  // An instruction that need not wait may also say no: one that only tests, or
  // one whose time is over.
  bool saysNo = wait.done != wait.mask && owner.draw() % 4 == 1;
  if (saysNo)
    owner.yield(warp);
  if (wait.done != wait.mask && !saysNo) {
    warp.state = Warp::State::AtPhase;
    owner.suspend(warp);
  }
  // Lanes that wait in vain let the others of the warp go first, by turns.
  context.starved = wait.done == wait.mask ? 0 : !context.starved;
  return wait.done;
}

void BlockRunner::wakeWaiting(const PhaseBarrier &barrier) {
  owner.progress();
  for (Warp &warp : warps) {
    if (warp.state != Warp::State::AtPhase)
      continue;
    PhaseWait &wait = warp.phaseWait;
    uint32_t before = wait.done;
    for (uint32_t rest = wait.mask & ~wait.done; rest; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      if (wait.barriers[lane] == &barrier)
        wait.done |= uint32_t(1) << lane;
    }
    bool acquires = !(site(wait.site).flags & WaitFlags::Relaxed);
    if (check && acquires && wait.done != before)
      check->leavePhase(warp.context, barrier);
    if (wait.done == wait.mask)
      owner.makeReady(warp);
  }
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

static std::string triple(uint32_t x, uint32_t y, uint32_t z) {
  return "(" + std::to_string(x) + "," + std::to_string(y) + "," +
         std::to_string(z) + ")";
}

std::string BlockRunner::locate(const WarpContext &context, uint32_t siteIndex,
                                unsigned lane,
                                const std::string &message) const {
  const Site &where = site(siteIndex);
  return "PTX line " + std::to_string(where.line) + " (" + where.spelling +
         "): " + message + ": block " +
         triple(context.blockIndex[0], context.blockIndex[1],
                context.blockIndex[2]) +
         ", thread " +
         triple(context.thread[0][lane], context.thread[1][lane],
                context.thread[2][lane]) +
         " of kernel '" + state.kernel.description.name + "'";
}

void BlockRunner::record(std::string message) {
  std::lock_guard<std::mutex> lock(state.mutex);
  state.failed = true;
  if (number < state.faultBlock) {
    state.faultBlock = number;
    state.fault = std::move(message);
  }
}

void BlockRunner::fault(const WarpContext &context, uint32_t siteIndex,
                        unsigned lane, const std::string &message) {
  // Its strings must be gone before the stack is left for good.
  record(locate(context, siteIndex, lane, message));
  owner.abandon();
}

void BlockRunner::recordEndless(const Warp &warp) {
  if (warp.state == Warp::State::AtBarrier)
    return record(locate(
        warp.context, warp.barrierSite,
        unsigned(__builtin_ctz(warp.context.live)),
        "warp " + std::to_string(warp.context.warp) + " waits at barrier " +
            std::to_string(warp.barrier) + " for threads that never arrive"));
  if (warp.state == Warp::State::AtCluster)
    return record(locate(warp.context, warp.clusterSite,
                         unsigned(__builtin_ctz(warp.context.live)),
                         "warp " + std::to_string(warp.context.warp) +
                             " waits for threads of its cluster that never "
                             "arrive"));
  if (warp.state == Warp::State::AtProducts)
    return record(locate(warp.context, warp.productSite, 0,
                         "warp " + std::to_string(warp.context.warp) +
                             " waits for products that not all warps of its "
                             "warpgroup have started"));
  const PhaseWait &wait = warp.phaseWait;
  unsigned lane = unsigned(__builtin_ctz(wait.mask & ~wait.done));
  record(locate(warp.context, wait.site, lane,
                "this wait never ends: " + describe(*wait.barriers[lane])));
}

} // namespace tsp::emulation
