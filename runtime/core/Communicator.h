//===- Communicator.h - how a backend moves data between ranks --*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_COMMUNICATOR_H
#define TSP_RUNTIME_CORE_COMMUNICATOR_H

#include "core/Transfer.h"

struct tsp_rank;

namespace tsp::runtime {

class Block;

/// A backend's collectives. Functions return false after Session::fail; the
/// caller then leaves the compiled code.
class Communicator {
public:
  virtual ~Communicator() = default;

  /// Connects the ranks, once they have their devices. Throws an Error.
  virtual void open() {}

  /// A block of a rank that its transfers will use, as long as this object
  /// lives. On the rank's main thread.
  virtual void addMemory(tsp_rank &, const Block &) {}

  /// Before each call of an entry, while no rank runs.
  virtual void reset() = 0;

  /// Begins a transfer; gives the event to wait for.
  virtual bool start(tsp_rank &rank, const Transfer &transfer,
                     tsp_event &event) = 0;

  /// Completes a transfer.
  virtual bool wait(tsp_rank &rank, tsp_event event) = 0;

  /// Which transfer in flight forbids that the rank reads (or writes) this part
  /// of its memory, "the target of all_gather of ..", or "".
  virtual std::string findConflict(const tsp_rank &rank,
                                   const Transfer::Range &range,
                                   bool writes) const = 0;

  /// Number of transfers that a rank started and did not wait for.
  virtual int64_t pending(const tsp_rank &rank) const = 0;

  /// Looks for errors of the transport while a rank waits for its device; calls
  /// Session::fail when there are any.
  virtual void poll(tsp_rank &) {}

  /// What a rank's device may be waiting for, for the message about a device
  /// that does nothing: a sentence, or "".
  virtual std::string waitingText(tsp_rank &) { return ""; }

  /// Wakes all ranks that wait, after Session::fail.
  virtual void wakeAll() = 0;
};

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_COMMUNICATOR_H
