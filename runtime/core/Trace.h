//===- Trace.h - what happened when, for Chrome's viewer --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_TRACE_H
#define TSP_RUNTIME_CORE_TRACE_H

#include <cstdint>
#include <string>
#include <vector>

namespace tsp::runtime {

/// One span. `name` lives as long as the model.
struct TraceEvent {
  const char *name;
  int64_t begin, end; ///< nanoseconds
  int64_t bytes;      ///< received by a collective, -1 for others
};

/// The spans of one thread; only that thread records.
struct TraceTrack {
  std::string name;
  std::vector<TraceEvent> events;
};

/// The tracks of one rank.
using TraceProcess = std::vector<const TraceTrack *>;

/// Text in the Chrome trace format: a process a rank, a thread a track. Times
/// start at `origin`.
std::string traceText(const std::vector<TraceProcess> &ranks, int64_t origin);

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_TRACE_H
