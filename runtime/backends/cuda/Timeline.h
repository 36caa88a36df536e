//===- Timeline.h - what a device does when ---------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_BACKENDS_CUDA_TIMELINE_H
#define TSP_RUNTIME_BACKENDS_CUDA_TIMELINE_H

#include "backends/cuda/Driver.h"
#include "core/Trace.h"

#include <deque>

namespace tsp::runtime::cuda {

/// Watches one rank's streams by events among their work: spans for the trace,
/// and marks that tell a device which is slow from one which is stuck.
class Timeline {
public:
  Timeline(const Driver &driver, bool tracing);
  ~Timeline();

  bool tracing() const { return isTracing; }

  /// Before a call; ties the device's clock to the host's.
  void begin(Stream stream);

  /// Around work that is put on a stream, when tracing.
  struct Span {
    const char *name;
    int track; ///< 0: kernels, 1: transfers
    int64_t bytes;
    Event begin, end;
  };
  void open(Stream stream, int track, const char *name, int64_t bytes);
  void close(Stream stream);

  /// Notes a launch; every now and then leaves a mark behind it.
  void launched(Stream stream, const char *kernel);

  /// Whether marks were passed since the last look.
  bool advanced();
  /// "after kernel a, up to kernel b" of what is not known to be done.
  std::string pendingText() const;

  /// After a call whose work is done: makes events of the spans.
  void finish();
  /// After one that failed.
  void forget();

  TraceTrack kernels, transfers;

private:
  struct Mark {
    const char *kernel;
    Event event;
  };
  Event take(bool timed);

  const Driver &driver;
  const bool isTracing;
  std::vector<Event> freeTimed, freePlain;
  std::vector<Span> spans;
  std::vector<size_t> openSpans;
  std::deque<Mark> marks;
  int64_t launches = 0, hostOrigin = 0;
  Event origin = nullptr;
  const char *lastLaunched = nullptr, *lastPassed = nullptr;
};

} // namespace tsp::runtime::cuda

#endif // TSP_RUNTIME_BACKENDS_CUDA_TIMELINE_H
