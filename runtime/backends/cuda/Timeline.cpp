//===- Timeline.cpp - what a device does when -----------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/Timeline.h"
#include "core/Sync.h"

using namespace tsp::runtime;
using namespace tsp::runtime::cuda;

Timeline::Timeline(const Driver &driver, bool tracing)
    : driver(driver), isTracing(tracing) {
  kernels.name = "device, kernels";
  transfers.name = "device, transfers";
}

Timeline::~Timeline() {
  forget();
  for (Event event : freeTimed)
    driver.eventDestroy(event);
  for (Event event : freePlain)
    driver.eventDestroy(event);
  if (origin)
    driver.eventDestroy(origin);
}

Event Timeline::take(bool timed) {
  auto &pool = timed ? freeTimed : freePlain;
  Event event = nullptr;
  if (pool.empty()) {
    driver.check(driver.eventCreate(&event, timed ? 0 : eventWithoutTiming),
                 "cuEventCreate");
    return event;
  }
  event = pool.back();
  pool.pop_back();
  return event;
}

void Timeline::begin(Stream stream) {
  launches = 0;
  lastLaunched = lastPassed = nullptr;
  if (!isTracing)
    return;
  if (!origin)
    driver.check(driver.eventCreate(&origin, 0), "cuEventCreate");
  driver.check(driver.eventRecord(origin, stream), "cuEventRecord");
  driver.check(driver.eventSynchronize(origin), "cuEventSynchronize");
  hostOrigin = nowNs();
}

void Timeline::open(Stream stream, int track, const char *name, int64_t bytes) {
  if (!isTracing)
    return;
  Span span{name, track, bytes, take(true), take(true)};
  driver.check(driver.eventRecord(span.begin, stream), "cuEventRecord");
  openSpans.push_back(spans.size());
  spans.push_back(span);
}

void Timeline::close(Stream stream) {
  if (!isTracing)
    return;
  driver.check(driver.eventRecord(spans[openSpans.back()].end, stream),
               "cuEventRecord");
  openSpans.pop_back();
}

void Timeline::launched(Stream stream, const char *kernel) {
  const int64_t interval = 32;
  const size_t most = 64;
  lastLaunched = kernel;
  if (++launches % interval != 0 || marks.size() >= most)
    return;
  Mark mark{kernel, take(false)};
  driver.check(driver.eventRecord(mark.event, stream), "cuEventRecord");
  marks.push_back(mark);
}

bool Timeline::advanced() {
  bool any = false;
  while (!marks.empty() && driver.eventQuery(marks.front().event) == success) {
    lastPassed = marks.front().kernel;
    freePlain.push_back(marks.front().event);
    marks.pop_front();
    any = true;
  }
  return any;
}

std::string Timeline::pendingText() const {
  std::string out = lastPassed ? std::string("after kernel ") + lastPassed : "";
  if (lastLaunched)
    out +=
        (out.empty() ? "" : ", ") + std::string("up to kernel ") + lastLaunched;
  return out.empty() ? "before any kernel" : out;
}

void Timeline::finish() {
  for (const Span &span : spans) {
    float begin = 0, end = 0; // milliseconds
    driver.check(driver.eventElapsedTime(&begin, origin, span.begin),
                 "cuEventElapsedTime");
    driver.check(driver.eventElapsedTime(&end, origin, span.end),
                 "cuEventElapsedTime");
    (span.track == 0 ? kernels : transfers)
        .events.push_back({span.name, hostOrigin + int64_t(begin * 1e6),
                           hostOrigin + int64_t(end * 1e6), span.bytes});
  }
  forget();
}

void Timeline::forget() {
  for (const Span &span : spans) {
    freeTimed.push_back(span.begin);
    freeTimed.push_back(span.end);
  }
  spans.clear();
  openSpans.clear();
  for (const Mark &mark : marks)
    freePlain.push_back(mark.event);
  marks.clear();
}
