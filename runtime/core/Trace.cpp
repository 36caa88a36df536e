//===- Trace.cpp - what happened when, for Chrome's viewer ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Trace.h"
#include "core/Json.h"

using namespace tsp::runtime;

std::string tsp::runtime::traceText(const std::vector<TraceProcess> &ranks,
                                    int64_t origin) {
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  const char *separator = "";
  auto addName = [&](const char *what, size_t rank, size_t thread,
                     const std::string &name) {
    out += separator;
    out += format("{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%zu,\"tid\":%zu,"
                  "\"args\":{\"name\":%s}}",
                  what, rank, thread, jsonString(name).c_str());
    separator = ",\n";
  };
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    addName("process_name", rank, 0, format("rank %zu", rank));
    for (size_t thread = 0; thread < ranks[rank].size(); ++thread) {
      const TraceTrack &track = *ranks[rank][thread];
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
  return out + "\n]}\n";
}
