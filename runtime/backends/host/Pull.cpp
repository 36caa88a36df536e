//===- Pull.cpp - reading a transfer's data from the peers ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/host/Copies.h"
#include "backends/host/HostCommunicator.h"
#include "backends/host/Reduce.h"

#include <cstring>

using namespace tsp::runtime;

/// Combines the peers' parts of a reduce_scatter row by row.
static void combineMove(ThreadPool &pool, const Transfer &own, const Move &move,
                        const std::vector<const Transfer *> &peers) {
  for (int64_t row = 0; row < move.count[2]; ++row) {
    std::vector<const char *> sources;
    for (const Transfer *peer : peers)
      sources.push_back(static_cast<const char *>(peer->src) + move.src +
                        row * move.srcStride[2]);
    char *dst =
        static_cast<char *>(own.dst) + move.dst + row * move.dstStride[2];
    parallelFor(pool, move.bytes / dtypeSize(own.dtype), 32768,
                [&](int64_t begin, int64_t end) {
                  combineElements(own.dtype, own.combine, dst, sources, begin,
                                  end);
                });
  }
}

std::vector<const Transfer *>
HostCommunicator::transfers(const Flight &flight) {
  std::vector<const Transfer *> result;
  for (size_t peer = 0; peer < flight.group->members.size(); ++peer)
    result.push_back(&post(*flight.group, peer, flight.number).transfer);
  return result;
}

bool HostCommunicator::pull(tsp_rank &rank, const Flight &flight, Post &own) {
  const Transfer &mine = own.transfer;
  std::vector<const Transfer *> peers = transfers(flight);
  for (const Move &fill : zeroFills(mine, flight.me))
    runCopy(rank.pool, fill, static_cast<char *>(mine.dst), nullptr);
  if (mine.kind == Collective::ReduceScatter) {
    for (const Move &move : movesBetween(mine, flight.me, flight.me))
      combineMove(rank.pool, mine, move, peers);
  } else {
    for (int64_t peer = 0; peer < mine.ranks(); ++peer) {
      if (mine.kind == Collective::SendRecv && peer != mine.source)
        continue;
      for (const Move &move : movesBetween(mine, flight.me, peer))
        runCopy(rank.pool, move, static_cast<char *>(mine.dst),
                static_cast<const char *>(peers[peer]->src));
    }
  }
  announce(flight, own.pulled);
  return waitReaders(rank, flight);
}

bool HostCommunicator::reduceAll(tsp_rank &rank, const Flight &flight,
                                 Post &own) {
  const Transfer &mine = own.transfer;
  std::vector<const Transfer *> peers = transfers(flight);
  int64_t total = mine.dim.total, ranks = mine.ranks();
  int64_t rowBytes = mine.inner;
  int64_t rowBytes2 = mine.dtype2 < 0 ? 0 : dtypeSize(mine.dtype2);

  // Small values: everybody combines everything, aside (dst may be src).
  const int64_t small = 4096;
  if (total * (rowBytes + rowBytes2) <= small) {
    alignas(64) char first[small], second[small];
    combineRows(mine, peers, first, second, 0, total);
    announce(flight, own.pulled);
    if (!waitReaders(rank, flight))
      return false;
    memcpy(mine.dst, first, total * rowBytes);
    if (rowBytes2)
      memcpy(mine.dst2, second, total * rowBytes2);
    return true;
  }

  // Else each combines its slice, then all copy the slices of the others. A
  // rank's src outside its own slice is free once the others are done.
  Chunking slices = reduceSlices(mine);
  char *dst = static_cast<char *>(mine.dst);
  char *dst2 = static_cast<char *>(mine.dst2);
  Segment part[2];
  if (slices.segments(flight.me, part) > 0)
    parallelFor(rank.pool, part[0].size,
                std::max<int64_t>(1, 131072 / std::max<int64_t>(1, rowBytes)),
                [&](int64_t begin, int64_t end) {
                  begin += part[0].global;
                  end += part[0].global;
                  combineRows(mine, peers, dst + begin * rowBytes,
                              dst2 ? dst2 + begin * rowBytes2 : nullptr, begin,
                              end);
                });
  announce(flight, own.reduced);
  for (int64_t peer = 0; peer < ranks; ++peer)
    if (peer != flight.me &&
        !waitMark(rank, flight, peer,
                  post(*flight.group, peer, flight.number).reduced,
                  "combined its part of"))
      return false;
  for (int64_t peer = 0; peer < ranks; ++peer) {
    if (peer == flight.me || slices.segments(peer, part) == 0)
      continue;
    auto copySlice = [&](void *to, const void *from, int64_t bytesOfRow) {
      Move move;
      move.dst = move.src = part[0].global * bytesOfRow;
      move.bytes = part[0].size * bytesOfRow;
      runCopy(rank.pool, move, static_cast<char *>(to),
              static_cast<const char *>(from));
    };
    copySlice(dst, peers[peer]->dst, rowBytes);
    if (dst2)
      copySlice(dst2, peers[peer]->dst2, rowBytes2);
  }
  announce(flight, own.pulled);
  return waitReaders(rank, flight);
}
