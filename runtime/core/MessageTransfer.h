//===- MessageTransfer.h - one transfer as messages -------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_MESSAGETRANSFER_H
#define TSP_RUNTIME_CORE_MESSAGETRANSFER_H

#include "core/BufferOps.h"

namespace tsp::runtime {

/// What carries the bytes of one rank's transfers between the members of a
/// group. Operations take effect in the order of the calls, at once or on a
/// stream. Functions throw an Error.
class Transport {
public:
  /// Bytes to or from a peer, in one piece.
  struct Message {
    int64_t peer;
    char *data;
    int64_t bytes;
  };
  /// Equal parts of all members, one after the other in `all`.
  struct Gather {
    const char *part;
    char *all;
    int64_t bytes; ///< of a part
  };
  /// A piece that one member sends to all; that member's `from` counts.
  struct Broadcast {
    int64_t root;
    const char *from;
    char *to;
    int64_t bytes;
  };

  virtual ~Transport() = default;

  virtual void exchange(const std::vector<Message> &sends,
                        const std::vector<Message> &receives) = 0;
  virtual void allGather(const std::vector<Gather> &gathers) = 0;
  virtual void broadcast(const std::vector<Broadcast> &pieces) = 0;
};

/// A transfer of one rank over a transport that only moves bytes: reductions
/// bring the parts together and combine them in the order of the ranks, so that
/// all backends give the same bits.
class MessageTransfer {
public:
  MessageTransfer(Transport &transport, BufferOps &ops,
                  const Transfer &transfer, int64_t me);

  void run();

private:
  void allGather();
  void broadcast();
  void exchange(); ///< all_to_all and send_recv
  void reduceScatter();
  void allReduce();
  void gatherAll(); ///< small all_reduces: all combine all
  void reduceSlice();
  void spreadSlices();

  void zeroPadding();
  /// Moves of this rank's own part.
  void moveOwn();
  char *stage(int64_t bytes) { return bytes ? transfer.stage(bytes) : nullptr; }

  Transport &transport;
  BufferOps &ops;
  const Transfer &transfer;
  const int64_t me, ranks;
  char *const dst;
  const char *const src;
};

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_MESSAGETRANSFER_H
