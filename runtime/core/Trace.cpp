//===- Trace.cpp - what happened when, for Chrome's viewer ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Trace.h"
#include "core/Json.h"

using namespace tsp::runtime;

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
          out += format(",\"args\":{\"bytes\":%lld}", (long long)event.bytes);
        out += "}";
      }
    }
  }
  return out;
}
