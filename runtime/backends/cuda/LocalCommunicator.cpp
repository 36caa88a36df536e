//===- LocalCommunicator.cpp - ranks of one process, on devices -----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/DeviceCommunicator.h"

using namespace tsp::runtime;
using namespace tsp::runtime::cuda;

namespace {
/// Each rank reads from its peers' memory: in its wait, once they have posted,
/// it puts the copies on its communication stream, behind the events of the
/// peers' starts. The ranks' threads meet; their devices only wait for events.
class LocalCommunicator : public DeviceCommunicator {
public:
  using DeviceCommunicator::DeviceCommunicator;

private:
  bool complete(tsp_rank &rank, const Flight &flight, tsp_event event) override;
  bool pull(tsp_rank &rank, const Flight &flight);
  bool reduceAll(tsp_rank &rank, const Flight &flight);
  void pullScattered(tsp_rank &rank, const Flight &flight);
  void reduceSlice(tsp_rank &rank, const Flight &flight);
  void copySlices(tsp_rank &rank, const Flight &flight);

  /// Lets the communication stream wait for an event of a group member.
  void follow(tsp_rank &rank, Event event) {
    CudaDevice &device = deviceOf(rank);
    device.driver().check(device.driver().streamWaitEvent(
                              device.stream(TSP_STREAM_COMM), event, 0),
                          "cuStreamWaitEvent");
  }
  void record(tsp_rank &rank, Event event) {
    CudaDevice &device = deviceOf(rank);
    device.driver().check(
        device.driver().eventRecord(event, device.stream(TSP_STREAM_COMM)),
        "cuEventRecord");
  }
  const Transfer &transferOf(const Flight &flight, int64_t peer) {
    return post(*flight.group, peer, flight.number).transfer;
  }
};
} // namespace

bool LocalCommunicator::complete(tsp_rank &rank, const Flight &flight,
                                 tsp_event) {
  const Transfer &mine = ownPost(flight).transfer;
  std::vector<int64_t> from = sources(flight, mine);
  for (int64_t peer : from)
    if (!waitPosted(rank, flight, peer))
      return false;
  bool started = guarded(rank, flight, [&] {
    for (int64_t peer : from)
      follow(rank, marks(*flight.group, peer, flight.number).ready);
    follow(rank, ownMarks(flight).ready);
    openSpan(rank, flight);
  });
  if (!started || !(mine.kind == Collective::AllReduce ? reduceAll(rank, flight)
                                                       : pull(rank, flight)))
    return false;
  bool ended = guarded(rank, flight, [&] {
    closeSpan(rank);
    record(rank, ownMarks(flight).done);
  });
  if (!ended)
    return false;
  announce(flight, ownPost(flight).pulled);
  if (!waitReaders(rank, flight))
    return false;
  // After this the destination is complete, and nobody reads the source.
  return guarded(rank, flight, [&] {
    std::vector<Event> events = {ownMarks(flight).done};
    for (int64_t peer : readers(flight, mine))
      events.push_back(marks(*flight.group, peer, flight.number).done);
    waitOnDevice(rank, events);
  });
}

bool LocalCommunicator::pull(tsp_rank &rank, const Flight &flight) {
  const Transfer &mine = ownPost(flight).transfer;
  return guarded(rank, flight, [&] {
    if (mine.kind == Collective::ReduceScatter)
      return pullScattered(rank, flight);
    DeviceOps ops(deviceOf(rank));
    char *dst = static_cast<char *>(mine.dst);
    for (const Move &fill : zeroFills(mine, flight.me))
      ops.zero(fill, dst);
    for (int64_t peer = 0; peer < mine.ranks(); ++peer) {
      if (mine.kind == Collective::SendRecv && peer != mine.source)
        continue;
      for (const Move &move : movesBetween(mine, flight.me, peer))
        ops.move(move, dst,
                 static_cast<const char *>(transferOf(flight, peer).src));
    }
  });
}

/// Parts in one piece are combined where they are, others packed first.
void LocalCommunicator::pullScattered(tsp_rank &rank, const Flight &flight) {
  const Transfer &mine = ownPost(flight).transfer;
  DeviceOps ops(deviceOf(rank));
  std::vector<Move> moves = movesBetween(mine, flight.me, flight.me);
  int64_t ranks = mine.ranks(), bytes = totalBytes(moves);
  bool whole = moves.size() == 1 && moves[0].srcDense();
  int64_t packing = whole ? 0 : ranks * bytes;
  bool scatters = BufferOps::needsScratch(moves);
  char *packed =
      packing || scatters ? mine.stage(packing + scatters * bytes) : nullptr;
  std::vector<const void *> parts;
  for (int64_t peer = 0; peer < ranks; ++peer) {
    auto src = static_cast<const char *>(transferOf(flight, peer).src);
    if (whole) {
      parts.push_back(src + moves[0].src);
      continue;
    }
    char *part = packed + peer * bytes;
    ops.pack(moves, part, src);
    parts.push_back(part);
  }
  ops.combineParts(mine, flight.me, parts, packed + packing);
}

void LocalCommunicator::reduceSlice(tsp_rank &rank, const Flight &flight) {
  const Transfer &mine = ownPost(flight).transfer;
  Segment slice[2];
  if (reduceSlices(mine).segments(flight.me, slice) == 0)
    return;
  std::vector<const void *> from, from2;
  for (int64_t peer = 0; peer < mine.ranks(); ++peer) {
    const Transfer &theirs = transferOf(flight, peer);
    from.push_back(static_cast<const char *>(theirs.src) +
                   slice[0].global * mine.inner);
    if (mine.dtype2 >= 0)
      from2.push_back(static_cast<const char *>(theirs.src2) +
                      slice[0].global * dtypeSize(mine.dtype2));
  }
  DeviceOps(deviceOf(rank))
      .combineRows(mine, slice[0].global, slice[0].size, from, from2);
}

void LocalCommunicator::copySlices(tsp_rank &rank, const Flight &flight) {
  const Transfer &mine = ownPost(flight).transfer;
  DeviceOps ops(deviceOf(rank));
  Chunking slices = reduceSlices(mine);
  Segment slice[2];
  for (int64_t peer = 0; peer < mine.ranks(); ++peer) {
    if (peer == flight.me || slices.segments(peer, slice) == 0)
      continue;
    follow(rank, marks(*flight.group, peer, flight.number).reduced);
    auto copySlice = [&](void *dst, const void *src, int64_t rowBytes) {
      Move move;
      move.dst = move.src = slice[0].global * rowBytes;
      move.bytes = slice[0].size * rowBytes;
      ops.move(move, static_cast<char *>(dst), static_cast<const char *>(src));
    };
    const Transfer &theirs = transferOf(flight, peer);
    copySlice(mine.dst, theirs.dst, mine.inner);
    if (mine.dtype2 >= 0)
      copySlice(mine.dst2, theirs.dst2, dtypeSize(mine.dtype2));
  }
}

/// Each rank combines a slice, then all copy the slices of the others. A source
/// outside the own slice is free once the others' slices are done, so dst may
/// be src.
bool LocalCommunicator::reduceAll(tsp_rank &rank, const Flight &flight) {
  bool reduced = guarded(rank, flight, [&] {
    reduceSlice(rank, flight);
    record(rank, ownMarks(flight).reduced);
  });
  if (!reduced)
    return false;
  announce(flight, ownPost(flight).reduced);
  for (int64_t peer = 0; peer < ownPost(flight).transfer.ranks(); ++peer)
    if (peer != flight.me &&
        !waitMark(rank, flight, peer,
                  post(*flight.group, peer, flight.number).reduced,
                  "combined its part of"))
      return false;
  return guarded(rank, flight, [&] { copySlices(rank, flight); });
}

std::unique_ptr<Communicator>
tsp::runtime::cuda::makeLocalCommunicator(Session &session) {
  return std::make_unique<LocalCommunicator>(session);
}
