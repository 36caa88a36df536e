//===- Pull.cpp - reading a transfer's data from the peers ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/host/Copies.h"
#include "backends/host/Reduce.h"
#include "backends/host/Watchdog.h"

#include <cstring>

using namespace tsp::runtime;

namespace {
/// The parts of one transfer that a rank reads, given its peers' transfers.
class Puller {
public:
  Puller(tsp_rank &rank, const Transfer &own, int64_t me,
         std::vector<const Transfer *> peers)
      : pool(rank.pool), own(own), me(me), peers(std::move(peers)),
        dst(static_cast<char *>(own.dst)) {}

  void run() {
    switch (own.kind) {
    case Collective::AllGather:
      return allGather();
    case Collective::ReduceScatter:
      return reduceScatter();
    case Collective::AllToAll:
      return allToAll();
    case Collective::Broadcast:
      return broadcast();
    case Collective::SendRecv:
      return sendRecv();
    case Collective::AllReduce: // has phases of its own
      return;
    }
  }

private:
  static const char *sourceOf(const Transfer &transfer) {
    return static_cast<const char *>(transfer.src);
  }

  /// Copies [outer] rows of `size` elements between two strided buffers.
  void copyBlock(int64_t dstBegin, int64_t dstTotal, const char *src,
                 int64_t srcBegin, int64_t srcTotal, int64_t size) {
    BoxCopy copy;
    copy.dst = dst + dstBegin * own.inner;
    copy.src = src ? src + srcBegin * own.inner : nullptr;
    copy.bytes = size * own.inner;
    copy.count[2] = own.outer;
    copy.dstStride[2] = dstTotal * own.inner;
    copy.srcStride[2] = srcTotal * own.inner;
    runCopy(pool, copy);
  }

  void allGather() {
    for (size_t peer = 0; peer < peers.size(); ++peer) {
      Segment parts[2];
      for (int i = 0, n = own.dim.segments(peer, parts); i < n; ++i)
        copyBlock(parts[i].global, own.dim.total, sourceOf(*peers[peer]),
                  parts[i].local, own.dim.local(), parts[i].size);
    }
  }

  void broadcast() {
    int64_t begin = own.offset, end = own.offset + own.size;
    if (begin < 0)
      copyBlock(0, own.size, nullptr, 0, 0, std::min(own.size, -begin));
    int64_t tail = std::max(begin, own.dim.total);
    if (end > tail)
      copyBlock(tail - begin, own.size, nullptr, 0, 0, end - tail);
    for (size_t peer = 0; peer < peers.size(); ++peer) {
      Segment parts[2];
      for (int i = 0, n = own.dim.segments(peer, parts); i < n; ++i) {
        int64_t from = std::max(begin, parts[i].global);
        int64_t to = std::min(end, parts[i].global + parts[i].size);
        if (from < to)
          copyBlock(from - begin, own.size, sourceOf(*peers[peer]),
                    parts[i].local + from - parts[i].global, own.dim.local(),
                    to - from);
      }
    }
  }

  void sendRecv() {
    BoxCopy copy;
    copy.dst = dst;
    copy.src = own.source < 0 ? nullptr : sourceOf(*peers[own.source]);
    copy.bytes = own.inner;
    runCopy(pool, copy);
  }

  void reduceScatter() {
    int64_t local = own.dim.local(), size = dtypeSize(own.dtype);
    if (own.dim.owned(me) < local)
      memset(dst, 0, own.outer * local * own.inner);
    Segment parts[2];
    for (int i = 0, n = own.dim.segments(me, parts); i < n; ++i)
      for (int64_t row = 0; row < own.outer; ++row) {
        int64_t from = (row * own.dim.total + parts[i].global) * own.inner;
        int64_t to = (row * local + parts[i].local) * own.inner;
        std::vector<const char *> sources;
        for (const Transfer *peer : peers)
          sources.push_back(sourceOf(*peer) + from);
        parallelFor(pool, parts[i].size * own.inner / size, 32768,
                    [&](int64_t begin, int64_t end) {
                      combineElements(own.dtype, own.combine, dst + to, sources,
                                      begin, end);
                    });
      }
  }

  void allToAll() {
    const Chunking &dim0 = own.dim, &dim1 = own.dim1;
    bool first = own.split == 0; // dim 0 becomes local, dim 1 whole
    int64_t dst0 = first ? dim0.local() : dim0.total;
    int64_t dst1 = first ? dim1.total : dim1.local();
    int64_t src0 = first ? dim0.total : dim0.local();
    int64_t src1 = first ? dim1.local() : dim1.total;
    const Chunking &mine = first ? dim0 : dim1;
    if (mine.owned(me) < mine.local())
      memset(dst, 0, own.outer * dst0 * own.mid * dst1 * own.inner);
    for (size_t peer = 0; peer < peers.size(); ++peer) {
      Segment parts0[2], parts1[2];
      int n0 = dim0.segments(first ? me : peer, parts0);
      int n1 = dim1.segments(first ? peer : me, parts1);
      for (int i = 0; i < n0; ++i)
        for (int j = 0; j < n1; ++j) {
          const Segment &a = parts0[i], &b = parts1[j];
          int64_t dstA = first ? a.local : a.global;
          int64_t dstB = first ? b.global : b.local;
          int64_t srcA = first ? a.global : a.local;
          int64_t srcB = first ? b.local : b.global;
          BoxCopy copy;
          copy.dst = dst + (dstA * own.mid * dst1 + dstB) * own.inner;
          copy.src = sourceOf(*peers[peer]) +
                     (srcA * own.mid * src1 + srcB) * own.inner;
          copy.bytes = b.size * own.inner;
          int64_t counts[3] = {own.outer, a.size, own.mid};
          for (int k = 0; k < 3; ++k)
            copy.count[k] = counts[k];
          copy.dstStride[2] = dst1 * own.inner;
          copy.srcStride[2] = src1 * own.inner;
          copy.dstStride[1] = own.mid * copy.dstStride[2];
          copy.srcStride[1] = own.mid * copy.srcStride[2];
          copy.dstStride[0] = dst0 * copy.dstStride[1];
          copy.srcStride[0] = src0 * copy.srcStride[1];
          runCopy(pool, copy);
        }
    }
  }

  ThreadPool &pool;
  const Transfer &own;
  const int64_t me;
  const std::vector<const Transfer *> peers;
  char *const dst;
};
} // namespace

void HostCommunicator::announce(const Flight &flight,
                                std::atomic<uint64_t> &mark) {
  mark.store(flight.number + 1);
  ring(*flight.group, flight.me);
}

std::vector<const Transfer *>
HostCommunicator::transfers(const Flight &flight) {
  std::vector<const Transfer *> result;
  for (size_t peer = 0; peer < flight.group->members.size(); ++peer)
    result.push_back(&post(*flight.group, peer, flight.number).transfer);
  return result;
}

bool HostCommunicator::pull(tsp_rank &rank, const Flight &flight, Post &own) {
  Puller(rank, own.transfer, flight.me, transfers(flight)).run();
  announce(flight, own.pulled);
  return waitReaders(rank, flight, own);
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
    if (!waitReaders(rank, flight, own))
      return false;
    memcpy(mine.dst, first, total * rowBytes);
    if (rowBytes2)
      memcpy(mine.dst2, second, total * rowBytes2);
    return true;
  }

  // Else each combines its slice, then all copy the slices of the others. A
  // rank's src outside its own slice is free once the others are done.
  Chunking slices{total, ranks, TSP_CONTIGUOUS,
                  std::max<int64_t>(1, 64 / std::max<int64_t>(1, rowBytes))};
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
  for (int64_t peer = 0; peer < ranks; ++peer) {
    if (peer == flight.me)
      continue;
    Post &theirs = post(*flight.group, peer, flight.number);
    if (!waitUntil(rank, flight, peer, "combined its part of", [&] {
          return theirs.reduced.load() == flight.number + 1;
        }))
      return false;
  }
  for (int64_t peer = 0; peer < ranks; ++peer) {
    if (peer == flight.me || slices.segments(peer, part) == 0)
      continue;
    BoxCopy copy;
    copy.dst = dst + part[0].global * rowBytes;
    copy.src = static_cast<const char *>(peers[peer]->dst) +
               part[0].global * rowBytes;
    copy.bytes = part[0].size * rowBytes;
    runCopy(rank.pool, copy);
    if (!dst2)
      continue;
    copy.dst = dst2 + part[0].global * rowBytes2;
    copy.src = static_cast<const char *>(peers[peer]->dst2) +
               part[0].global * rowBytes2;
    copy.bytes = part[0].size * rowBytes2;
    runCopy(rank.pool, copy);
  }
  announce(flight, own.pulled);
  return waitReaders(rank, flight, own);
}
