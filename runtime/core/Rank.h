//===- Rank.h - one rank of a context ---------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_RANK_H
#define TSP_RUNTIME_CORE_RANK_H

#include "core/Device.h"
#include "core/Model.h"
#include "core/ThreadPool.h"
#include "core/Transfer.h"

#include <csetjmp>
#include <map>
#include <unordered_map>

namespace tsp::runtime {

class Communicator;
struct Session;

/// What a rank is doing, for the messages about late ranks.
enum class Activity { Idle, Computing, Waiting, Finished };

/// Counts of one kind of collective on one axis.
struct CollectiveCount {
  int64_t count = 0, bytes = 0;
};

} // namespace tsp::runtime

/// One rank: its threads, its memory and its counters. Compiled code runs on
/// the rank's main thread and hands this struct back to the runtime.
struct tsp_rank {
  tsp_rank(tsp::runtime::Session &session, int64_t index, int64_t slot);

  tsp::runtime::Session &session;
  const int64_t index;
  const int64_t slot; ///< number among the ranks of this process
  const std::vector<int64_t> coordinates;

  /// Counts launches and transfers, to tell slow ranks from stuck ones.
  std::atomic<uint64_t> progress{0};
  std::atomic<tsp::runtime::Activity> activity{tsp::runtime::Activity::Idle};
  std::atomic<const char *> lastKernel{nullptr};
  std::atomic<const char *> lastCollective{nullptr};
  tsp::runtime::ThreadPool pool;

  std::unique_ptr<tsp::runtime::Device> device;

  // Memory. Parameters and states live as long as the context; inputs and
  // results as long, one block an entry; the arena is shared by the entries.
  std::unique_ptr<tsp::runtime::Block> persistent, arena;
  std::vector<std::unique_ptr<tsp::runtime::Block>> borders; ///< one an entry
  int64_t parameterBytes = 0;

  // Statistics of the last call, and the time of each.
  std::map<std::pair<int, int>, tsp::runtime::CollectiveCount> counts;
  std::vector<double> runSeconds;
  tsp::runtime::TraceTrack transfers; ///< start to end of each collective

  /// Of tsp_staging.
  char *staging = nullptr;
  int64_t stagingBytes = 0;

  /// Measured nanoseconds of one grid point, by kernel.
  std::unordered_map<tsp_kernel_fn, double> kernelCost;

  /// Where errors inside compiled code return to.
  jmp_buf unwind;

  int64_t axisIndex(int32_t group) const;
  int64_t axisSize(int32_t group) const;

  /// Bytes in use in all of the rank's memory.
  int64_t touchedBytes() const;

  /// "it waits in all_gather" and so on, for the messages about late ranks.
  std::string activityText() const;
};

#endif // TSP_RUNTIME_CORE_RANK_H
