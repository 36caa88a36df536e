//===- Workers.h - the threads that run blocks --------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_WORKERS_H
#define TSP_EMULATION_EXEC_WORKERS_H

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>

namespace tsp::emulation {

/// Threads of the process that share the blocks of all launches.
class Workers {
public:
  /// Never destroyed: a process may exit while they wait.
  static Workers &get();

  /// Before the first run.
  void setCount(unsigned count);

  /// Calls `share` on as many threads as are free, at least on one; each call
  /// takes work until none is left. Returns when all calls have.
  void run(const std::function<void()> &share);

private:
  struct Job {
    const std::function<void()> *share;
    unsigned running = 0;
    bool exhausted = false;
  };
  void start();
  void work();

  std::mutex mutex;
  std::condition_variable wake, done;
  std::list<Job *> jobs;
  unsigned count = 0;
  bool started = false;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_WORKERS_H
