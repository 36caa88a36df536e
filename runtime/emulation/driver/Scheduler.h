//===- Scheduler.h - order in which work of the devices runs ----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_DRIVER_SCHEDULER_H
#define TSP_EMULATION_DRIVER_SCHEDULER_H

#include "driver/TaskOrder.h"

#include <condition_variable>
#include <cstdint>
#include <cuda.h>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

namespace tsp::emulation {

/// What a task does. It returns an error of the device or CUDA_SUCCESS, or
/// nothing when somebody will call Scheduler::finish later.
using Work = std::function<std::optional<CUresult>(const TaskRef &)>;

/// One piece of work on a device: a launch, a copy, the record of an event.
/// It starts when all tasks it was made after have finished.
class Task {
public:
  CUcontext context() const { return owner; }
  int64_t finishedAtNs() const { return finishedAt; }
  /// The number of its stream.
  unsigned long long stream() const { return streamId; }

  /// Of the checker.
  TaskOrder order;

private:
  friend class Scheduler;

  Work work;
  CUcontext owner = nullptr;
  unsigned long long streamId = 0;
  std::vector<TaskRef> successors;
  size_t missing = 0;
  /// Nanoseconds that it is held back once it is ready, and until when that is.
  int64_t hold = 0, notBefore = 0;
  int64_t finishedAt = 0;
  bool done = false;
  /// How often the host has asked in vain, or might have.
  unsigned asked = 0;
};

/// Runs tasks on the threads of the emulated machine. Under a seed it takes
/// ready tasks in a random order and holds some of them back for up to a few
/// milliseconds, so that work which lacks a dependency overtakes what it should
/// have waited for.
class Scheduler {
public:
  /// The one of this process; never destroyed, since its threads may outlive
  /// main().
  static Scheduler &get();

  /// `after` may hold null references.
  TaskRef submit(CUcontext context, unsigned long long stream, Work work,
                 const std::vector<TaskRef> &after);

  /// Ends a task whose work returned nothing.
  void finish(const TaskRef &task, CUresult error);

  /// Blocks while a context has as much work as a driver takes.
  void waitForRoom(CUcontext context);

  /// Blocks until the task has finished; null is finished. Not promised: a
  /// driver might not wait, so that the host may not count on it.
  void wait(const TaskRef &task, bool isPromised = true);
  bool isDone(const TaskRef &task);
  /// What the host is told when it asks whether a task is done. With the
  /// checker it hears no a few times first: what it does until then must not
  /// depend on how fast the task was.
  bool answersDone(const TaskRef &task);

private:
  void start();
  void stop();
  void work();
  void makeReady(TaskRef task);
  TaskRef take(std::unique_lock<std::mutex> &lock);

  std::mutex mutex;
  std::condition_variable readyChanged, finished;
  std::vector<TaskRef> ready;
  std::mt19937_64 random;
  bool started = false, stopped = false;
  int running = 0;
};

/// Nanoseconds of the clock that events are stamped with.
int64_t nowNs();

} // namespace tsp::emulation

#endif // TSP_EMULATION_DRIVER_SCHEDULER_H
