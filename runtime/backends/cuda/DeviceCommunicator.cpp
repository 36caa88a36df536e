//===- DeviceCommunicator.cpp - transfers between device buffers ----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/DeviceCommunicator.h"

using namespace tsp::runtime;
using namespace tsp::runtime::cuda;

DeviceCommunicator::DeviceCommunicator(Session &session)
    : GroupCommunicator(session) {
  for (auto &group : groups)
    for (auto &member : group->members)
      if (member->rank)
        allMarks[member.get()].resize(window);
}

DeviceCommunicator::Marks &
DeviceCommunicator::marks(Group &group, int64_t member, uint64_t number) {
  return allMarks.find(group.members[member].get())->second[number % window];
}

bool DeviceCommunicator::prepare(tsp_rank &rank, const Flight &flight) {
  return guarded(rank, flight, [&] {
    CudaDevice &device = deviceOf(rank);
    Marks &own = ownMarks(flight);
    if (!own.ready) {
      own.ready = device.makeEvent();
      own.reduced = device.makeEvent();
      own.done = device.makeEvent();
    }
    Stream compute = device.stream(TSP_STREAM_COMPUTE);
    device.driver().check(device.driver().eventRecord(own.ready, compute),
                          "cuEventRecord");
    device.timeline().open(compute, 0, traceStart, -1);
    device.timeline().close(compute);
  });
}

//===----------------------------------------------------------------------===//
// Trace and simulated links
//===----------------------------------------------------------------------===//

static void sleepOnStream(void *nanoseconds) {
  auto ns = reinterpret_cast<int64_t>(nanoseconds);
  timespec pause{time_t(ns / 1000000000), long(ns % 1000000000)};
  nanosleep(&pause, nullptr);
}

void DeviceCommunicator::openSpan(tsp_rank &rank, const Flight &flight) {
  const Transfer &transfer = ownPost(flight).transfer;
  int64_t bytes = transfer.bytesReceived(flight.me);
  CudaDevice &device = deviceOf(rank);
  Stream comm = device.stream(TSP_STREAM_COMM);
  device.timeline().open(comm, 1, collectiveName(transfer.kind), bytes);
  const tsp_options &options = session.options;
  if (options.link_gbps > 0 && bytes > 0) {
    double ns = double(bytes) / options.link_gbps + options.link_us * 1e3;
    device.driver().check(
        device.driver().launchHostFunc(comm, sleepOnStream,
                                       reinterpret_cast<void *>(int64_t(ns))),
        "cuLaunchHostFunc");
  }
}

void DeviceCommunicator::waitOnDevice(tsp_rank &rank,
                                      const std::vector<Event> &events) {
  CudaDevice &device = deviceOf(rank);
  Stream compute = device.stream(TSP_STREAM_COMPUTE);
  device.timeline().open(compute, 0, traceWait, -1);
  for (Event event : events)
    device.driver().check(device.driver().streamWaitEvent(compute, event, 0),
                          "cuStreamWaitEvent");
  device.timeline().close(compute);
}

void DeviceCommunicator::closeSpan(tsp_rank &rank) {
  CudaDevice &device = deviceOf(rank);
  device.timeline().close(device.stream(TSP_STREAM_COMM));
}
