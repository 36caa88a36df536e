//===- Communicator.cpp - one rank of a communicator ----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nccl/Communicator.h"

#include "driver/Enqueue.h"
#include "nccl/Link.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <unistd.h>

using namespace tsp::emulation;

static thread_local std::string threadError;

std::string tsp::emulation::lastErrorOfThread() { return threadError; }

void tsp::emulation::report(const std::string &text) {
  std::string line = "nccl emulation: " + text + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0)
    perror("nccl emulation: cannot write to stderr");
}

static bool hasFailed(ncclComm_t comm) {
  ncclResult_t state = comm->state;
  return state != ncclSuccess && state != ncclInProgress;
}

ncclResult_t tsp::emulation::fail(ncclComm_t comm, ncclResult_t code,
                                  const std::string &why) {
  threadError = why;
  if (comm) {
    std::lock_guard<std::mutex> lock(comm->mutex);
    // What ended the communicator says more than what follows from it.
    if (!hasFailed(comm))
      comm->lastError = why;
  }
  return code;
}

/// Ends the communicator for this rank. Only the first reason is kept; true if
/// it was this one.
static bool setFailed(ncclComm_t comm, ncclResult_t code,
                      const std::string &why) {
  std::lock_guard<std::mutex> lock(comm->mutex);
  if (hasFailed(comm))
    return false;
  comm->lastError = why;
  comm->state = code;
  return true;
}

/// Takes over what any rank has found wrong, and prints it once.
static void noteFailure(ncclComm_t comm) {
  std::string why;
  ncclResult_t code = comm->segment->failure(why);
  if (code && setFailed(comm, code, why))
    report("rank " + std::to_string(comm->rank) + " of " +
           std::to_string(comm->ranks) + ": " + why);
}

std::string tsp::emulation::lastErrorOf(ncclComm_t comm) {
  std::lock_guard<std::mutex> lock(comm->mutex);
  return comm->lastError;
}

/// The state; if it is a failure, the calling thread is told the reason.
static ncclResult_t stateFor(ncclComm_t comm, const std::string &call) {
  if (hasFailed(comm))
    threadError = call + lastErrorOf(comm);
  return comm->state;
}

ncclResult_t tsp::emulation::checkReady(ncclComm_t comm,
                                        const std::string &call) {
  if (comm->state == ncclInProgress)
    return fail(comm, ncclInvalidUsage,
                call + ": the communicator is not made yet");
  return stateFor(comm, call + ": the communicator has failed: ");
}

ncclResult_t tsp::emulation::asyncError(ncclComm_t comm) {
  // A rank without calls on the way also learns that another has failed.
  if (comm->state == ncclSuccess)
    noteFailure(comm);
  return stateFor(comm, "");
}

static void runJobs(ncclComm_t comm) {
  tspEmulationEnterDevice();
  std::unique_lock<std::mutex> lock(comm->mutex);
  while (true) {
    comm->changed.wait(lock,
                       [&] { return comm->stops || !comm->jobs.empty(); });
    if (comm->jobs.empty())
      return;
    std::function<void()> job = std::move(comm->jobs.front());
    comm->jobs.pop_front();
    comm->isBusy = true;
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
    comm->isBusy = false;
    comm->changed.notify_all();
  }
}

static void addJob(ncclComm_t comm, std::function<void()> job) {
  std::lock_guard<std::mutex> lock(comm->mutex);
  comm->jobs.push_back(std::move(job));
  comm->changed.notify_all();
}

/// Waits until all ranks have come to where this one is. False after a failure,
/// an abort, or too long.
static bool waitForRanks(ncclComm_t comm, const std::string &what,
                         const std::function<bool(int)> &hasCome) {
  Segment &segment = *comm->segment;
  int64_t start = monotonicNs();
  while (true) {
    uint32_t ticket = segment.member(comm->rank).bell;
    std::string why;
    if (segment.failure(why) || comm->isAborted)
      return false;
    bool late = double(monotonicNs() - start) > timeoutSeconds() * 1e9;
    bool all = true;
    for (int peer = 0; peer < comm->ranks; ++peer) {
      if (hasCome(peer))
        continue;
      all = false;
      // It may have come, and gone on, just now.
      std::string gone = segment.whyGone(peer);
      if (!gone.empty() && !hasCome(peer))
        segment.fail(ncclRemoteError, gone + ": rank " +
                                          std::to_string(comm->rank) +
                                          " waits in " + what);
      else if (late)
        segment.fail(ncclRemoteError,
                     what + ": rank " + std::to_string(peer) + " of " +
                         std::to_string(comm->ranks) + " did not come within " +
                         std::to_string(timeoutSeconds()) + " s");
    }
    if (all)
      return true;
    segment.sleep(comm->rank, ticket, 20000000);
  }
}

/// A device has place for one rank, as NCCL's kernels would wait for each
/// other on it.
static void checkDevices(ncclComm_t comm) {
  Segment &segment = *comm->segment;
  for (int peer = 0; peer < comm->ranks; ++peer)
    if (peer != comm->rank &&
        segment.member(peer).bus == segment.member(comm->rank).bus)
      segment.fail(ncclInvalidUsage,
                   "rank " + std::to_string(comm->rank) + " and rank " +
                       std::to_string(peer) + " are on the same device (bus " +
                       std::to_string(segment.member(peer).bus) + ")");
}

/// Joins the others; on the communicator's thread.
static void joinRanks(ncclComm_t comm, const std::string &name,
                      const std::string &what) {
  std::string why;
  int bus = 0;
  cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, comm->device);
  comm->segment.reset(Segment::open(name, comm->rank, comm->ranks, bus, why));
  if (!comm->segment) {
    setFailed(comm, ncclInvalidArgument, why);
    return;
  }
  bool all = waitForRanks(comm, what, [&](int peer) {
    return comm->segment->member(peer).state != Member::Absent;
  });
  // All have it, or nobody will: the name is needed no more.
  comm->segment->removeName();
  if (all)
    checkDevices(comm);
  noteFailure(comm);
  if (comm->isAborted)
    setFailed(comm, ncclInternalError, what + ": aborted");
  if (comm->state != ncclInProgress)
    return;
  comm->exchange =
      std::make_unique<Exchange>(*comm->segment, comm->rank, comm->device);
  comm->state = ncclSuccess;
}

/// A rank on the current context, whose thread runs nothing yet.
static ncclResult_t make(ncclComm_t *result, bool isBlocking) {
  CUcontext context = nullptr;
  CUdevice device;
  if (linkError())
    return fail(nullptr, ncclInvalidArgument, linkError());
  if (timeoutSeconds() == 0)
    return fail(nullptr, ncclInvalidArgument,
                "TSP_EMULATION_TIMEOUT: expected seconds, more than 0");
  if (cuCtxGetCurrent(&context) || !context || cuCtxGetDevice(&device))
    return fail(nullptr, ncclUnhandledCudaError,
                "no context of a device is current");
  auto comm = std::make_unique<ncclComm>();
  comm->device = device;
  comm->context = context;
  comm->isBlocking = isBlocking;
  if (cuStreamCreate(&comm->order, CU_STREAM_NON_BLOCKING))
    return fail(nullptr, ncclUnhandledCudaError, "no stream can be made");
  comm->thread = std::thread(runJobs, comm.get());
  *result = comm.release();
  return ncclSuccess;
}

ncclResult_t tsp::emulation::startCommunicator(ncclComm_t *result,
                                               const std::string &name,
                                               int rank, int ranks,
                                               bool isBlocking) {
  if (ncclResult_t error = make(result, isBlocking))
    return error;
  ncclComm_t comm = *result;
  comm->rank = rank;
  comm->ranks = ranks;
  addJob(comm, [comm, name] { joinRanks(comm, name, "ncclCommInitRank"); });
  return ncclSuccess;
}

/// Tells the ranks of `parent` this rank's color and key and learns its place
/// among those of its color.
static bool findPlace(ncclComm_t parent, uint64_t number, int color, int key,
                      int &rank, int &ranks) {
  Segment &segment = *parent->segment;
  Member::Split &own = segment.member(parent->rank).splits[number % 2];
  own.color = color;
  own.key = key;
  own.number = number;
  segment.ringAll();
  auto splitOf = [&](int peer) -> Member::Split & {
    return segment.member(peer).splits[number % 2];
  };
  bool all = waitForRanks(parent, "ncclCommSplit", [&](int peer) {
    return splitOf(peer).number >= number;
  });
  rank = ranks = 0;
  for (int peer = 0; peer < parent->ranks; ++peer) {
    Member::Split &split = splitOf(peer);
    if (split.color != color)
      continue;
    ++ranks;
    // Equal keys keep the order of the parent.
    rank += std::make_pair(split.key, peer) < std::make_pair(key, parent->rank);
  }
  return all;
}

ncclResult_t tsp::emulation::startSplit(ncclComm_t parent, int color, int key,
                                        bool isBlocking, ncclComm_t *result) {
  uint64_t number = ++parent->splits;
  ncclComm_t comm = nullptr;
  if (color != NCCL_SPLIT_NOCOLOR) {
    if (ncclResult_t error = make(&comm, isBlocking))
      return error;
  }
  *result = comm;
  // Who takes no part in the new one still answers the others.
  addJob(comm ? comm : parent, [=] {
    int rank, ranks;
    bool all = findPlace(parent, number, color, key, rank, ranks);
    if (!all)
      noteFailure(parent);
    if (!comm)
      return;
    comm->rank = rank;
    comm->ranks = ranks;
    if (!all) {
      std::string why;
      ncclResult_t code = parent->segment->failure(why);
      if (code)
        setFailed(comm, code, why);
      else
        setFailed(comm, ncclInternalError, "ncclCommSplit: aborted");
      return;
    }
    std::string name = parent->segment->name() + "-" + std::to_string(number) +
                       "." + std::to_string(color);
    joinRanks(comm, name, "ncclCommSplit");
  });
  return ncclSuccess;
}

ncclResult_t tsp::emulation::join(ncclComm_t comm) {
  {
    std::unique_lock<std::mutex> lock(comm->mutex);
    comm->changed.wait(lock, [&] {
      return comm->state != ncclInProgress && comm->jobs.empty() &&
             !comm->isBusy;
    });
  }
  return stateFor(comm, "");
}

namespace {
/// Operations on streams. A graph runs them several times.
struct Batch {
  ncclComm_t comm;
  std::vector<Operation> operations;

  static void release(void *data) {
    auto *batch = static_cast<Batch *>(data);
    --batch->comm->batches;
    delete batch;
  }
};
} // namespace

/// Tells the checker what a batch has done to the rank's buffers: those who
/// read from them did so for it.
static CUresult noteUses(const Batch &batch, void *token) {
  CUresult error = CUDA_SUCCESS;
  for (const Operation &one : batch.operations) {
    const ncclComm &comm = *batch.comm;
    std::string what = one.signature.str();
    auto note = [&](const char *begin, size_t bytes, bool writes) {
      CUresult race =
          tspEmulationUse(token, what.c_str(), begin, bytes, writes);
      error = error ? error : race;
    };
    note(one.send, one.sendBytes(comm.rank, comm.ranks), false);
    note(one.receive, one.receiveBytes(comm.rank, comm.ranks), true);
  }
  return error;
}

/// Runs a batch; on the communicator's thread. After a failure the work on the
/// stream stays unfinished for a while, as NCCL's kernels do, so that the
/// program can find the failure and abort. One that waits for the stream
/// instead gets a fault of the device.
static void runBatch(const Batch &batch, void *token) {
  ncclComm_t comm = batch.comm;
  auto isAborted = [comm] { return comm->isAborted.load(); };
  if (comm->state == ncclSuccess &&
      comm->exchange->run(batch.operations, token, isAborted))
    return tspEmulationFinish(token, noteUses(batch, token));
  noteFailure(comm);
  if (comm->exchange)
    comm->exchange->waitForReaders();
  constexpr int grace = 2000;
  for (int ms = 0; ms < grace && !comm->isAborted; ++ms)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  tspEmulationFinish(token,
                     comm->isAborted ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED);
}

ncclResult_t
tsp::emulation::enqueueOperations(ncclComm_t comm,
                                  std::vector<Operation> operations,
                                  std::vector<CUstream> streams) {
  streams.push_back(comm->order);
  TspEmulationWork work;
  work.data = new Batch{comm, std::move(operations)};
  work.release = Batch::release;
  ++comm->batches;
  work.start = [](void *data, void *token) {
    // The job has its own copy: the stream may be done with the batch first.
    addJob(static_cast<Batch *>(data)->comm,
           [batch = *static_cast<Batch *>(data), token] {
             runBatch(batch, token);
           });
  };
  cuCtxPushCurrent(comm->context);
  CUresult error = tspEmulationEnqueue(streams.data(), streams.size(), &work);
  cuCtxPopCurrent(nullptr);
  if (!error)
    return ncclSuccess;
  const char *name = nullptr;
  cuGetErrorName(error, &name);
  return fail(comm, ncclUnhandledCudaError,
              std::string("a stream does not take the call: ") +
                  (name ? name : "unknown error"));
}

ncclResult_t tsp::emulation::finalize(ncclComm_t comm) {
  // The stream that keeps order ends after all calls.
  cuStreamSynchronize(comm->order);
  {
    std::unique_lock<std::mutex> lock(comm->mutex);
    comm->changed.wait(lock,
                       [&] { return comm->jobs.empty() && !comm->isBusy; });
  }
  return stateFor(comm, "");
}

/// Tells the others that this rank will do nothing more.
static void leave(ncclComm_t comm, Member::State state) {
  if (!comm->segment)
    return;
  comm->segment->member(comm->rank).state = state;
  comm->segment->ringAll();
}

/// False when calls are held for too long, which only graphs do.
static bool waitForGraphs(ncclComm_t comm) {
  int64_t start = monotonicNs();
  while (comm->batches > 0) {
    if (double(monotonicNs() - start) > timeoutSeconds() * 1e9) {
      std::string why = "a CUDA graph holds calls of the communicator: it has "
                        "to be destroyed first";
      report("rank " + std::to_string(comm->rank) + " of " +
             std::to_string(comm->ranks) + ": " + why);
      fail(comm, ncclInvalidUsage, why);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

ncclResult_t tsp::emulation::destroy(ncclComm_t comm, bool aborts) {
  if (aborts) {
    comm->isAborted = true;
    leave(comm, Member::Aborted);
  }
  // Aborted calls end soon, and calls that streams come to later end at once.
  finalize(comm);
  if (!waitForGraphs(comm))
    return ncclInvalidUsage;
  {
    std::lock_guard<std::mutex> lock(comm->mutex);
    comm->stops = true;
    comm->changed.notify_all();
  }
  comm->thread.join();
  leave(comm, aborts ? Member::Aborted : Member::Left);
  cuCtxPushCurrent(comm->context);
  cuStreamDestroy(comm->order);
  cuCtxPopCurrent(nullptr);
  delete comm;
  return ncclSuccess;
}
