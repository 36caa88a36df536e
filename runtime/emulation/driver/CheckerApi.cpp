//===- CheckerApi.cpp - what the checker counted --------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An addition to the driver API for tests: found by dlsym where the emulation
// stands in for libcuda.so.1, absent from the real one.
//
//===----------------------------------------------------------------------===//

#include "Engine.h"

/// Writes what the checked launches of kernels of this name have counted so
/// far: requests to shared memory and the passes they took, requests to global
/// memory, sectors they touched and the fewest possible.
extern "C" void tspEmulationCounters(const char *kernel, uint64_t counters[5]) {
  tsp::emulation::Counters totals = tsp::emulation::countersOf(kernel);
  counters[0] = totals.sharedRequests;
  counters[1] = totals.sharedPasses;
  counters[2] = totals.globalRequests;
  counters[3] = totals.globalSectors;
  counters[4] = totals.globalIdealSectors;
}
