//===- Scheduler.cpp - order in which work of the devices runs ------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Scheduler.h"

#include "driver/Context.h"
#include "driver/HostWatch.h"
#include "driver/Options.h"

#include <chrono>
#include <cstdlib>
#include <thread>

using namespace tsp::emulation;

int64_t tsp::emulation::nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Scheduler &Scheduler::get() {
  static Scheduler *scheduler = new Scheduler;
  return *scheduler;
}

void Scheduler::start() {
  started = true;
  // What is running ends before the process takes apart what it runs on.
  atexit([] { get().stop(); });
  random.seed(options().seed);
  for (int i = 0; i < options().threads; ++i)
    std::thread([this] { work(); }).detach();
}

void Scheduler::stop() {
  std::unique_lock<std::mutex> lock(mutex);
  stopped = true;
  // A host function that calls exit() is itself running.
  finished.wait_for(lock, std::chrono::seconds(10),
                    [&] { return running == 0; });
}

TaskRef Scheduler::submit(CUcontext context, unsigned long long stream,
                          Work work, const std::vector<TaskRef> &after) {
  TaskRef task = std::make_shared<Task>();
  task->work = std::move(work);
  task->owner = context;
  task->streamId = stream;
  if (options().checks)
    task->order.submit(after);
  std::unique_lock<std::mutex> lock(mutex);
  if (!started)
    start();
  if (context)
    ++context->pending;
  if (options().seed) {
    // Half of the tasks may start at once, the others are held back: a short
    // time, or long enough for a whole chain of work to pass.
    uint64_t draw = random();
    int64_t longest = draw % 4 == 0 ? 4000000 : draw % 4 == 1 ? 500000 : 0;
    if (longest)
      task->hold = int64_t(random() % longest);
  }
  for (const TaskRef &earlier : after) {
    if (!earlier || earlier->done)
      continue;
    earlier->successors.push_back(task);
    ++task->missing;
  }
  if (task->missing == 0)
    makeReady(task);
  return task;
}

void Scheduler::makeReady(TaskRef task) {
  if (task->hold)
    task->notBefore = nowNs() + task->hold;
  ready.push_back(std::move(task));
  readyChanged.notify_one();
}

TaskRef Scheduler::take(std::unique_lock<std::mutex> &lock) {
  std::vector<size_t> startable;
  while (true) {
    startable.clear();
    int64_t now = options().seed ? nowNs() : 0, next = INT64_MAX;
    for (size_t i = 0; i < ready.size(); ++i) {
      if (ready[i]->notBefore <= now)
        startable.push_back(i);
      else
        next = std::min(next, ready[i]->notBefore);
    }
    if (!startable.empty() && !stopped)
      break;
    if (next == INT64_MAX || stopped)
      readyChanged.wait(lock);
    else
      readyChanged.wait_for(lock, std::chrono::nanoseconds(next - now));
  }
  size_t chosen =
      options().seed ? startable[random() % startable.size()] : startable[0];
  TaskRef task = std::move(ready[chosen]);
  ready.erase(ready.begin() + chosen);
  return task;
}

void Scheduler::work() {
  HostWatch::enterDevice();
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    TaskRef task = take(lock);
    ++running;
    lock.unlock();
    if (options().checks)
      task->order.start();
    // After a fault nothing more runs in a context, as on a real device.
    std::optional<CUresult> result = CUDA_SUCCESS;
    // The work is taken out first: another thread may finish the task, and
    // what the work holds is freed outside the lock.
    if (Work work = std::move(task->work); work && !stickyError(task->owner))
      result = work(task);
    if (result)
      finish(task, *result);
    task = nullptr;
    lock.lock();
    --running;
    if (stopped)
      finished.notify_all();
  }
}

void Scheduler::finish(const TaskRef &task, CUresult error) {
  if (error)
    setStickyError(task->owner, error);
  std::lock_guard<std::mutex> lock(mutex);
  task->finishedAt = nowNs();
  task->done = true;
  if (task->owner)
    --task->owner->pending;
  for (TaskRef &next : task->successors) {
    if (--next->missing == 0)
      makeReady(std::move(next));
  }
  task->successors.clear();
  finished.notify_all();
}

void Scheduler::waitForRoom(CUcontext context) {
  constexpr int most = 1024;
  std::unique_lock<std::mutex> lock(mutex);
  finished.wait(lock, [&] { return context->pending < most; });
}

void Scheduler::wait(const TaskRef &task, bool isPromised) {
  if (!task)
    return;
  std::unique_lock<std::mutex> lock(mutex);
  finished.wait(lock, [&] { return task->done; });
  if (isPromised && options().checks)
    task->order.tellHost();
}

bool Scheduler::isDone(const TaskRef &task) {
  if (!task)
    return true;
  std::lock_guard<std::mutex> lock(mutex);
  return task->done;
}

bool Scheduler::answersDone(const TaskRef &task) {
  if (!task || !options().checks)
    return isDone(task);
  constexpr unsigned denials = 8;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!task->done)
      return false;
    if (!task->order.isIn(TaskOrder::knownToHost()) && task->asked++ < denials)
      return false;
  }
  task->order.tellHost();
  return true;
}
