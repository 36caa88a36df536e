//===- Exchange.cpp - one rank's part of a group of calls -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nccl/Exchange.h"

#include "driver/Enqueue.h"
#include "nccl/Link.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

using namespace tsp::emulation;

/// How often a rank that waits looks whether its peers still live.
constexpr int64_t checkIntervalNs = 20000000;

double tsp::emulation::timeoutSeconds() {
  static const double seconds = [] {
    const char *text = getenv("TSP_EMULATION_TIMEOUT");
    if (!text || !*text)
      return 300.0;
    char *end;
    double value = strtod(text, &end);
    return *end == '\0' && value > 0 ? value : 0;
  }();
  return seconds;
}

Exchange::Exchange(Segment &segment, int rank, int device)
    : segment(segment), rank(rank), device(device) {}

std::string Exchange::nameOfSelf() const {
  return "rank " + std::to_string(rank) + " (device " + std::to_string(device) +
         ")";
}

void Exchange::fail(ncclResult_t code, const std::string &why) {
  segment.fail(code, why);
}

bool Exchange::announce(const Signature &signature) {
  ++number;
  Member &self = segment.member(rank);
  Member::Entry &own = self.collectives[number % Member::history];
  own.signature = signature;
  own.number = number;
  self.lastCollective = number;
  // All wrote theirs before they look: of two ranks that differ at least the
  // later one sees it.
  for (int peer = 0; peer < segment.ranks(); ++peer) {
    Member::Entry &entry =
        segment.member(peer).collectives[number % Member::history];
    if (entry.number != number || agree(entry.signature, signature))
      continue;
    fail(ncclInvalidUsage,
         "collective " + std::to_string(number) + " differs: rank " +
             std::to_string(rank) + " calls " + signature.str() + ", rank " +
             std::to_string(peer) + " calls " + entry.signature.str());
    return false;
  }
  return true;
}

bool Exchange::run(const std::vector<Operation> &operations, void *workToken,
                   const IsAborted &isAborted) {
  token = workToken;
  std::vector<Move> together;
  for (const Operation &operation : operations) {
    bool isCollective = !operation.isPointToPoint();
    if (isCollective && !announce(operation.signature))
      return false;
    std::vector<Move> moves = planMoves(operation, rank, segment.ranks());
    for (Move &move : moves) {
      move.signature = operation.signature;
      move.number = isCollective ? number : 0;
      if (!isCollective)
        together.push_back(move);
    }
    if (isCollective && !runMoves(std::move(moves), isAborted))
      return false;
  }
  return runMoves(std::move(together), isAborted);
}

bool Exchange::runMoves(std::vector<Move> moves, const IsAborted &isAborted) {
  lastProgress = monotonicNs();
  while (true) {
    uint32_t ticket = segment.member(rank).bell;
    nextDelivery = INT64_MAX;
    bool moved = step(moves);
    std::string why;
    if (isAborted() || segment.failure(why))
      return false;
    bool allDone = std::all_of(moves.begin(), moves.end(),
                               [](const Move &move) { return move.isDone; });
    if (allDone)
      return true;
    int64_t now = monotonicNs();
    if (moved) {
      lastProgress = now;
      continue;
    }
    int64_t wait = std::min(checkIntervalNs, nextDelivery - now);
    if (wait > 0)
      segment.sleep(rank, ticket, wait);
    if (wait == checkIntervalNs && segment.member(rank).bell == ticket)
      checkPeers(moves, ticket);
  }
}

/// Goes on with all moves that can; true if any did.
bool Exchange::step(std::vector<Move> &moves) {
  // Of moves with one peer in one direction only the first goes on.
  std::vector<bool> sending(segment.ranks()), receiving(segment.ranks());
  bool any = false;
  for (Move &move : moves) {
    if (move.isDone)
      continue;
    bool isHead = true;
    if (move.kind == Move::Send || move.kind == Move::Receive) {
      auto &busy = move.kind == Move::Send ? sending : receiving;
      isHead = !busy[move.peer];
      busy[move.peer] = true;
    }
    bool mayStart = move.after < 0 || moves[move.after].isDone;
    if (!isHead || !mayStart)
      continue;
    size_t before = move.moved;
    bool wasStarted = move.isStarted;
    advance(move);
    any |= move.isDone || move.moved != before || move.isStarted != wasStarted;
  }
  return any;
}

void Exchange::advance(Move &move) {
  switch (move.kind) {
  case Move::Send:
    return advanceSend(move);
  case Move::Receive:
    return advanceReceive(move);
  case Move::Copy:
    memmove(move.to, move.from, move.bytes);
    break;
  case Move::Combine:
    consume(move, move.from, move.bytes);
    break;
  case Move::Finish:
    move.sum->finish(move.to, segment.ranks());
    break;
  }
  move.isDone = true;
}

void Exchange::advanceSend(Move &move) {
  Channel &channel = segment.channel(rank, move.peer);
  if (!move.isStarted) {
    channel.signature = move.signature;
    channel.number = move.number;
    channel.bytes = move.bytes;
    channel.source = move.from;
    channel.sender = token;
    channel.produced = 0;
    channel.consumed = 0;
    channel.posted = channel.posted + 1;
    move.isStarted = true;
    segment.ring(move.peer);
  }
  if (!segment.isInThisProcess(move.peer)) {
    while (move.moved < move.bytes) {
      size_t space = Channel::ringBytes - (move.moved - channel.consumed);
      size_t offset = move.moved % Channel::ringBytes;
      size_t size = std::min(
          {space, Channel::ringBytes - offset, move.bytes - move.moved});
      if (size == 0)
        return;
      memcpy(channel.ring + offset, move.from + move.moved, size);
      move.moved += size;
      channel.produced = move.moved;
      segment.ring(move.peer);
    }
  }
  move.isDone = channel.taken == channel.posted;
}

/// Takes bytes of a move: to their place, or into a sum.
void Exchange::consume(Move &move, const char *data, size_t bytes) {
  if (!move.sum) {
    memcpy(move.to + move.moved, data, bytes);
  } else {
    size_t size = sizeOf(ncclDataType_t(move.signature.type));
    move.sum->add(data, move.moved / size, bytes / size, move.setsSum);
  }
  move.moved += bytes;
}

/// Whether the message is the one that the move waits for.
bool Exchange::checkMessage(const Channel &channel, const Move &move) {
  const Signature &sent = channel.signature;
  bool fits = channel.bytes == move.bytes && channel.number == move.number;
  if (move.number)
    fits &= agree(sent, move.signature);
  else
    fits &= sent.call == Call::Send && sent.type == move.signature.type;
  if (fits)
    return true;
  auto numbered = [](uint64_t number) {
    return number ? " as collective " + std::to_string(number) : std::string();
  };
  fail(ncclInvalidUsage, "rank " + std::to_string(move.peer) + " calls " +
                             sent.str() + numbered(channel.number) + ", but " +
                             nameOfSelf() + " calls " + move.signature.str() +
                             numbered(move.number));
  return false;
}

void Exchange::advanceReceive(Move &move) {
  Channel &channel = segment.channel(move.peer, rank);
  if (!move.isStarted) {
    if (channel.posted == channel.taken)
      return;
    if (!checkMessage(channel, move))
      return;
    move.isStarted = true;
    move.deliveredAt = deliveryTimeNs(device, move.bytes);
  }
  if (segment.isInThisProcess(move.peer)) {
    // The sender sees the mark before it gives its buffer up, or this sees that
    // it may have done so.
    channel.isRead = 1;
    bool isThere = !segment.mayVanish(move.peer);
    if (isThere && move.moved < move.bytes)
      consume(move, channel.source, move.bytes);
    if (isThere && !move.isOrdered)
      tspEmulationFollow(token, channel.sender);
    move.isOrdered = true;
    channel.isRead = 0;
    if (!isThere)
      return;
  } else {
    while (move.moved < channel.produced) {
      size_t offset = move.moved % Channel::ringBytes;
      size_t size = std::min<size_t>(channel.produced - move.moved,
                                     Channel::ringBytes - offset);
      consume(move, channel.ring + offset, size);
      channel.consumed = move.moved;
      segment.ring(move.peer);
    }
  }
  if (move.moved < move.bytes)
    return;
  if (monotonicNs() < move.deliveredAt) {
    nextDelivery = std::min(nextDelivery, move.deliveredAt);
    return;
  }
  move.isDone = true;
  channel.taken = channel.taken + 1;
  segment.ring(move.peer);
}

void Exchange::waitForReaders() {
  for (int peer = 0; peer < segment.ranks(); ++peer)
    while (segment.isInThisProcess(peer) && segment.channel(rank, peer).isRead)
      std::this_thread::yield();
}

void Exchange::checkPeers(const std::vector<Move> &moves, uint32_t ticket) {
  bool late = double(monotonicNs() - lastProgress) > timeoutSeconds() * 1e9;
  for (const Move &move : moves) {
    if (move.isDone || move.peer == rank)
      continue;
    auto waits = [&] {
      std::string which = move.number ? " " + std::to_string(move.number) : "";
      return nameOfSelf() + " waits in " +
             (move.number ? "collective" + which + ", " : "") +
             move.signature.str() + ", for rank " + std::to_string(move.peer);
    };
    std::string gone = segment.whyGone(move.peer);
    // What it did before it went has rung the bell.
    if (!gone.empty() && segment.member(rank).bell == ticket)
      return fail(ncclRemoteError, gone + ": " + waits());
    if (late)
      return fail(ncclRemoteError,
                  waits() + ", whose last collective is " +
                      std::to_string(segment.member(move.peer).lastCollective) +
                      ", since " + std::to_string(int(timeoutSeconds())) +
                      " s");
  }
}
