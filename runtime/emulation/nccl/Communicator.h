//===- Communicator.h - one rank of a communicator --------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_NCCL_COMMUNICATOR_H
#define TSP_EMULATION_NCCL_COMMUNICATOR_H

#include "nccl/Exchange.h"

#include <atomic>
#include <condition_variable>
#include <cuda.h>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

/// One rank. A thread of its own makes the communicator, and runs the calls in
/// the order in which the device's streams come to them.
struct ncclComm {
  int rank = 0;
  int ranks = 0;
  int device = 0;
  CUcontext context = nullptr;
  /// Keeps the communicator's calls in order, whatever streams they are on.
  CUstream order = nullptr;
  bool isBlocking = true;

  std::unique_ptr<tsp::emulation::Segment> segment;
  std::unique_ptr<tsp::emulation::Exchange> exchange;
  /// How many ncclCommSplit this rank has called.
  uint64_t splits = 0;

  std::thread thread;
  std::mutex mutex;
  std::condition_variable changed;
  /// Guarded by the mutex: what the thread has to do, and whether it is at it.
  std::deque<std::function<void()>> jobs;
  bool isBusy = false;
  bool stops = false;
  std::string lastError;

  /// Calls that may run still: on streams, and in graphs until these go.
  std::atomic<int> batches{0};

  std::atomic<bool> isAborted{false};
  /// ncclInProgress until the communicator is made.
  std::atomic<ncclResult_t> state{ncclInProgress};
};

namespace tsp::emulation {

/// Makes a rank's part of a communicator. Its thread joins the others through
/// memory of a name; `join` waits for it.
ncclResult_t startCommunicator(ncclComm_t *result, const std::string &name,
                               int rank, int ranks, bool isBlocking);
/// As above, as a part of another one that all of its ranks call.
ncclResult_t startSplit(ncclComm_t parent, int color, int key, bool isBlocking,
                        ncclComm_t *result);
/// Waits until a communicator is made or cannot be.
ncclResult_t join(ncclComm_t comm);

/// Puts operations on streams of the communicator's device.
ncclResult_t enqueueOperations(ncclComm_t comm,
                               std::vector<Operation> operations,
                               std::vector<CUstream> streams);

/// Whether the communicator takes a call; if not, the reason becomes the last
/// error of the calling thread.
ncclResult_t checkReady(ncclComm_t comm, const std::string &call);

/// What any rank has found wrong.
ncclResult_t asyncError(ncclComm_t comm);

/// Waits for all calls that streams have come to.
ncclResult_t finalize(ncclComm_t comm);
/// Leaves and frees; with `aborts` without waiting for peers. Waits for graphs
/// that hold calls of the communicator to be destroyed, and after the time-out
/// leaves it as it is.
ncclResult_t destroy(ncclComm_t comm, bool aborts);

/// Keeps the text for ncclGetLastError and returns the code.
ncclResult_t fail(ncclComm_t comm, ncclResult_t code, const std::string &why);
std::string lastErrorOfThread();
std::string lastErrorOf(ncclComm_t comm);

/// Prints a line for the user, whole even when threads print at once.
void report(const std::string &text);

} // namespace tsp::emulation

#endif // TSP_EMULATION_NCCL_COMMUNICATOR_H
