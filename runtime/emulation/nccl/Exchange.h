//===- Exchange.h - one rank's part of a group of calls ---------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_NCCL_EXCHANGE_H
#define TSP_EMULATION_NCCL_EXCHANGE_H

#include "nccl/DataTypes.h"
#include "nccl/Segment.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tsp::emulation {

/// One move of data of a rank. The rank's moves with the same peer and
/// direction happen in their order; apart from that a move waits only for
/// `after`.
struct Move {
  enum Kind { Send, Receive, Copy, Combine, Finish };
  Kind kind = Copy;
  int peer = 0;
  const char *from = nullptr;
  char *to = nullptr;
  size_t bytes = 0;
  /// Index of a move that has to end first; -1: none.
  int after = -1;
  /// Of Receive (combining), Combine and Finish.
  std::shared_ptr<Accumulator> sum;
  bool setsSum = false;

  /// The call that it belongs to; collectives are numbered from 1.
  Signature signature;
  uint64_t number = 0;

  bool isStarted = false;
  bool isDone = false;
  /// The checker knows that it comes after the sender's start.
  bool isOrdered = false;
  /// Bytes that have gone, and when a simulated link has delivered them.
  size_t moved = 0;
  int64_t deliveredAt = 0;
};

/// The moves of an operation on one rank: who sends which bytes to whom, and in
/// which order ranks are summed.
std::vector<Move> planMoves(const Operation &operation, int rank, int ranks);

/// Runs operations of one rank against those of the others.
class Exchange {
public:
  Exchange(Segment &segment, int rank, int device);

  /// Asked now and then; once it says true nothing more is touched.
  using IsAborted = std::function<bool()>;

  /// Runs collectives one by one, and sends and receives all at once. False if
  /// the communicator has failed or is aborted.
  /// `token`: of the driver, for this work.
  bool run(const std::vector<Operation> &operations, void *token,
           const IsAborted &isAborted);

  /// After a failure or an abort, which the others know of: waits until none of
  /// them reads this rank's buffers any more.
  void waitForReaders();

private:
  bool announce(const Signature &signature);
  bool runMoves(std::vector<Move> moves, const IsAborted &isAborted);
  bool step(std::vector<Move> &moves);
  void advance(Move &move);
  void advanceSend(Move &move);
  void advanceReceive(Move &move);
  bool checkMessage(const Channel &channel, const Move &move);
  void consume(Move &move, const char *data, size_t bytes);
  /// Fails if a peer of an unfinished move is gone, or nothing has moved for
  /// too long. Of a move that could go on the bell has rung since `ticket`.
  void checkPeers(const std::vector<Move> &moves, uint32_t ticket);
  std::string nameOfSelf() const;
  void fail(ncclResult_t code, const std::string &why);

  Segment &segment;
  void *token = nullptr;
  int rank;
  int device;
  /// The last collective.
  uint64_t number = 0;
  int64_t lastProgress = 0;
  /// When a link delivers next; INT64_MAX: nothing is on its way.
  int64_t nextDelivery = 0;
};

/// Seconds after which a rank that nobody answers gives up, as
/// TSP_EMULATION_TIMEOUT tells; 0 if that is no positive number.
double timeoutSeconds();

} // namespace tsp::emulation

#endif // TSP_EMULATION_NCCL_EXCHANGE_H
