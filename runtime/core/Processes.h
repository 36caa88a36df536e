//===- Processes.h - the processes that run a model together ----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_PROCESSES_H
#define TSP_RUNTIME_CORE_PROCESSES_H

#include "core/Launch.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace tsp::runtime {

/// Lines between process 0 and all others, for everything but the transfers:
/// making communicators, collecting results, and errors, which end all
/// processes. Collective functions are called by all processes, in one order.
/// They throw an Error when a process is lost or reports an error.
class Processes {
public:
  /// What happens on the lines' own thread.
  struct Events {
    /// An error of another process, or one that is gone.
    std::function<void(const std::string &message)> failed;
    /// Every `interval`: what process 0 should know.
    std::function<std::string()> report;
    /// At process 0: what a process (0 too) has reported. Returns an error
    /// that this shows, or "".
    std::function<std::string(int64_t process, const std::string &report)>
        reported;
    /// At process 0: the error to tell when a process is gone.
    std::function<std::string(int64_t process)> lost;
  };

  /// Meets the others; gives up after `timeoutSeconds`. Process 0 may already
  /// have a listening socket, which is closed in the end.
  Processes(const ProcessLaunch &launch, double timeoutSeconds,
            int listening = -1);
  ~Processes();

  int64_t index() const { return launch.index; }
  int64_t count() const { return launch.count; }
  const ProcessLaunch &how() const { return launch; }

  /// Where the others reach this process: its address on the way to process 0,
  /// or "" on that one's machine, which they know.
  std::string address() const;

  /// From here on errors and reports are handed over.
  void watch(Events newEvents);
  /// Until here; a running handler has ended.
  void unwatch();

  /// Process 0's data for all.
  void broadcast(std::string &data);
  /// The data of all, by process, at process 0.
  std::vector<std::string> gather(const std::string &mine);
  /// One piece of data, from another process to process 0.
  void sendToFirst(const std::string &data);
  std::string receive(int64_t process);

  /// Reports now.
  void report();

  /// Tells all others about an error of this process.
  void fail(const std::string &message);
  bool failed() const { return hasFailed.load(); }
  std::string error();

  /// At the end: waits until all others come here too or an error ends them;
  /// throws that error.
  void finish();

private:
  enum Kind : uint32_t { Data = 1, Report, Abort, Bye };

  /// The line to one other process.
  struct Line {
    int socket = -1;
    std::mutex sending;
    std::string received; ///< not yet a whole frame
    std::deque<std::string> data;
    bool bye = false, closed = false;
  };

  void acceptAll(double timeoutSeconds, int listening);
  void connectToFirst(double timeoutSeconds);
  void send(int64_t process, Kind kind, const std::string &data);
  void sendAll(Kind kind, const std::string &data, int64_t except);
  void loop();
  std::string lostText(int64_t process);
  bool readLine(int64_t process);
  void handle(int64_t process, Kind kind, std::string data);
  void note(const std::string &message, int64_t from);
  void announced();
  void waitForAnnouncement(std::unique_lock<std::mutex> &lock);

  const ProcessLaunch launch;
  std::vector<std::unique_ptr<Line>> lines; ///< by process; null: none
  std::mutex handling; ///< while a handler of an error runs
  std::mutex mutex;    ///< of the data, the error and the events
  std::condition_variable changed;
  Events events;
  std::atomic<bool> hasFailed{false}, stop{false};
  std::string message;
  bool isAnnounced = false; ///< the others know of the failure
  int wake[2] = {-1, -1};   ///< a pipe that ends the thread's sleep
  std::thread thread;
};

/// Meets the processes that a launcher started; null when there is but one.
/// Without an address in the environment MPI has to carry it.
std::unique_ptr<Processes> meetProcesses(double timeoutSeconds);

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_PROCESSES_H
