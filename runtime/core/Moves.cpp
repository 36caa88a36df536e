//===- Moves.cpp - which bytes of a transfer go where ---------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Moves.h"

using namespace tsp::runtime;

bool Move::isDense(const int64_t (&stride)[3]) const {
  int64_t expected = bytes;
  for (int i = 2; i >= 0; --i) {
    if (count[i] != 1 && stride[i] != expected)
      return false;
    expected *= count[i];
  }
  return true;
}

static void pack(const Move &move, int64_t (&stride)[3]) {
  stride[2] = move.bytes;
  stride[1] = stride[2] * move.count[2];
  stride[0] = stride[1] * move.count[1];
}

Move Move::packedDst(int64_t offset) const {
  Move result = *this;
  result.dst = offset;
  pack(*this, result.dstStride);
  return result;
}

Move Move::packedSrc(int64_t offset) const {
  Move result = *this;
  result.src = offset;
  pack(*this, result.srcStride);
  return result;
}

/// [outer] rows of `size` elements between two strided buffers.
static Move block(const Transfer &transfer, int64_t dstBegin, int64_t dstTotal,
                  int64_t srcBegin, int64_t srcTotal, int64_t size) {
  Move move;
  move.dst = dstBegin * transfer.inner;
  move.src = srcBegin * transfer.inner;
  move.bytes = size * transfer.inner;
  move.count[2] = transfer.outer;
  move.dstStride[2] = dstTotal * transfer.inner;
  move.srcStride[2] = srcTotal * transfer.inner;
  return move;
}

static void gatherMoves(const Transfer &transfer, int64_t from,
                        std::vector<Move> &moves) {
  Segment parts[2];
  for (int i = 0, n = transfer.dim.segments(from, parts); i < n; ++i)
    moves.push_back(block(transfer, parts[i].global, transfer.dim.total,
                          parts[i].local, transfer.dim.local(), parts[i].size));
}

static void scatterMoves(const Transfer &transfer, int64_t to,
                         std::vector<Move> &moves) {
  Segment parts[2];
  for (int i = 0, n = transfer.dim.segments(to, parts); i < n; ++i)
    moves.push_back(block(transfer, parts[i].local, transfer.dim.local(),
                          parts[i].global, transfer.dim.total, parts[i].size));
}

static void broadcastMoves(const Transfer &transfer, int64_t from,
                           std::vector<Move> &moves) {
  int64_t begin = transfer.offset, end = transfer.offset + transfer.size;
  Segment parts[2];
  for (int i = 0, n = transfer.dim.segments(from, parts); i < n; ++i) {
    int64_t first = std::max(begin, parts[i].global);
    int64_t last = std::min(end, parts[i].global + parts[i].size);
    if (first < last)
      moves.push_back(block(transfer, first - begin, transfer.size,
                            parts[i].local + first - parts[i].global,
                            transfer.dim.local(), last - first));
  }
}

static void allToAllMoves(const Transfer &transfer, int64_t to, int64_t from,
                          std::vector<Move> &moves) {
  const Chunking &dim0 = transfer.dim, &dim1 = transfer.dim1;
  bool first = transfer.split == 0; // dim 0 becomes local, dim 1 whole
  int64_t dst0 = first ? dim0.local() : dim0.total;
  int64_t dst1 = first ? dim1.total : dim1.local();
  int64_t src0 = first ? dim0.total : dim0.local();
  int64_t src1 = first ? dim1.local() : dim1.total;
  Segment parts0[2], parts1[2];
  int n0 = dim0.segments(first ? to : from, parts0);
  int n1 = dim1.segments(first ? from : to, parts1);
  for (int i = 0; i < n0; ++i)
    for (int j = 0; j < n1; ++j) {
      const Segment &a = parts0[i], &b = parts1[j];
      int64_t dstA = first ? a.local : a.global;
      int64_t dstB = first ? b.global : b.local;
      int64_t srcA = first ? a.global : a.local;
      int64_t srcB = first ? b.local : b.global;
      Move move;
      move.dst = (dstA * transfer.mid * dst1 + dstB) * transfer.inner;
      move.src = (srcA * transfer.mid * src1 + srcB) * transfer.inner;
      move.bytes = b.size * transfer.inner;
      int64_t counts[3] = {transfer.outer, a.size, transfer.mid};
      std::copy(counts, counts + 3, move.count);
      move.dstStride[2] = dst1 * transfer.inner;
      move.srcStride[2] = src1 * transfer.inner;
      move.dstStride[1] = transfer.mid * move.dstStride[2];
      move.srcStride[1] = transfer.mid * move.srcStride[2];
      move.dstStride[0] = dst0 * move.dstStride[1];
      move.srcStride[0] = src0 * move.srcStride[1];
      moves.push_back(move);
    }
}

std::vector<Move> tsp::runtime::movesBetween(const Transfer &transfer,
                                             int64_t to, int64_t from) {
  std::vector<Move> moves;
  switch (transfer.kind) {
  case Collective::AllGather:
    gatherMoves(transfer, from, moves);
    break;
  case Collective::ReduceScatter:
    scatterMoves(transfer, to, moves);
    break;
  case Collective::Broadcast:
    broadcastMoves(transfer, from, moves);
    break;
  case Collective::AllToAll:
    allToAllMoves(transfer, to, from, moves);
    break;
  case Collective::SendRecv: {
    Move move;
    move.bytes = transfer.inner;
    moves.push_back(move);
    break;
  }
  case Collective::AllReduce:
    break;
  }
  moves.erase(std::remove_if(moves.begin(), moves.end(),
                             [](const Move &move) { return !move.total(); }),
              moves.end());
  return moves;
}

std::vector<Move> tsp::runtime::zeroFills(const Transfer &transfer,
                                          int64_t me) {
  std::vector<Move> fills;
  auto whole = [&](int64_t bytes) {
    Move fill;
    fill.bytes = bytes;
    fills.push_back(fill);
  };
  switch (transfer.kind) {
  case Collective::ReduceScatter:
    if (transfer.dim.owned(me) < transfer.dim.local())
      whole(transfer.outer * transfer.dim.local() * transfer.inner);
    break;
  case Collective::AllToAll: {
    bool first = transfer.split == 0;
    const Chunking &mine = first ? transfer.dim : transfer.dim1;
    const Chunking &other = first ? transfer.dim1 : transfer.dim;
    if (mine.owned(me) < mine.local())
      whole(transfer.outer * transfer.mid * mine.local() * other.total *
            transfer.inner);
    break;
  }
  case Collective::Broadcast: {
    int64_t begin = transfer.offset, end = transfer.offset + transfer.size;
    if (begin < 0)
      fills.push_back(block(transfer, 0, transfer.size, 0, 0,
                            std::min(transfer.size, -begin)));
    int64_t tail = std::max(begin, transfer.dim.total);
    if (end > tail)
      fills.push_back(
          block(transfer, tail - begin, transfer.size, 0, 0, end - tail));
    break;
  }
  case Collective::SendRecv:
    if (transfer.source < 0)
      whole(transfer.inner);
    break;
  case Collective::AllGather:
  case Collective::AllReduce:
    break;
  }
  return fills;
}

int64_t tsp::runtime::totalBytes(const std::vector<Move> &moves) {
  int64_t sum = 0;
  for (const Move &move : moves)
    sum += move.total();
  return sum;
}

Chunking tsp::runtime::reduceSlices(const Transfer &transfer) {
  int64_t rows = 64 / std::max<int64_t>(1, transfer.inner);
  return {transfer.dim.total, transfer.ranks(), TSP_CONTIGUOUS,
          std::max<int64_t>(1, rows)};
}
