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

/// Names of the spans in which a thread or a stream waits for a transfer, and
/// of the points at which a stream comes to the start of one. All others
/// without bytes are work.
inline constexpr char traceWait[] = "wait", traceStart[] = "start";

/// The spans of one thread; only that thread records.
struct TraceTrack {
  std::string name;
  std::vector<TraceEvent> events;
};

/// The tracks of one rank.
using TraceProcess = std::vector<const TraceTrack *>;

/// A transfer with the part of its time in which the rank ran no kernel.
struct TracedTransfer {
  const TraceEvent *event;
  int64_t exposed; ///< nanoseconds
};

/// The transfers of a rank, in the order of their begins.
std::vector<TracedTransfer> findTransfers(const TraceProcess &tracks);

/// Events in the Chrome trace format, with commas between them: a process a
/// rank, the first being `firstRank`, a thread a track. Times start at
/// `origin`. Transfers have their bytes, and how long they were exposed.
std::string traceEvents(const std::vector<TraceProcess> &ranks,
                        int64_t firstRank, int64_t origin);

/// What stands before and after the events.
std::string traceHeader();
std::string traceFooter();

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_TRACE_H
