//===- CudaRun.cpp - calls of entries on a CUDA device --------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/CudaUpload.h"

#include <algorithm>
#include <chrono>
#include <utility>

using namespace tsp::runtime;
using namespace tsp::runtime::cuda;

bool CudaDevice::drain(Stream stream) {
  Session &session = rank.session;
  const int64_t begin = nowNs();
  int64_t lastChange = begin, failedAt = 0;
  while (true) {
    Result result = driver().streamQuery(stream);
    if (result == success)
      return !session.failed();
    if (result != notReady) {
      // The context is broken for good, whatever it was.
      session.fail(format("rank %lld: %s stopped %s: %s", (long long)rank.index,
                          device.name.c_str(), times->pendingText().c_str(),
                          driver().text(result).c_str()));
      session.markLost();
      return false;
    }
    if (times->advanced()) {
      lastChange = nowNs();
      rank.progress.fetch_add(1, std::memory_order_relaxed);
    }
    if (!session.failed())
      session.communicator->poll(rank);
    // Process 0 sees who is late; this is for when it does not.
    double limit = session.options.watchdog_s;
    if (session.roster && limit > 0)
      limit = 2 * limit + 2;
    if (session.failed()) {
      // Work that waits for nobody ends by itself; give it time.
      failedAt = failedAt ? failedAt : nowNs();
      const double patience = 5;
      if (double(nowNs() - failedAt) > patience * 1e9) {
        session.markLost();
        return false;
      }
    } else if (limit > 0 && double(nowNs() - lastChange) > limit * 1e9) {
      std::string waiting = session.communicator->waitingText(rank);
      session.fail(format("rank %lld: for %.1f s %s has done nothing, %s%s",
                          (long long)rank.index, limit, device.name.c_str(),
                          times->pendingText().c_str(),
                          waiting.empty() ? "" : ("; " + waiting).c_str()));
    }
    // Short work is polled for; longer work is slept for, for one part in fifty
    // of the time it has taken so far.
    int64_t waited = nowNs() - begin;
    if (waited < 50000) {
      cpuRelax();
      continue;
    }
    timespec pause{0, long(std::min<int64_t>(waited / 50, 1000000))};
    nanosleep(&pause, nullptr);
  }
}

bool CudaDevice::finish() {
  bool compute = drain(streams[TSP_STREAM_COMPUTE]);
  bool comm = drain(streams[TSP_STREAM_COMM]);
  return compute && comm;
}

bool CudaDevice::run(int entry, void (*code)(void *), void *context) {
  Stream compute = streams[TSP_STREAM_COMPUTE];
  times->begin(compute);
  if (rank.session.options.graphs) {
    std::unique_lock<std::timed_mutex> lock(graphsMutex);
    RecordedGraph &graph = graphs[entry];
    lock.unlock();
    if (!runGraph(graph, code, context))
      return false;
  } else {
    code(context);
  }
  bool done = finish();
  if (done)
    times->finish();
  else
    times->forget();
  return done;
}

/// The first call runs as always: it loads the code and allocates what is made
/// on first use. The second one is recorded; from then on the graph runs.
bool CudaDevice::runGraph(RecordedGraph &graph, void (*code)(void *),
                          void *context) {
  ++graph.calls;
  if (graph.calls == 1) {
    code(context);
    graph.counts = rank.counts;
    return !rank.session.failed();
  }
  if (!graph.exec && !record(graph, code, context))
    return false;
  rank.counts = graph.counts;
  launchGraph(graph);
  return true;
}

bool CudaDevice::record(RecordedGraph &graph, void (*code)(void *),
                        void *context) {
  Stream compute = streams[TSP_STREAM_COMPUTE];
  Stream comm = streams[TSP_STREAM_COMM];
  check(driver().streamBeginCapture(compute, captureRelaxed),
        "cuStreamBeginCapture");
  isCapturing = true;
  // The second stream joins here and comes back at the end.
  Event fork = makeEvent(), join = makeEvent();
  check(driver().eventRecord(fork, compute), "cuEventRecord");
  check(driver().streamWaitEvent(comm, fork, 0), "cuStreamWaitEvent");
  code(context);
  Graph captured = nullptr;
  driver().eventRecord(join, comm);
  driver().streamWaitEvent(compute, join, 0);
  Result result = driver().streamEndCapture(compute, &captured);
  isCapturing = false;
  if (!rank.session.failed() && result == success) {
    std::lock_guard<std::timed_mutex> lock(graphsMutex);
    if (!areGraphsDropped)
      result = driver().graphInstantiate(&graph.exec, captured, 0);
  }
  if (captured)
    driver().graphDestroy(captured);
  if (rank.session.failed())
    return false;
  check(result, "recording a graph");
  return true;
}

void CudaDevice::launchGraph(RecordedGraph &graph) {
  std::lock_guard<std::timed_mutex> lock(graphsMutex);
  if (areGraphsDropped)
    throw Error("stopped");
  check(driver().graphLaunch(graph.exec, streams[TSP_STREAM_COMPUTE]),
        "cuGraphLaunch");
}

void CudaDevice::dropGraphs() {
  std::unique_lock<std::timed_mutex> lock(graphsMutex, std::chrono::seconds(1));
  if (!lock.owns_lock())
    return;
  areGraphsDropped = true;
  for (auto &[entry, graph] : graphs)
    if (GraphExec exec = std::exchange(graph.exec, nullptr))
      driver().graphExecDestroy(exec);
}
