//===- MessageTransfer.cpp - one transfer as messages ---------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/MessageTransfer.h"

using namespace tsp::runtime;

MessageTransfer::MessageTransfer(Transport &transport, BufferOps &ops,
                                 const Transfer &transfer, int64_t me)
    : transport(transport), ops(ops), transfer(transfer), me(me),
      ranks(transfer.ranks()), dst(static_cast<char *>(transfer.dst)),
      src(static_cast<const char *>(transfer.src)) {}

void MessageTransfer::run() {
  switch (transfer.kind) {
  case Collective::AllGather:
    return allGather();
  case Collective::ReduceScatter:
    return reduceScatter();
  case Collective::AllReduce:
    return allReduce();
  case Collective::Broadcast:
    return broadcast();
  case Collective::AllToAll:
  case Collective::SendRecv:
    return exchange();
  }
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

void MessageTransfer::zeroPadding() {
  for (const Move &fill : zeroFills(transfer, me))
    ops.zero(fill, dst);
}

void MessageTransfer::moveOwn() {
  for (const Move &move : movesBetween(transfer, me, me))
    ops.move(move, dst, src);
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

/// One call for whole local parts, straight into dst where that has them one
/// after the other.
void MessageTransfer::allGather() {
  int64_t part = transfer.outer * transfer.dim.local() * transfer.inner;
  if (part == 0 || ranks == 1)
    return moveOwn();
  bool direct = transfer.outer == 1 && transfer.dim.layout == TSP_CONTIGUOUS &&
                transfer.dim.local() * ranks == transfer.dim.total;
  char *all = direct ? dst : stage(part * ranks);
  transport.allGather({{src, all, part}});
  for (int64_t peer = 0; !direct && peer < ranks; ++peer)
    for (const Move &move : movesBetween(transfer, me, peer))
      ops.move(move, dst, all + peer * part);
}

/// Every owner of a part of the interval broadcasts it.
void MessageTransfer::broadcast() {
  zeroPadding();
  if (ranks == 1)
    return moveOwn();
  std::vector<std::vector<Move>> moves;
  int64_t strided = 0; // bytes that have to be packed
  for (int64_t peer = 0; peer < ranks; ++peer) {
    moves.push_back(movesBetween(transfer, me, peer));
    for (const Move &move : moves.back())
      strided += move.dstDense() && move.srcDense() ? 0 : move.total();
  }
  char *next = stage(strided);
  for (const Move &move : moves[me])
    if (!(move.dstDense() && move.srcDense()))
      ops.move(move, dst, src);
  std::vector<Transport::Broadcast> pieces;
  std::vector<std::pair<Move, char *>> unpacks;
  for (int64_t peer = 0; peer < ranks; ++peer)
    for (const Move &move : moves[peer]) {
      const char *from = src + move.src;
      char *to = dst + move.dst;
      if (!(move.dstDense() && move.srcDense())) {
        if (peer == me)
          ops.move(move.packedDst(0), next, src);
        else
          unpacks.push_back({move.packedSrc(0), next});
        from = to = next;
        next += move.total();
      }
      pieces.push_back({peer, from, to, move.total()});
    }
  transport.broadcast(pieces);
  for (const auto &[move, from] : unpacks)
    ops.move(move, dst, from);
}

/// Sends to each peer what it needs, in one piece, and receives likewise.
void MessageTransfer::exchange() {
  zeroPadding();
  bool isPermute = transfer.kind == Collective::SendRecv;
  struct Part {
    int64_t peer;
    std::vector<Move> moves;
    bool direct; ///< one piece, which is used in place
  };
  std::vector<Part> outgoing, incoming;
  int64_t strided = 0;
  for (int64_t peer = 0; peer < ranks; ++peer) {
    Part out{peer, movesBetween(transfer, peer, me), false};
    Part in{peer, movesBetween(transfer, me, peer), false};
    out.direct = out.moves.size() == 1 && out.moves[0].srcDense();
    in.direct = in.moves.size() == 1 && in.moves[0].dstDense();
    if (peer == me) {
      if (!isPermute || transfer.source == me)
        moveOwn();
      continue;
    }
    if (!out.moves.empty() && (!isPermute || transfer.target == peer)) {
      strided += out.direct ? 0 : totalBytes(out.moves);
      outgoing.push_back(out);
    }
    if (!in.moves.empty() && (!isPermute || transfer.source == peer)) {
      strided += in.direct ? 0 : totalBytes(in.moves);
      incoming.push_back(in);
    }
  }
  char *next = stage(strided);
  std::vector<Transport::Message> sends, receives;
  for (const Part &out : outgoing) {
    int64_t bytes = totalBytes(out.moves);
    char *data = const_cast<char *>(src) + out.moves[0].src;
    if (!out.direct) {
      data = next;
      ops.pack(out.moves, data, src);
      next += bytes;
    }
    sends.push_back({out.peer, data, bytes});
  }
  for (const Part &in : incoming) {
    int64_t bytes = totalBytes(in.moves);
    char *data = in.direct ? dst + in.moves[0].dst : next;
    next += in.direct ? 0 : bytes;
    receives.push_back({in.peer, data, bytes});
  }
  transport.exchange(sends, receives);
  for (size_t i = 0; i < incoming.size(); ++i)
    if (!incoming[i].direct)
      ops.unpack(incoming[i].moves, dst, receives[i].data);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Whether moves between two ranks read one piece.
static bool readOnePiece(const std::vector<Move> &moves) {
  return moves.size() == 1 && moves[0].srcDense();
}

/// All parts for this rank come together, packed, and are combined.
void MessageTransfer::reduceScatter() {
  if (ranks == 1) {
    zeroPadding();
    return moveOwn();
  }
  std::vector<std::vector<Move>> outgoing;
  int64_t packed = 0; // of what is sent
  for (int64_t peer = 0; peer < ranks; ++peer) {
    outgoing.push_back(movesBetween(transfer, peer, me));
    if (peer != me && !readOnePiece(outgoing[peer]))
      packed += totalBytes(outgoing[peer]);
  }
  int64_t mine = totalBytes(outgoing[me]);
  bool scatters = BufferOps::needsScratch(outgoing[me]);
  char *parts = stage(mine * (ranks + scatters) + packed);
  char *next = parts + mine * ranks, *scratch = next + packed;
  std::vector<Transport::Message> sends, receives;
  std::vector<const void *> sources;
  for (int64_t peer = 0; peer < ranks; ++peer) {
    const std::vector<Move> &moves = outgoing[peer];
    int64_t bytes = totalBytes(moves);
    char *part = parts + peer * mine;
    if (peer != me && mine > 0)
      receives.push_back({peer, part, mine});
    char *data = const_cast<char *>(src) + (moves.empty() ? 0 : moves[0].src);
    if (!readOnePiece(moves)) {
      data = peer == me ? part : next;
      ops.pack(moves, data, src);
      next += peer == me ? 0 : bytes;
    }
    sources.push_back(peer == me ? data : part);
    if (peer != me && bytes > 0)
      sends.push_back({peer, data, bytes});
  }
  transport.exchange(sends, receives);
  ops.combineParts(transfer, me, sources, scratch);
}

void MessageTransfer::allReduce() {
  if (ranks == 1)
    return ops.combineRows(transfer, 0, transfer.dim.total, {src},
                           {transfer.src2});
  const int64_t small = int64_t(64) << 10;
  int64_t rowBytes =
      transfer.inner + (transfer.dtype2 < 0 ? 0 : dtypeSize(transfer.dtype2));
  if (transfer.dim.total * rowBytes <= small)
    return gatherAll();
  reduceSlice();
  spreadSlices();
}

void MessageTransfer::gatherAll() {
  int64_t bytes = transfer.dim.total * transfer.inner;
  int64_t bytes2 =
      transfer.dtype2 < 0 ? 0 : transfer.dim.total * dtypeSize(transfer.dtype2);
  if (bytes == 0)
    return;
  // The second halves begin at an aligned place.
  int64_t begin2 = (bytes * ranks + 63) / 64 * 64;
  char *all = stage(begin2 + bytes2 * ranks);
  std::vector<Transport::Gather> gathers = {{src, all, bytes}};
  if (bytes2)
    gathers.push_back(
        {static_cast<const char *>(transfer.src2), all + begin2, bytes2});
  transport.allGather(gathers);
  std::vector<const void *> parts, parts2;
  for (int64_t peer = 0; peer < ranks; ++peer) {
    parts.push_back(all + peer * bytes);
    if (bytes2)
      parts2.push_back(all + begin2 + peer * bytes2);
  }
  ops.combineRows(transfer, 0, transfer.dim.total, parts, parts2);
}

/// Each rank receives its slice from all others and combines them into dst.
void MessageTransfer::reduceSlice() {
  Chunking slices = reduceSlices(transfer);
  Segment mine[2] = {}, theirs[2];
  int64_t rows = slices.segments(me, mine) ? mine[0].size : 0;
  int64_t size2 = transfer.dtype2 < 0 ? 0 : dtypeSize(transfer.dtype2);
  int64_t bytes = rows * transfer.inner, bytes2 = rows * size2;
  int64_t begin2 = (bytes * ranks + 63) / 64 * 64;
  char *all = stage(begin2 + bytes2 * ranks);
  auto src2 = static_cast<const char *>(transfer.src2);
  std::vector<Transport::Message> sends, receives;
  std::vector<const void *> parts, parts2;
  for (int64_t peer = 0; peer < ranks; ++peer) {
    if (peer == me) {
      parts.push_back(src + mine[0].global * transfer.inner);
      if (size2)
        parts2.push_back(src2 + mine[0].global * size2);
      continue;
    }
    parts.push_back(all + peer * bytes);
    if (size2)
      parts2.push_back(all + begin2 + peer * bytes2);
    if (rows) {
      receives.push_back({peer, all + peer * bytes, bytes});
      if (size2)
        receives.push_back({peer, all + begin2 + peer * bytes2, bytes2});
    }
    if (slices.segments(peer, theirs) == 0)
      continue;
    sends.push_back(
        {peer, const_cast<char *>(src) + theirs[0].global * transfer.inner,
         theirs[0].size * transfer.inner});
    if (size2)
      sends.push_back({peer,
                       const_cast<char *>(src2) + theirs[0].global * size2,
                       theirs[0].size * size2});
  }
  transport.exchange(sends, receives);
  if (rows)
    ops.combineRows(transfer, mine[0].global, rows, parts, parts2);
}

void MessageTransfer::spreadSlices() {
  Chunking slices = reduceSlices(transfer);
  int64_t size2 = transfer.dtype2 < 0 ? 0 : dtypeSize(transfer.dtype2);
  auto dst2 = static_cast<char *>(transfer.dst2);
  std::vector<Transport::Broadcast> pieces;
  for (int64_t peer = 0; peer < ranks; ++peer) {
    Segment slice[2];
    if (slices.segments(peer, slice) == 0)
      continue;
    auto spread = [&](char *buffer, int64_t rowBytes) {
      char *data = buffer + slice[0].global * rowBytes;
      pieces.push_back({peer, data, data, slice[0].size * rowBytes});
    };
    spread(dst, transfer.inner);
    if (size2)
      spread(dst2, size2);
  }
  transport.broadcast(pieces);
}
