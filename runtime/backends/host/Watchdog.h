//===- Watchdog.h - waiting for peers, with an eye on them ------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_BACKENDS_HOST_WATCHDOG_H
#define TSP_RUNTIME_BACKENDS_HOST_WATCHDOG_H

#include "backends/host/HostCommunicator.h"

namespace tsp::runtime {

template <typename Ready>
bool HostCommunicator::waitUntil(tsp_rank &rank, const Flight &flight,
                                 int64_t late, const char *what, Ready ready) {
  if (ready())
    return !session.failed();
  if (session.spin)
    for (int i = 0; i < 2000; ++i) {
      cpuRelax();
      if (ready())
        return !session.failed();
    }
  tsp_rank &other = *flight.group->members[late]->rank;
  uint64_t lastProgress = other.progress.load();
  int64_t lastChange = nowNs();
  Local &local = *locals[rank.index];
  Doorbell &bell = local.bell;
  while (true) {
    local.waitsFor.store(&other);
    uint32_t ticket = bell.ticket();
    bool isReady = ready();
    if (session.failed() || isReady) {
      local.waitsFor.store(nullptr);
      return !session.failed();
    }
    bell.sleep(ticket, 50000000);
    uint64_t progress = other.progress.load();
    if (progress != lastProgress || session.options.watchdog_s <= 0) {
      lastProgress = progress;
      lastChange = nowNs();
    }
    // Read before `ready`: what a finished rank did is visible then.
    Activity activity = other.activity.load();
    int64_t idle = nowNs() - lastChange;
    if ((activity == Activity::Finished || idle > 50000000) && !ready() &&
        !watch(rank, flight, late, activity, what, idle))
      return false;
  }
}

} // namespace tsp::runtime

#endif // TSP_RUNTIME_BACKENDS_HOST_WATCHDOG_H
