//===- Watchdog.cpp - waiting for peers, with an eye on them --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/host/Watchdog.h"

using namespace tsp::runtime;

/// Fails when the late rank can not come any more or does nothing for too long.
bool HostCommunicator::watch(tsp_rank &rank, const Flight &flight, int64_t late,
                             Activity activity, const char *what,
                             int64_t idleNs) {
  tsp_rank &other = *flight.group->members[late]->rank;
  const Transfer &mine =
      post(*flight.group, flight.me, flight.number).transfer;
  bool posted =
      post(*flight.group, flight.me, flight.number).number.load() ==
      flight.number + 1;
  std::string transfer =
      (posted ? mine.text() : std::string("transfer")) +
      format(", number %llu of axis '%s'", (unsigned long long)flight.number,
             flight.group->axis.c_str());
  if (activity == Activity::Finished) {
    session.fail(format("rank %lld has ended the program but has not %s %s, in "
                        "which rank %lld waits for it",
                        (long long)other.index, what, transfer.c_str(),
                        (long long)rank.index));
    return false;
  }
  double limit = session.options.watchdog_s * 1e9;
  // A rank that waits itself is late because of another one, which its own
  // watchdog names; only if none does, all wait for each other.
  if (activity == Activity::Waiting)
    limit = limit * 1.25 + 1e9;
  if (limit <= 0 || double(idleNs) < limit)
    return true;
  const char *kernel = other.lastKernel.load();
  const char *collective = other.lastCollective.load();
  std::string doing =
      activity == Activity::Waiting
          ? format("it waits in %s", collective ? collective : "a transfer")
          : format("it computes%s%s", kernel ? ", last kernel " : "",
                   kernel ? kernel : "");
  session.fail(format("rank %lld is late: for %.1f s it has not %s %s, in which "
                      "rank %lld waits for it; %s",
                      (long long)other.index, double(idleNs) / 1e9, what,
                      transfer.c_str(), (long long)rank.index, doing.c_str()));
  return false;
}
