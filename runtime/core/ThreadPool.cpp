//===- ThreadPool.cpp - the threads of one rank ---------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/ThreadPool.h"

#include <sched.h>

using namespace tsp::runtime;

static constexpr uint32_t openBit = 1u << 31;

ThreadPool::ThreadPool(int threads, int64_t spinNs,
                       std::atomic<uint64_t> &progress)
    : numThreads(threads), spinNs(spinNs), progress(progress),
      workers(threads) {
  for (int i = 0; i < threads; ++i)
    workers[i].track.name = i == 0 ? "main" : "worker " + std::to_string(i);
  for (int i = 1; i < threads; ++i)
    workers[i].thread = std::thread([this, i] { workerLoop(i); });
}

ThreadPool::~ThreadPool() {
  stop.store(true);
  bell.ring();
  for (Worker &worker : workers)
    if (worker.thread.joinable())
      worker.thread.join();
}

void *ThreadPool::scratch(int worker, int64_t bytes) {
  Mapping &mapping = workers[worker].scratch;
  if (mapping.size() < bytes)
    mapping = Mapping(bytes);
  return mapping.data();
}

int64_t ThreadPool::scratchTouched() const {
  int64_t sum = 0;
  for (const Worker &worker : workers)
    sum += worker.scratch.touched();
  return sum;
}

void ThreadPool::takeChunks(int worker) {
  while (true) {
    int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
    if (begin >= size)
      return;
    fn(context, begin, begin + chunk < size ? begin + chunk : size, worker);
    progress.fetch_add(1, std::memory_order_relaxed);
  }
}

int ThreadPool::run(RangeFn newFn, void *newContext, int64_t newSize,
                    int64_t newChunk) {
  if (numThreads == 1 || newSize <= newChunk) {
    newFn(newContext, 0, newSize, 0);
    progress.fetch_add(1, std::memory_order_relaxed);
    return 1;
  }
  fn = newFn;
  context = newContext;
  size = newSize;
  chunk = newChunk;
  joined.store(0, std::memory_order_relaxed);
  next.store(0, std::memory_order_relaxed);
  door.store(openBit);
  bell.ring();
  takeChunks(0);
  door.fetch_and(~openBit);
  for (int spins = 0; door.load(std::memory_order_acquire) != 0; ++spins) {
    if (spins < 1000 && spinNs > 0)
      cpuRelax();
    else
      sched_yield();
  }
  return 1 + int(joined.load(std::memory_order_relaxed));
}

void ThreadPool::workerLoop(int worker) {
  while (true) {
    uint32_t ticket = bell.ticket();
    if (stop.load())
      return;
    uint32_t seen = door.load();
    while ((seen & openBit) && !door.compare_exchange_weak(seen, seen + 1)) {
    }
    if (seen & openBit) {
      joined.fetch_add(1, std::memory_order_relaxed);
      takeChunks(worker);
      door.fetch_sub(1, std::memory_order_release);
    }
    int64_t deadline = nowNs() + spinNs;
    while (bell.ticket() == ticket && spinNs > 0 && nowNs() < deadline)
      for (int i = 0; i < 20; ++i)
        cpuRelax();
    if (bell.ticket() == ticket)
      bell.sleep(ticket, 1000000000);
  }
}
