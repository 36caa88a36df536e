//===- NcclCommunicator.cpp - one device a rank, over NCCL ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/nccl/NcclCommunicator.h"
#include "core/MessageTransfer.h"

#include <cstring>

using namespace tsp::runtime;
using namespace tsp::runtime::nccl;

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

NcclCommunicator::NcclCommunicator(Session &session)
    : DeviceCommunicator(session), nccl(Nccl::get()),
      comms(session.ranks.size()) {}

void NcclCommunicator::open() {
  UniqueId id;
  if (session.isFirst())
    nccl.check(nccl.getUniqueId(&id), "ncclGetUniqueId");
  if (session.processes) {
    std::string text(id.internal, sizeof(id.internal));
    session.processes->broadcast(text);
    memcpy(id.internal, text.data(), sizeof(id.internal));
  }
  warnOfVersion();
  session.runOnRanks([this, id](tsp_rank &rank) { connect(rank, id); });
}

/// Releases with known faults.
void NcclCommunicator::warnOfVersion() const {
  const int hangsWithGraphs = 22809;
  bool severalNodes =
      session.processes &&
      session.processes->index() != session.processes->how().localIndex;
  // Once a machine.
  bool isFirst = severalNodes && session.processes->how().localIndex == 0;
  if (nccl.version == hangsWithGraphs && session.options.graphs && isFirst)
    fprintf(stderr, "warning: NCCL 2.28.9 is known to hang in CUDA graphs over "
                    "several machines; use another release, or leave out "
                    "--graphs\n");
}

/// All ranks make all communicators in the same order. NCCL does not return
/// before all have come, and cannot be stopped until then.
void NcclCommunicator::connect(tsp_rank &rank, const UniqueId &id) {
  Comms own;
  const ModelDesc &model = session.model;
  nccl.check(
      nccl.commInitRank(&own.world, int(model.numRanks()), id, int(rank.index)),
      "ncclCommInitRank");
  for (size_t number = 0; number < model.groups.size(); ++number) {
    const auto &[group, me] = localOf(rank).groups[number];
    Comm comm = nullptr;
    if (group->members.size() > 1)
      nccl.check(nccl.commSplit(own.world, int(group->members[0]->index),
                                int(me), &comm, nullptr),
                 "ncclCommSplit", own.world);
    own.groups.push_back(comm);
  }
  std::lock_guard<std::shared_timed_mutex> lock(inUse);
  if (aborted.load())
    throw Error("stopped");
  comms[rank.slot] = std::move(own);
}

/// NCCL ends a communicator only when no graph holds calls of it.
void NcclCommunicator::dropGraphs() {
  for (auto &rank : session.ranks)
    if (rank->device)
      deviceOf(*rank).dropGraphs();
}

NcclCommunicator::~NcclCommunicator() {
  if (aborted)
    return;
  dropGraphs();
  for (size_t slot = 0; slot < comms.size(); ++slot) {
    cuda::CurrentContext current(deviceOf(*session.ranks[slot]).use());
    for (auto [comm, handle] : comms[slot].registered)
      nccl.commDeregister(comm, handle);
    for (Comm comm : comms[slot].groups)
      if (comm)
        nccl.commDestroy(comm);
    if (comms[slot].world)
      nccl.commDestroy(comms[slot].world);
  }
}

/// Lets NCCL move bytes from and to the block where they are. Without it they
/// go through buffers of NCCL, so that a release that cannot is as good.
void NcclCommunicator::addMemory(tsp_rank &rank, const Block &block) {
  if (!nccl.commRegister || !nccl.commDeregister || block.size() == 0)
    return;
  std::shared_lock<std::shared_timed_mutex> lock(inUse);
  for (Comm comm : comms[rank.slot].groups) {
    void *handle = nullptr;
    if (comm && !aborted.load() &&
        nccl.commRegister(comm, block.data(), size_t(block.size()), &handle) ==
            success &&
        handle)
      comms[rank.slot].registered.push_back({comm, handle});
  }
}

/// Only an abort ends the kernels of a transfer whose peer does not come. The
/// communicators are gone after it, and with them the session.
void NcclCommunicator::wakeAll() {
  GroupCommunicator::wakeAll();
  if (aborted.exchange(true))
    return;
  // A thread that does not come out of NCCL waits there for a peer, and only an
  // abort brings it back.
  std::unique_lock<std::shared_timed_mutex> lock(inUse, std::defer_lock);
  (void)lock.try_lock_for(std::chrono::seconds(1));
  dropGraphs();
  bool any = false;
  for (Comms &own : comms) {
    for (Comm comm : own.groups)
      if (comm) {
        nccl.commAbort(comm);
        any = true;
      }
    if (own.world)
      nccl.commAbort(own.world);
  }
  if (any)
    session.markLost();
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

namespace {
/// NCCL calls and copies on the communication stream.
class NcclTransport : public Transport {
public:
  NcclTransport(const Nccl &nccl, Comm comm, cuda::Stream stream)
      : nccl(nccl), comm(comm), stream(stream) {}

  void exchange(const std::vector<Message> &sends,
                const std::vector<Message> &receives) override {
    if (sends.empty() && receives.empty())
      return;
    group([&] {
      for (const Message &message : sends)
        nccl.check(nccl.send(message.data, size_t(message.bytes), int8,
                             int(message.peer), comm, stream),
                   "ncclSend", comm);
      for (const Message &message : receives)
        nccl.check(nccl.recv(message.data, size_t(message.bytes), int8,
                             int(message.peer), comm, stream),
                   "ncclRecv", comm);
    });
  }

  void allGather(const std::vector<Gather> &gathers) override {
    group([&] {
      for (const Gather &gather : gathers)
        nccl.check(nccl.allGather(gather.part, gather.all, size_t(gather.bytes),
                                  int8, comm, stream),
                   "ncclAllGather", comm);
    });
  }

  void broadcast(const std::vector<Broadcast> &pieces) override {
    if (pieces.empty())
      return;
    group([&] {
      for (const Broadcast &piece : pieces)
        nccl.check(nccl.broadcast(piece.from, piece.to, size_t(piece.bytes),
                                  int8, int(piece.root), comm, stream),
                   "ncclBroadcast", comm);
    });
  }

private:
  template <typename Calls> void group(Calls calls) {
    nccl.check(nccl.groupStart(), "ncclGroupStart", comm);
    calls();
    nccl.check(nccl.groupEnd(), "ncclGroupEnd", comm);
  }

  const Nccl &nccl;
  const Comm comm;
  const cuda::Stream stream;
};
} // namespace

void NcclCommunicator::reset() {
  DeviceCommunicator::reset();
  for (Comms &own : comms)
    own.outstanding.clear();
}

bool NcclCommunicator::posted(tsp_rank &rank, const Flight &flight, tsp_event) {
  // The last one of this process to post sees all others' posts.
  Group &group = *flight.group;
  for (int64_t peer = 0; peer < int64_t(group.members.size()); ++peer)
    if (peer != flight.me && group.members[peer]->rank &&
        post(group, peer, flight.number).number.load() == flight.number + 1 &&
        !checkPeer(rank, flight, peer))
      return false;
  return guarded(rank, flight, [&] {
    try {
      enqueue(rank, flight);
    } catch (const Error &) {
      // Often because a peer is gone, which process 0 is about to find out.
      const auto &before = comms[rank.slot].outstanding;
      noteWait(rank, before.empty() ? flight : before.front().flight);
      waitForExplanation();
      throw;
    }
  });
}

void NcclCommunicator::enqueue(tsp_rank &rank, const Flight &flight) {
  cuda::CudaDevice &device = deviceOf(rank);
  const cuda::Driver &driver = device.driver();
  const Transfer &transfer = ownPost(flight).transfer;
  cuda::Stream comm = device.stream(TSP_STREAM_COMM);
  Marks &marks = ownMarks(flight);
  driver.check(driver.streamWaitEvent(comm, marks.ready, 0),
               "cuStreamWaitEvent");
  std::shared_lock<std::shared_timed_mutex> lock(inUse);
  if (aborted.load())
    throw Error("stopped");
  openSpan(rank, flight);
  NcclTransport transport(nccl, comms[rank.slot].groups[flight.group->number],
                          comm);
  cuda::DeviceOps ops(device);
  MessageTransfer(transport, ops, transfer, flight.me).run();
  closeSpan(rank);
  driver.check(driver.eventRecord(marks.done, comm), "cuEventRecord");
  if (!device.capturing())
    comms[rank.slot].outstanding.push_back(
        {flight, flightText(flight), marks.done});
}

bool NcclCommunicator::complete(tsp_rank &rank, const Flight &flight,
                                tsp_event) {
  return guarded(rank, flight, [&] {
    waitOnDevice(rank, {ownMarks(flight).done});
    poll(rank);
  });
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

void NcclCommunicator::poll(tsp_rank &rank) {
  Comms &own = comms[rank.slot];
  const int64_t interval = 1000000;
  // Events of a recording must not be asked.
  if (nowNs() - own.lastPoll < interval || deviceOf(rank).capturing())
    return;
  own.lastPoll = nowNs();
  const cuda::Driver &driver = deviceOf(rank).driver();
  while (!own.outstanding.empty() &&
         driver.eventQuery(own.outstanding.front().done) == cuda::success)
    own.outstanding.pop_front();
  // A rank waits once its own device has come to the transfer.
  if (!own.outstanding.empty() &&
      driver.eventQuery(ownMarks(own.outstanding.front().flight).ready) ==
          cuda::success)
    noteWait(rank, own.outstanding.front().flight);
  else
    noteWaitEnd(rank);
  for (Comm comm : own.groups) {
    Result error = success;
    {
      std::shared_lock<std::shared_timed_mutex> lock(inUse);
      if (!comm || aborted.load())
        continue;
      nccl.commGetAsyncError(comm, &error);
    }
    if (error == success || error == inProgress)
      continue;
    waitForExplanation();
    session.fail(format("rank %lld: NCCL reports %s; it was at %s",
                        (long long)rank.index, nccl.text(error, comm).c_str(),
                        own.outstanding.empty()
                            ? "no transfer"
                            : own.outstanding.front().text.c_str()));
    return;
  }
  if (own.outstanding.empty())
    return;
  // A peer that has ended cannot come any more.
  const Outstanding &first = own.outstanding.front();
  for (const auto &member : first.flight.group->members)
    if (member->rank && member->rank->activity.load() == Activity::Finished &&
        member->next <= first.flight.number) {
      session.fail(format("rank %lld has ended the program but has not joined "
                          "%s, in which rank %lld waits for it",
                          (long long)member->index, first.text.c_str(),
                          (long long)rank.index));
      return;
    }
}

std::string NcclCommunicator::waitingText(tsp_rank &rank) {
  const Comms &own = comms[rank.slot];
  if (own.outstanding.empty())
    return "";
  const Outstanding &first = own.outstanding.front();
  std::string text = "it waits in " + first.text;
  for (const auto &member : first.flight.group->members)
    if (member->rank && member->next <= first.flight.number)
      text +=
          format("; rank %lld has not joined it: %s", (long long)member->index,
                 member->rank->activityText().c_str());
  return text;
}
