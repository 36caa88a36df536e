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
    device.driver().check(device.driver().eventRecord(
                              own.ready, device.stream(TSP_STREAM_COMPUTE)),
                          "cuEventRecord");
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

void DeviceCommunicator::closeSpan(tsp_rank &rank) {
  CudaDevice &device = deviceOf(rank);
  device.timeline().close(device.stream(TSP_STREAM_COMM));
}

//===----------------------------------------------------------------------===//
// Combining
//===----------------------------------------------------------------------===//

static const char *combineName(int combine) {
  static const char *const names[] = {"sum", "max", "min", "lse", "argmax"};
  return names[combine];
}

void DeviceCommunicator::combine(CudaDevice &device, const Transfer &transfer,
                                 char *dst,
                                 const std::vector<const void *> &sources,
                                 int64_t count) {
  if (count == 0)
    return;
  std::string name = format("tsp_reduce_%s_%s", combineName(transfer.combine),
                            dtypeName(transfer.dtype));
  Pointer table = device.pointerTable(sources);
  int64_t ranks = int64_t(sources.size());
  void *parameters[] = {&dst, &table, &count, &ranks};
  device.enqueueKernel(device.stream(TSP_STREAM_COMM), name.c_str(), count,
                       parameters);
}

void DeviceCommunicator::combinePairs(CudaDevice &device,
                                      const Transfer &transfer, char *dst,
                                      char *dst2,
                                      const std::vector<const void *> &sources,
                                      const std::vector<const void *> &sources2,
                                      int64_t rows) {
  if (rows == 0)
    return;
  std::string name =
      format("tsp_reduce_%s_%s_%s", combineName(transfer.combine),
             dtypeName(transfer.dtype), dtypeName(transfer.dtype2));
  Pointer table = device.pointerTable(sources);
  Pointer table2 = device.pointerTable(sources2);
  int64_t inner = transfer.inner / dtypeSize(transfer.dtype);
  int64_t ranks = int64_t(sources.size());
  void *parameters[] = {&dst, &dst2, &table, &table2, &rows, &inner, &ranks};
  device.enqueueKernel(device.stream(TSP_STREAM_COMM), name.c_str(), rows,
                       parameters);
}

void DeviceCommunicator::combineRows(
    CudaDevice &device, const Transfer &transfer, int64_t begin, int64_t rows,
    const std::vector<const void *> &sources,
    const std::vector<const void *> &sources2) {
  char *dst = static_cast<char *>(transfer.dst) + begin * transfer.inner;
  if (transfer.dtype2 < 0)
    return combine(device, transfer, dst, sources,
                   rows * transfer.inner / dtypeSize(transfer.dtype));
  char *dst2 =
      static_cast<char *>(transfer.dst2) + begin * dtypeSize(transfer.dtype2);
  combinePairs(device, transfer, dst, dst2, sources, sources2, rows);
}

void DeviceCommunicator::combineParts(CudaDevice &device,
                                      const Transfer &transfer, int64_t me,
                                      const std::vector<const void *> &parts,
                                      char *scratch) {
  Stream comm = device.stream(TSP_STREAM_COMM);
  char *dst = static_cast<char *>(transfer.dst);
  std::vector<Move> moves = movesBetween(transfer, me, me);
  int64_t count = totalBytes(moves) / dtypeSize(transfer.dtype);
  for (const Move &fill : zeroFills(transfer, me))
    device.enqueueZero(comm, fill, dst);
  if (moves.size() == 1 && moves[0].dstDense())
    return combine(device, transfer, dst + moves[0].dst, parts, count);
  combine(device, transfer, scratch, parts, count);
  int64_t offset = 0;
  for (const Move &move : moves) {
    device.enqueueMove(comm, move.packedSrc(offset), dst, scratch);
    offset += move.total();
  }
}
