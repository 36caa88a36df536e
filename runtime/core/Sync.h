//===- Sync.h - time, and waiting on other threads --------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_SYNC_H
#define TSP_RUNTIME_CORE_SYNC_H

#include <atomic>
#include <cstdint>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tsp::runtime {

/// Nanoseconds of the monotonic clock.
inline int64_t nowNs() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

inline void cpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

/// A word that threads sleep on until somebody rings. Who waits reads `ticket`
/// first, then looks at what it waits for, then sleeps; a ring in between is
/// not lost.
class Doorbell {
public:
  uint32_t ticket() const { return value.load(); }

  void ring() {
    value.fetch_add(1);
    if (sleepers.load() > 0)
      syscall(SYS_futex, word(), FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr,
              nullptr, 0);
  }

  /// Sleeps until a ring after `ticket`, at most `ns` nanoseconds.
  void sleep(uint32_t ticket, int64_t ns) {
    timespec time{time_t(ns / 1000000000), long(ns % 1000000000)};
    sleepers.fetch_add(1);
    syscall(SYS_futex, word(), FUTEX_WAIT_PRIVATE, ticket, &time, nullptr, 0);
    sleepers.fetch_sub(1);
  }

private:
  uint32_t *word() { return reinterpret_cast<uint32_t *>(&value); }

  std::atomic<uint32_t> value{0};
  std::atomic<int32_t> sleepers{0};
};

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_SYNC_H
