//===- BlockRunner.h - runs blocks of a launch --------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_BLOCKRUNNER_H
#define TSP_EMULATION_EXEC_BLOCKRUNNER_H

#include "Engine.h"
#include "exec/Checker.h"
#include "exec/Fiber.h"
#include "exec/WarpContext.h"
#include "exec/Wgmma.h"
#include "jit/Program.h"

#include <atomic>
#include <deque>
#include <mutex>
#include <random>

namespace tsp::emulation {

/// A launch as all workers see it.
struct LaunchState {
  LaunchState(const CompiledKernel &kernel, KernelEntry entry,
              const Launch &launch, uint8_t *variables, uint64_t variableBytes,
              bool checker)
      : kernel(kernel), entry(entry), launch(launch), variables(variables),
        variableBytes(variableBytes), checker(checker) {}

  const CompiledKernel &kernel;
  KernelEntry entry;
  const Launch &launch;
  uint8_t *variables;
  uint64_t variableBytes;
  bool checker;

  std::atomic<uint64_t> nextBlock{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  /// Of the lowest block that faulted.
  uint64_t faultBlock = ~uint64_t(0);
  std::string fault;
  Counters counters;

  uint64_t blocks() const {
    return uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  }
};

/// One cp.async of a warp, not done yet.
struct PendingCopy {
  uint32_t site;
  uint32_t mask;
  /// The number of the group that it belongs to.
  uint32_t group;
  uint64_t to[warpSize];
  uint64_t from[warpSize];
  uint32_t sourceBytes[warpSize];
};

struct Warp {
  enum class State : uint8_t { Ready, Waiting, Done };
  WarpContext context;
  State state = State::Ready;
  unsigned barrier = 0;
  uint32_t barrierSite = 0;
  uint32_t barrierResult = 0;
  std::deque<PendingCopy> copies;
  uint32_t groups = 0;
  Products products;
};

class BlockRunner {
public:
  explicit BlockRunner(LaunchState &state);
  ~BlockRunner();

  /// Takes blocks until none is left or one has faulted.
  void runAll();

  // For helpers, on a warp's fiber.
  const Site &site(uint32_t index) const { return state.kernel.sites[index]; }
  Warp &warpOf(const WarpContext *context) { return warps[context->warp]; }
  /// Null unless the launch is checked.
  Checker *checker() { return check.get(); }
  [[noreturn]] void fault(const WarpContext &context, uint32_t site,
                          unsigned lane, const std::string &message);
  uint32_t barrier(WarpContext &context, uint32_t site, uint32_t mask,
                   uint32_t id, uint32_t threads, uint32_t predicate);
  /// Faults unless all lanes may access `bytes` at their addresses, aligned to
  /// `alignment`. Returns what must be added to make host addresses of them.
  uint64_t checkAccess(const WarpContext &context, uint32_t site, uint32_t mask,
                       const uint64_t *addresses, unsigned bytes,
                       unsigned alignment, ptx::Space space);
  const uint8_t *sharedMemory() const { return shared; }
  uint32_t sharedSize() const { return totalShared; }

private:
  struct Barrier {
    uint32_t arrivedWarps = 0;
    uint32_t expectedWarps = 0;
    uint32_t count = 0;
    bool every = true;
    bool any = false;
  };
  void runBlock(uint64_t number);
  void startWarps(uint64_t number);
  bool runReadyWarps();
  void releaseComplete();
  void reportDeadlock();
  void checkLane(const WarpContext &context, uint32_t site, unsigned lane,
                 uint64_t address, unsigned bytes, ptx::Space space);
  std::string describeMiss(uint64_t address, unsigned bytes) const;
  void record(uint64_t block, std::string message);

  LaunchState &state;
  uint64_t blockNumber = 0;
  std::vector<Warp> warps;
  std::vector<std::unique_ptr<Fiber>> &fibers;
  std::vector<uint8_t> sharedBytes;
  uint8_t *shared = nullptr;
  uint32_t totalShared = 0;
  /// The allocation that each site touched last.
  std::vector<Range> ranges;
  Barrier barriers[numBarriers];
  std::unique_ptr<Checker> check;
  std::mt19937_64 random;
  bool faulted = false;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_BLOCKRUNNER_H
