//===- Link.cpp - simulated links between devices -------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nccl/Link.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

using namespace tsp::emulation;

namespace {
struct Link {
  double bytesPerNs = 0;
  double latencyNs = 0;
  const char *error = nullptr;
};
} // namespace

static Link readLink() {
  Link link;
  const char *text = getenv("TSP_EMULATED_LINK");
  if (!text || !*text)
    return link;
  double gigabytes, microseconds;
  char rest;
  int read = sscanf(text, "%lf,%lf%c", &gigabytes, &microseconds, &rest);
  if (read != 2 || !(gigabytes > 0) || !(microseconds >= 0)) {
    link.error = "TSP_EMULATED_LINK: expected GB/s,us, such as 25,5";
    return link;
  }
  link.bytesPerNs = gigabytes;
  link.latencyNs = microseconds * 1000;
  return link;
}

static const Link &theLink() {
  static const Link link = readLink();
  return link;
}

const char *tsp::emulation::linkError() { return theLink().error; }

int64_t tsp::emulation::monotonicNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t tsp::emulation::deliveryTimeNs(int device, size_t bytes) {
  // Never destroyed: transfers may still run when main() has returned.
  static auto &mutex = *new std::mutex;
  static auto &busyUntil = *new std::map<int, int64_t>;
  int64_t now = monotonicNs();
  const Link &link = theLink();
  if (link.bytesPerNs == 0)
    return now;
  std::lock_guard<std::mutex> lock(mutex);
  int64_t &busy = busyUntil[device];
  busy = std::max(busy, now) + int64_t(double(bytes) / link.bytesPerNs);
  return busy + int64_t(link.latencyNs);
}
