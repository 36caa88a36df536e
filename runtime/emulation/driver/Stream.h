//===- Stream.h - streams, events and what they put in order ----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_DRIVER_STREAM_H
#define TSP_EMULATION_DRIVER_STREAM_H

#include "driver/Context.h"
#include "driver/Graph.h"
#include "driver/Scheduler.h"

struct CUstream_st {
  CUcontext context = nullptr;
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
  /// The task that later work of the stream comes after.
  tsp::emulation::TaskRef last;
  /// While its work is captured: into what, and after which nodes.
  tsp::emulation::CaptureRef capture;
  tsp::emulation::NodeList captureTail;

  /// Whether it keeps order with the legacy default stream.
  bool isBlocking() const { return !(flags & CU_STREAM_NON_BLOCKING); }
};

struct CUevent_st {
  CUcontext context = nullptr;
  unsigned flags = 0;
  /// The last record, or null.
  tsp::emulation::TaskRef task;
  /// Set if the last record was captured.
  tsp::emulation::CaptureRef capture;
  tsp::emulation::NodeList captureTail;
};

namespace tsp::emulation {

CUstream createStream(CUcontext context, unsigned flags, int priority);
void destroyStream(CUstream stream);

/// Finds the stream that a handle stands for: null and CU_STREAM_LEGACY are the
/// legacy default stream of the current context, CU_STREAM_PER_THREAD is one
/// for each thread.
CUresult findStream(CUstream handle, CUstream &stream);

/// What is put on streams: a node of a graph while they are captured.
struct StreamWork {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  Work work;
  NodeParams params = {};
};

/// Puts work on several streams at once: it comes after all that was put on any
/// of them, and before all that will be. The streams are live.
CUresult enqueue(const std::vector<CUstream> &streams, StreamWork work);
inline CUresult enqueue(CUstream stream, StreamWork work) {
  return enqueue(std::vector<CUstream>{stream}, std::move(work));
}

/// Waits while a context has as much work as it takes; recordings always have
/// room. Not to be called with the driver's lock.
void waitForRoom(CUstream stream);

/// The tasks that work put on a stream now has to come after.
std::vector<TaskRef> tasksBefore(CUstream stream);

/// Waits for all work of a stream; see Scheduler::wait.
CUresult synchronizeStream(CUstream stream, bool isPromised = true);
bool isCapturing(CUstream stream);

/// An error if this thread may not wait for devices or allocate memory now,
/// since a stream is captured in a mode that forbids it.
CUresult checkNoCapture();

} // namespace tsp::emulation

#endif // TSP_EMULATION_DRIVER_STREAM_H
