//===- BlockRunner.cpp - runs blocks of a launch --------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/BlockRunner.h"
#include "exec/Clones.h"

#include <algorithm>
#include <cstring>

namespace tsp::emulation {

/// Stacks are kept by each worker: mapping them anew would cost more than most
/// blocks.
static std::vector<std::unique_ptr<Fiber>> &fibersOfThread() {
  static thread_local std::vector<std::unique_ptr<Fiber>> fibers;
  return fibers;
}

BlockRunner::BlockRunner(LaunchState &state)
    : state(state), fibers(fibersOfThread()),
      ranges(state.kernel.sites.size()) {
  const Launch &launch = state.launch;
  uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  warps.resize((threads + warpSize - 1) / warpSize);
  while (fibers.size() < warps.size())
    fibers.push_back(std::make_unique<Fiber>());

  totalShared = state.kernel.description.staticSharedBytes;
  if (launch.dynamicSharedBytes)
    totalShared =
        uint32_t(state.kernel.dynamicOffset) + launch.dynamicSharedBytes;
  // Hardware aligns shared memory at least so far.
  constexpr size_t alignment = 1024;
  sharedBytes.resize(totalShared + alignment);
  uint64_t base = reinterpret_cast<uint64_t>(sharedBytes.data());
  shared = reinterpret_cast<uint8_t *>((base + alignment - 1) / alignment *
                                       alignment);

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
    for (unsigned axis = 0; axis < 3; ++axis) {
      context.blockSize[axis] = launch.block[axis];
      context.gridSize[axis] = launch.grid[axis];
    }
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      uint32_t thread = w * warpSize + lane;
      context.thread[0][lane] = thread % launch.block[0];
      context.thread[1][lane] = thread / launch.block[0] % launch.block[1];
      context.thread[2][lane] = thread / launch.block[0] / launch.block[1];
    }
  }
  if (state.checker)
    check = std::make_unique<Checker>(*this, unsigned(warps.size()), shared,
                                      totalShared);
}

BlockRunner::~BlockRunner() {
  if (!check)
    return;
  std::lock_guard<std::mutex> lock(state.mutex);
  state.counters += check->counters;
}

void BlockRunner::runAll() {
  uint64_t blocks = state.blocks();
  while (!state.failed) {
    uint64_t number = state.nextBlock++;
    if (number >= blocks)
      return;
    runBlock(number);
  }
}

void BlockRunner::startWarps(uint64_t number) {
  const Launch &launch = state.launch;
  blockNumber = number;
  uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  // Not zeros: what a kernel forgets to write must show, as NaN where it can.
  std::memset(shared, 0xff, totalShared);
  for (Barrier &barrier : barriers)
    barrier = Barrier();
  if (check)
    check->startBlock();
  for (uint32_t w = 0; w < warps.size(); ++w) {
    Warp &warp = warps[w];
    uint32_t lanes = std::min(warpSize, threads - w * warpSize);
    warp.context.live =
        lanes == warpSize ? ~uint32_t(0) : (uint32_t(1) << lanes) - 1;
    warp.context.blockIndex[0] = uint32_t(number % launch.grid[0]);
    warp.context.blockIndex[1] =
        uint32_t(number / launch.grid[0] % launch.grid[1]);
    warp.context.blockIndex[2] =
        uint32_t(number / launch.grid[0] / launch.grid[1]);
    warp.state = Warp::State::Ready;
    warp.context.dispatches = 0;
    warp.copies.clear();
    warp.groups = 0;
    warp.products = Products();
    fibers[w]->start(
        [](void *argument) {
          auto &warp = *static_cast<Warp *>(argument);
          BlockRunner &runner = *warp.context.block;
          runner.state.entry(&warp.context);
          warp.state = Warp::State::Done;
          runner.fibers[warp.context.warp]->finish();
        },
        &warp);
  }
  if (launch.seed)
    random.seed(launch.seed * 0x9e3779b97f4a7c15u + number);
}

bool BlockRunner::runReadyWarps() {
  std::vector<uint32_t> ready;
  for (uint32_t w = 0; w < warps.size(); ++w)
    if (warps[w].state == Warp::State::Ready)
      ready.push_back(w);
  if (state.launch.seed)
    std::shuffle(ready.begin(), ready.end(), random);
  for (uint32_t w : ready) {
    fibers[w]->resume();
    if (faulted)
      return false;
  }
  return !ready.empty();
}

void BlockRunner::runBlock(uint64_t number) {
  startWarps(number);
  while (true) {
    bool ran = runReadyWarps();
    if (faulted)
      return;
    releaseComplete();
    if (ran)
      continue;
    bool allDone =
        std::all_of(warps.begin(), warps.end(), [](const Warp &warp) {
          return warp.state == Warp::State::Done;
        });
    bool anyReady =
        std::any_of(warps.begin(), warps.end(), [](const Warp &warp) {
          return warp.state == Warp::State::Ready;
        });
    if (allDone)
      return;
    if (!anyReady)
      return reportDeadlock();
  }
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
  warp.state = Warp::State::Waiting;
  warp.barrier = id;
  warp.barrierSite = siteIndex;
  fibers[context.warp]->suspend();
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
      if (warp.state != Warp::State::Waiting || warp.barrier != id)
        continue;
      BarrierKind kind = BarrierKind(site(warp.barrierSite).operation);
      warp.barrierResult = kind == BarrierKind::Popc  ? barrier.count
                           : kind == BarrierKind::And ? barrier.every
                                                      : barrier.any;
      warp.state = Warp::State::Ready;
      if (check)
        check->leave(warp.context.warp, id);
    }
    if (check)
      check->resetBarrier(id);
    barrier = Barrier();
  }
}

void BlockRunner::reportDeadlock() {
  std::string message;
  for (const Warp &warp : warps)
    if (warp.state == Warp::State::Waiting) {
      const Site &where = site(warp.barrierSite);
      message = "PTX line " + std::to_string(where.line) + " (" +
                where.spelling + "): warp " +
                std::to_string(warp.context.warp) + " waits at barrier " +
                std::to_string(warp.barrier) + " for threads that never arrive";
      break;
    }
  const uint32_t *index = warps[0].context.blockIndex;
  message += ": block (" + std::to_string(index[0]) + "," +
             std::to_string(index[1]) + "," + std::to_string(index[2]) +
             ") of kernel '" + state.kernel.description.name + "'";
  record(blockNumber, std::move(message));
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

void BlockRunner::record(uint64_t block, std::string message) {
  std::lock_guard<std::mutex> lock(state.mutex);
  faulted = true;
  state.failed = true;
  if (block < state.faultBlock) {
    state.faultBlock = block;
    state.fault = std::move(message);
  }
}

void BlockRunner::fault(const WarpContext &context, uint32_t siteIndex,
                        unsigned lane, const std::string &message) {
  {
    // Its strings must be gone before the stack is left for good.
    const Site &where = site(siteIndex);
    auto triple = [](uint32_t x, uint32_t y, uint32_t z) {
      return "(" + std::to_string(x) + "," + std::to_string(y) + "," +
             std::to_string(z) + ")";
    };
    std::string text = "PTX line " + std::to_string(where.line) + " (" +
                       where.spelling + "): " + message + ": block " +
                       triple(context.blockIndex[0], context.blockIndex[1],
                              context.blockIndex[2]) +
                       ", thread " +
                       triple(context.thread[0][lane], context.thread[1][lane],
                              context.thread[2][lane]) +
                       " of kernel '" + state.kernel.description.name + "'";
    record(blockNumber, std::move(text));
  }
  fibers[context.warp]->finish();
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

static const char *spaceName(ptx::Space space) {
  switch (space) {
  case ptx::Space::Global:
    return "global";
  case ptx::Space::Shared:
    return "shared";
  case ptx::Space::Local:
    return "local";
  case ptx::Space::Param:
    return "parameter";
  case ptx::Space::Const:
    return "constant";
  case ptx::Space::Generic:
    break;
  }
  return "generic";
}

static std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

std::string BlockRunner::describeMiss(uint64_t address, unsigned bytes) const {
  if (!state.launch.memory)
    return "";
  for (uint64_t distance :
       {uint64_t(bytes), uint64_t(64), uint64_t(1024), uint64_t(65536)}) {
    if (Range range = state.launch.memory(address - distance);
        range.begin != range.end)
      return ", " + std::to_string(address - range.end) +
             " bytes past the end of an allocation of " +
             std::to_string(range.end - range.begin) + " bytes";
    if (Range range = state.launch.memory(address + distance);
        range.begin != range.end)
      return ", " + std::to_string(range.begin - address) +
             " bytes before an allocation of " +
             std::to_string(range.end - range.begin) + " bytes";
  }
  return "";
}

/// Finds the range of one lane's address, for the site's next access, or
/// faults.
void BlockRunner::checkLane(const WarpContext &context, uint32_t siteIndex,
                            unsigned lane, uint64_t address, unsigned bytes,
                            ptx::Space space) {
  auto inside = [&](uint64_t begin, uint64_t size) {
    return address >= begin && address - begin < size &&
           size - (address - begin) >= bytes;
  };
  Range &range = ranges[siteIndex];
  auto found = [&](uint64_t begin, uint64_t size) {
    range = {begin, begin + size};
  };
  if (inside(range.begin, range.end - range.begin))
    return;
  uint64_t variables = reinterpret_cast<uint64_t>(state.variables);
  if (space != ptx::Space::Local && inside(variables, state.variableBytes))
    return found(variables, state.variableBytes);
  uint64_t parameters = reinterpret_cast<uint64_t>(state.launch.parameters);
  uint64_t parameterBytes = state.kernel.description.parameterBytes;
  bool mayBeOwn = space == ptx::Space::Generic || space == ptx::Space::Local ||
                  space == ptx::Space::Param;
  if (mayBeOwn && inside(parameters, parameterBytes))
    return found(parameters, parameterBytes);
  // A lane's own memory is on its warp's stack.
  const Fiber &own = *fibers[context.warp];
  if (mayBeOwn && inside(own.stackBegin(), Fiber::stackBytes))
    return found(own.stackBegin(), Fiber::stackBytes);
  uint64_t sharedBase = reinterpret_cast<uint64_t>(shared);
  if (space == ptx::Space::Generic && inside(sharedBase, totalShared))
    return;
  if (space == ptx::Space::Global || space == ptx::Space::Generic ||
      space == ptx::Space::Const) {
    Range allocation =
        state.launch.memory ? state.launch.memory(address) : Range();
    if (inside(allocation.begin, allocation.end - allocation.begin))
      return found(allocation.begin, allocation.end - allocation.begin);
  }
  fault(context, siteIndex, lane,
        "access of " + std::to_string(bytes) + " bytes at " + spaceName(space) +
            " address " + hex(address) + " is out of bounds" +
            describeMiss(address, bytes));
}

/// True when an address of any lane, also of those that take no part, is not in
/// [begin, begin + last] or not aligned.
TSP_CLONES static bool mayFault(const uint64_t *addresses, uint64_t begin,
                                uint64_t last, uint64_t alignment) {
  uint64_t bad = 0;
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    uint64_t offset = addresses[lane] - begin;
    bad |= uint64_t(offset > last) | (addresses[lane] & (alignment - 1));
  }
  return bad != 0;
}

uint64_t BlockRunner::checkAccess(const WarpContext &context,
                                  uint32_t siteIndex, uint32_t mask,
                                  const uint64_t *addresses, unsigned bytes,
                                  unsigned alignment, ptx::Space space) {
  uint64_t begin = 0, last;
  bool isShared = space == ptx::Space::Shared;
  if (isShared) {
    last = totalShared >= bytes ? totalShared - bytes : 0;
  } else {
    const Range &range = ranges[siteIndex];
    begin = range.begin;
    last =
        range.end - range.begin >= bytes ? range.end - range.begin - bytes : 0;
  }
  uint64_t base = isShared ? reinterpret_cast<uint64_t>(shared) : 0;
  // Nothing is known yet, or the range is less than one access.
  uint64_t size = isShared ? totalShared : ranges[siteIndex].end - begin;
  bool isKnown = size >= bytes;
  if (isKnown && !mayFault(addresses, begin, last, alignment))
    return base;
  uint32_t outside = 0, misaligned = 0;
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    outside |= uint32_t(addresses[lane] - begin > last) << lane;
    misaligned |= uint32_t((addresses[lane] & (alignment - 1)) != 0) << lane;
  }
  if (!isKnown)
    outside = ~uint32_t(0);
  if (misaligned & mask) {
    unsigned lane = unsigned(__builtin_ctz(misaligned & mask));
    fault(context, siteIndex, lane,
          "access of " + std::to_string(bytes) + " bytes at " +
              spaceName(space) + " address " + hex(addresses[lane]) +
              " is misaligned");
  }
  for (uint32_t rest = outside & mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    if (isShared)
      fault(context, siteIndex, lane,
            "access of " + std::to_string(bytes) + " bytes at shared address " +
                hex(addresses[lane]) + " is out of bounds: the block has " +
                std::to_string(totalShared) + " bytes");
    checkLane(context, siteIndex, lane, addresses[lane], bytes, space);
  }
  return base;
}

} // namespace tsp::emulation
