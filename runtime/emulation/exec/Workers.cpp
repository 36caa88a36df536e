//===- Workers.cpp - the threads that run blocks --------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/Workers.h"
#include "Engine.h"

#include <algorithm>
#include <sched.h>
#include <thread>

namespace tsp::emulation {

Workers &Workers::get() {
  static Workers *workers = new Workers;
  return *workers;
}

void Workers::setCount(unsigned newCount) {
  std::lock_guard<std::mutex> lock(mutex);
  count = newCount;
}

void setWorkers(unsigned count) { Workers::get().setCount(count); }

void Workers::start() {
  if (started)
    return;
  started = true;
  if (!count) {
    cpu_set_t set;
    count = sched_getaffinity(0, sizeof(set), &set) == 0
                ? unsigned(CPU_COUNT(&set))
                : 1;
  }
  for (unsigned i = 0; i < std::max(1u, count); ++i)
    std::thread([this] { work(); }).detach();
}

void Workers::work() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    wake.wait(lock, [&] { return !jobs.empty(); });
    Job *job = jobs.front();
    ++job->running;
    lock.unlock();
    (*job->share)();
    lock.lock();
    // Its work is all taken: no other thread need look at it.
    if (!job->exhausted) {
      job->exhausted = true;
      jobs.remove(job);
    }
    if (--job->running == 0)
      done.notify_all();
  }
}

void Workers::run(const std::function<void()> &share) {
  Job job = {&share};
  std::unique_lock<std::mutex> lock(mutex);
  start();
  jobs.push_back(&job);
  wake.notify_all();
  done.wait(lock, [&] { return job.exhausted && job.running == 0; });
}

} // namespace tsp::emulation
