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

/// Events in the Chrome trace format, with commas between them: a process a
/// rank, the first being `firstRank`, a thread a track. Times start at
/// `origin`.
std::string traceEvents(const std::vector<TraceProcess> &ranks,
                        int64_t firstRank, int64_t origin);

/// What stands before and after the events.
std::string traceHeader();
std::string traceFooter();

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_TRACE_H
