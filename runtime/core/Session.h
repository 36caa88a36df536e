//===- Session.h - the ranks of a context and what they share ---*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_SESSION_H
#define TSP_RUNTIME_CORE_SESSION_H

#include "core/Communicator.h"
#include "core/Processes.h"
#include "core/Rank.h"
#include "core/Roster.h"

#include <functional>
#include <mutex>
#include <unistd.h>

namespace tsp::runtime {

/// The running side of a context: rank threads that execute commands together.
struct Session {
  Session(const ModelDesc &model, const tsp_options &options);
  ~Session();

  /// Gives the ranks their devices and connects them. Throws an Error.
  void open();

  const ModelDesc &model;
  const tsp_options options;
  const int threads;    ///< of a rank
  const bool spin;      ///< whether waiting threads may burn time
  const int64_t origin; ///< time 0 of the trace

  // In this order: what comes later uses what comes first. Without other
  // processes there is no roster.
  std::unique_ptr<Processes> processes;
  std::unique_ptr<Roster> roster;
  std::unique_ptr<Backend> backend;
  std::vector<std::unique_ptr<tsp_rank>> ranks; ///< of this process
  std::unique_ptr<Communicator> communicator;

  /// A rank of this process, or null.
  tsp_rank *findRank(int64_t index) const;

  /// At the end: waits until all processes come here, so that an error of
  /// another one is this one's too, and throws it.
  void finish();

  /// Runs fn(rank) on every rank's main thread and waits for all. Throws the
  /// first error of any of them. A rank that is lost may still use fn: it
  /// captures no references to locals.
  void runOnRanks(std::function<void(tsp_rank &)> fn);

  /// Notes an error (the first one counts) and makes every waiting rank return.
  void fail(const std::string &message);
  bool failed() const { return aborted.load(std::memory_order_relaxed); }

  /// Whether a rank did not come back after a failure: its thread is lost and
  /// nothing can run any more.
  bool lost() const { return isLost || isForked(); }

  /// Whether this process is a fork of the one that made the session: its
  /// ranks' threads are not here, nor can it use the devices.
  bool isForked() const { return getpid() != owner; }

  /// Whether this is process 0, which reads and writes for all.
  bool isFirst() const { return !processes || processes->index() == 0; }
  void markLost() { isLost = true; }

  bool tracing() const { return options.trace != 0; }

private:
  /// When a rank was last seen to advance.
  struct Seen {
    uint64_t progress = 0;
    int64_t since = 0;
  };
  void rankLoop(tsp_rank &rank);
  void watchRanks(std::vector<Seen> &seen);
  void failHere(const std::string &message);
  void watchProcesses();
  std::string report() const;
  std::string lostText(int64_t process) const;

  const pid_t owner = getpid();
  std::atomic<bool> aborted{false}, stop{false};
  std::atomic<bool> isLost{false};
  bool isFinished = false;
  std::mutex errorMutex;
  std::string error;

  std::function<void(tsp_rank &)> command;
  std::atomic<uint64_t> generation{0};
  std::atomic<int64_t> running{0};
  Doorbell commandBell, doneBell;
  std::vector<std::thread> rankThreads;
};

/// Leaves compiled code after an error; never returns.
[[noreturn]] void unwind(tsp_rank &rank);

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_SESSION_H
