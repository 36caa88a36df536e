//===- PlanMoves.cpp - which bytes an operation sends where ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nccl/Exchange.h"

#include <algorithm>

using namespace tsp::emulation;

namespace {
class Planner {
public:
  Planner(const Operation &operation, int rank, int ranks)
      : operation(operation), rank(rank), ranks(ranks),
        elementBytes(sizeOf(ncclDataType_t(operation.signature.type))) {}

  void send(int peer, const char *from, size_t bytes, int after = -1) {
    Move move;
    move.kind = Move::Send;
    move.peer = peer;
    move.from = from;
    move.bytes = bytes;
    move.after = after;
    moves.push_back(std::move(move));
  }

  void receive(int peer, char *to, size_t bytes) {
    Move move;
    move.kind = Move::Receive;
    move.peer = peer;
    move.to = to;
    move.bytes = bytes;
    moves.push_back(std::move(move));
  }

  /// A copy within the rank, unless the buffer is used in place.
  void copy(const char *from, char *to, size_t bytes) {
    if (from == to)
      return;
    Move move;
    move.from = from;
    move.to = to;
    move.bytes = bytes;
    moves.push_back(std::move(move));
  }

  /// Sums `count` elements of all ranks, own ones from `own`, in the order of
  /// the ranks. Returns the move that writes the sum.
  int combine(const char *own, char *to, size_t count) {
    auto sum = std::make_shared<Accumulator>(
        ncclDataType_t(operation.signature.type),
        ncclRedOp_t(operation.signature.reduction), count);
    int last = -1;
    for (int peer = 0; peer < ranks; ++peer) {
      Move move;
      move.kind = peer == rank ? Move::Combine : Move::Receive;
      move.peer = peer;
      move.from = own;
      move.bytes = count * elementBytes;
      move.after = last;
      move.sum = sum;
      move.setsSum = peer == 0;
      last = int(moves.size());
      moves.push_back(std::move(move));
    }
    Move move;
    move.kind = Move::Finish;
    move.to = to;
    move.after = last;
    move.sum = sum;
    moves.push_back(std::move(move));
    return int(moves.size()) - 1;
  }

  template <typename Function> void forPeers(Function function) {
    for (int peer = 0; peer < ranks; ++peer)
      if (peer != rank)
        function(peer);
  }

  void allReduce();
  std::vector<Move> plan();

private:
  const Operation &operation;
  int rank, ranks;
  size_t elementBytes;
  std::vector<Move> moves;
};
} // namespace

/// Each rank sums a slice, then all get all slices.
void Planner::allReduce() {
  size_t count = operation.signature.count;
  size_t slice = (count + ranks - 1) / ranks;
  auto begin = [&](int p) { return std::min(count, slice * p); };
  auto offset = [&](int p) { return begin(p) * elementBytes; };
  auto length = [&](int p) { return offset(p + 1) - offset(p); };
  forPeers([&](int p) { send(p, operation.send + offset(p), length(p)); });
  char *own = operation.receive + offset(rank);
  int sum = combine(operation.send + offset(rank), own,
                    begin(rank + 1) - begin(rank));
  forPeers([&](int p) {
    send(p, own, length(rank), sum);
    receive(p, operation.receive + offset(p), length(p));
  });
}

std::vector<Move> Planner::plan() {
  const char *from = operation.send;
  char *to = operation.receive;
  size_t bytes = operation.bytes();
  int root = operation.signature.root;
  bool isRoot = rank == root;
  switch (operation.signature.call) {
  case Call::None:
    break;
  case Call::Send:
    send(root, from, bytes);
    break;
  case Call::Recv:
    receive(root, to, bytes);
    break;
  case Call::AllGather:
    forPeers([&](int p) {
      send(p, from, bytes);
      receive(p, to + p * bytes, bytes);
    });
    copy(from, to + rank * bytes, bytes);
    break;
  case Call::AlltoAll:
    forPeers([&](int p) {
      send(p, from + p * bytes, bytes);
      receive(p, to + p * bytes, bytes);
    });
    copy(from + rank * bytes, to + rank * bytes, bytes);
    break;
  case Call::Broadcast:
    if (isRoot) {
      forPeers([&](int p) { send(p, from, bytes); });
      copy(from, to, bytes);
    } else {
      receive(root, to, bytes);
    }
    break;
  case Call::Gather:
    if (isRoot) {
      forPeers([&](int p) { receive(p, to + p * bytes, bytes); });
      copy(from, to + rank * bytes, bytes);
    } else {
      send(root, from, bytes);
    }
    break;
  case Call::Scatter:
    if (isRoot) {
      forPeers([&](int p) { send(p, from + p * bytes, bytes); });
      copy(from + rank * bytes, to, bytes);
    } else {
      receive(root, to, bytes);
    }
    break;
  case Call::Reduce:
    if (isRoot)
      combine(from, to, operation.signature.count);
    else
      send(root, from, bytes);
    break;
  case Call::ReduceScatter:
    forPeers([&](int p) { send(p, from + p * bytes, bytes); });
    combine(from + rank * bytes, to, operation.signature.count);
    break;
  case Call::AllReduce:
    allReduce();
    break;
  }
  return std::move(moves);
}

std::vector<Move> tsp::emulation::planMoves(const Operation &operation,
                                            int rank, int ranks) {
  return Planner(operation, rank, ranks).plan();
}
