//===- ThreadPool.h - the threads of one rank -------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_THREADPOOL_H
#define TSP_RUNTIME_CORE_THREADPOOL_H

#include "core/Memory.h"
#include "core/Sync.h"
#include "core/Trace.h"

#include <memory>
#include <thread>
#include <vector>

namespace tsp::runtime {

/// Work on [begin, end) of a range; `worker` is 0 for the calling thread.
using RangeFn = void (*)(void *context, int64_t begin, int64_t end, int worker);

/// The calling thread and `threads - 1` workers. Work is shared out in chunks
/// that are taken as threads become free; workers that wake up too late simply
/// find nothing to do.
class ThreadPool {
public:
  /// `spin`: how long idle threads look for work before they sleep.
  ThreadPool(int threads, int64_t spinNs, std::atomic<uint64_t> &progress);
  ~ThreadPool();

  int threads() const { return numThreads; }

  /// Runs fn over [0, size) in pieces of `chunk`; returns how many threads took
  /// part. Only for the thread that owns the pool.
  int run(RangeFn fn, void *context, int64_t size, int64_t chunk);

  /// Scratch memory of a worker with at least this size, for use on that
  /// worker.
  void *scratch(int worker, int64_t bytes);

  int64_t scratchTouched() const;

  /// The trace of a worker.
  TraceTrack &track(int worker) { return workers[worker].track; }

private:
  struct alignas(64) Worker {
    std::thread thread;
    Mapping scratch;
    TraceTrack track;
  };

  void workerLoop(int worker);
  void takeChunks(int worker);

  const int numThreads;
  const int64_t spinNs;
  std::atomic<uint64_t> &progress;
  std::vector<Worker> workers;

  // The present job. Bit 31 of `door` is set while workers may join; the lower
  // bits count those that have. The fields change only while none has.
  RangeFn fn = nullptr;
  void *context = nullptr;
  int64_t size = 0, chunk = 1;
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::atomic<uint32_t> door{0};
  std::atomic<uint32_t> joined{0};
  alignas(64) Doorbell bell;
  std::atomic<bool> stop{false};
};

/// Runs fn(begin, end) over [0, size) in pieces of `chunk` on the pool.
template <typename Fn>
void parallelFor(ThreadPool &pool, int64_t size, int64_t chunk, Fn fn) {
  pool.run([](void *context, int64_t begin, int64_t end,
              int) { (*static_cast<Fn *>(context))(begin, end); },
           &fn, size, chunk < 1 ? 1 : chunk);
}

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_THREADPOOL_H
