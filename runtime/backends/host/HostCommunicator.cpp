//===- HostCommunicator.cpp - ranks are threads of this process -----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/host/HostCommunicator.h"

using namespace tsp::runtime;

bool HostCommunicator::complete(tsp_rank &rank, const Flight &flight,
                                tsp_event event) {
  Post &own = ownPost(flight);
  int64_t begin = nowNs();
  for (int64_t peer : sources(flight, own.transfer))
    if (!waitPosted(rank, flight, peer))
      return false;
  if (session.options.link_gbps > 0 && !waitLink(rank, event))
    return false;
  if (!(own.transfer.kind == Collective::AllReduce
            ? reduceAll(rank, flight, own)
            : pull(rank, flight, own)))
    return false;
  if (session.tracing()) {
    const char *name = collectiveName(own.transfer.kind);
    rank.transfers.events.push_back(
        {name, own.time, nowNs(), own.transfer.bytesReceived(flight.me)});
    rank.pool.track(0).events.push_back({traceWait, begin, nowNs(), -1});
  }
  return true;
}

bool HostCommunicator::waitLink(tsp_rank &rank, tsp_event event) {
  const tsp_options &options = session.options;
  Local &local = localOf(rank);
  // The link delivers in the order of the starts.
  for (int64_t i = 0; i <= event - local.firstFlight; ++i) {
    Flight &flight = local.flights[i];
    if (flight.linkEnd >= 0)
      continue;
    Post &own = ownPost(flight);
    int64_t ready = own.time;
    for (int64_t peer : sources(flight, own.transfer)) {
      if (!waitPosted(rank, flight, peer))
        return false;
      ready = std::max(ready, post(*flight.group, peer, flight.number).time);
    }
    int64_t bytes = own.transfer.bytesReceived(flight.me);
    ready = std::max(ready, local.linkFree);
    if (bytes > 0) {
      local.linkFree = ready + int64_t(double(bytes) / options.link_gbps);
      flight.linkEnd = local.linkFree + int64_t(options.link_us * 1e3);
    } else {
      flight.linkEnd = ready;
    }
  }
  int64_t end = local.flights[event - local.firstFlight].linkEnd;
  while (!session.failed()) {
    uint32_t ticket = local.bell.ticket();
    int64_t left = end - nowNs();
    if (left <= 0)
      return true;
    if (!session.failed())
      local.bell.sleep(ticket, std::min<int64_t>(left, 100000000));
    rank.progress.fetch_add(1, std::memory_order_relaxed);
  }
  return false;
}
