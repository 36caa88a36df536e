//===- HostOps.h - what transfers do to buffers in host memory --*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_BACKENDS_HOST_HOSTOPS_H
#define TSP_RUNTIME_BACKENDS_HOST_HOSTOPS_H

#include "core/BufferOps.h"
#include "core/ThreadPool.h"

namespace tsp::runtime {

/// Done at once, on the threads of a pool.
class HostOps : public BufferOps {
public:
  explicit HostOps(ThreadPool &pool) : pool(pool) {}

  void move(const Move &move, char *dst, const char *src) override;
  void zero(const Move &fill, char *dst) override;
  void combine(const Transfer &transfer, char *dst, const Sources &sources,
               int64_t count) override;
  void combinePairs(const Transfer &transfer, char *dst, char *dst2,
                    const Sources &sources, const Sources &sources2,
                    int64_t rows) override;

private:
  ThreadPool &pool;
};

} // namespace tsp::runtime

#endif // TSP_RUNTIME_BACKENDS_HOST_HOSTOPS_H
