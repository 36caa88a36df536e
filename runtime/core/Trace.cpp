//===- Trace.cpp - what happened when, for Chrome's viewer ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Trace.h"
#include "core/Json.h"

#include <algorithm>
#include <map>

using namespace tsp::runtime;

/// When a rank's kernels run: spans that do not overlap, in order.
static std::vector<std::pair<int64_t, int64_t>>
findBusyTime(const TraceProcess &tracks) {
  std::vector<std::pair<int64_t, int64_t>> spans, merged;
  for (const TraceTrack *track : tracks)
    for (const TraceEvent &event : track->events)
      if (event.bytes < 0 && event.name != traceWait &&
          event.name != traceStart)
        spans.push_back({event.begin, event.end});
  std::sort(spans.begin(), spans.end());
  for (const auto &span : spans) {
    if (merged.empty() || span.first > merged.back().second)
      merged.push_back(span);
    else
      merged.back().second = std::max(merged.back().second, span.second);
  }
  return merged;
}

std::vector<TracedTransfer>
tsp::runtime::findTransfers(const TraceProcess &tracks) {
  std::vector<TracedTransfer> transfers;
  for (const TraceTrack *track : tracks)
    for (const TraceEvent &event : track->events)
      if (event.bytes >= 0)
        transfers.push_back({&event, event.end - event.begin});
  auto busy = findBusyTime(tracks);
  for (TracedTransfer &transfer : transfers) {
    int64_t begin = transfer.event->begin, end = transfer.event->end;
    // The first span that ends behind the begin.
    auto span =
        std::partition_point(busy.begin(), busy.end(), [&](const auto &each) {
          return each.second <= begin;
        });
    for (; span != busy.end() && span->first < end; ++span)
      transfer.exposed -=
          std::min(end, span->second) - std::max(begin, span->first);
  }
  std::sort(transfers.begin(), transfers.end(),
            [](const TracedTransfer &a, const TracedTransfer &b) {
              return a.event->begin < b.event->begin;
            });
  return transfers;
}

std::string tsp::runtime::traceHeader() {
  return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
}

std::string tsp::runtime::traceFooter() { return "\n]}\n"; }

std::string
tsp::runtime::traceEvents(const std::vector<TraceProcess> &processes,
                          int64_t firstRank, int64_t origin) {
  std::string out;
  const char *separator = "";
  auto addName = [&](const char *what, size_t rank, size_t thread,
                     const std::string &name) {
    out += separator;
    out += format("{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%zu,\"tid\":%zu,"
                  "\"args\":{\"name\":%s}}",
                  what, rank, thread, jsonString(name).c_str());
    separator = ",\n";
  };
  for (size_t i = 0; i < processes.size(); ++i) {
    size_t rank = size_t(firstRank) + i;
    std::map<const TraceEvent *, int64_t> exposed;
    for (const TracedTransfer &transfer : findTransfers(processes[i]))
      exposed[transfer.event] = transfer.exposed;
    addName("process_name", rank, 0, format("rank %zu", rank));
    for (size_t thread = 0; thread < processes[i].size(); ++thread) {
      const TraceTrack &track = *processes[i][thread];
      addName("thread_name", rank, thread, track.name);
      for (const TraceEvent &event : track.events) {
        out += separator;
        out += format("{\"ph\":\"X\",\"name\":%s,\"pid\":%zu,\"tid\":%zu,"
                      "\"ts\":%.3f,\"dur\":%.3f",
                      jsonString(event.name).c_str(), rank, thread,
                      double(event.begin - origin) / 1e3,
                      double(event.end - event.begin) / 1e3);
        if (event.bytes >= 0)
          out += format(",\"args\":{\"bytes\":%lld,\"exposed_us\":%.3f}",
                        (long long)event.bytes, double(exposed[&event]) / 1e3);
        out += "}";
      }
    }
  }
  return out;
}
