//===- Enqueue.h - what other emulated libraries put on streams -*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_DRIVER_ENQUEUE_H
#define TSP_EMULATION_DRIVER_ENQUEUE_H

#include <cstddef>
#include <cuda.h>

/// Work of another library. `start` is called on a thread of the driver, once
/// for each time the work runs (in a graph that is each launch), and may not
/// block; the work has ended when tspEmulationFinish is called with the token.
/// `release` is called when the work can run no more, also after an error.
struct TspEmulationWork {
  void (*start)(void *data, void *token);
  void (*release)(void *data);
  void *data;
};

extern "C" {

/// Puts work on several streams: after all that is on any of them, before all
/// that will be. It belongs to the first one's context.
CUresult tspEmulationEnqueue(const CUstream *streams, size_t count,
                             const TspEmulationWork *work);
void tspEmulationFinish(void *token, CUresult error);

/// The thread touches memory for streams, not for the host.
void tspEmulationEnterDevice();

/// For the checker, before the end: the work has received what that of another
/// token, which has not ended, has sent.
void tspEmulationFollow(void *token, void *sender);
/// For the checker, at the end: what the work, called `what`, has read or
/// written. An error of the device if nothing puts that in order.
CUresult tspEmulationUse(void *token, const char *what, const void *begin,
                         size_t bytes, bool writes);

/// Whether the devices of `context` may touch a range; if not, `why` (of `size`
/// bytes) says it.
bool tspEmulationIsReachable(CUcontext context, const void *pointer,
                             size_t bytes, char *why, size_t size);
}

#endif // TSP_EMULATION_DRIVER_ENQUEUE_H
