//===- Copies.h - strided copies between buffers ----------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_BACKENDS_HOST_COPIES_H
#define TSP_RUNTIME_BACKENDS_HOST_COPIES_H

#include "core/ThreadPool.h"

namespace tsp::runtime {

/// A box of up to three dims of rows, each of `bytes` contiguous bytes.
struct BoxCopy {
  char *dst = nullptr;
  const char *src = nullptr; ///< null: zeros
  int64_t bytes = 0;
  int64_t count[3] = {1, 1, 1};
  int64_t dstStride[3] = {0, 0, 0}, srcStride[3] = {0, 0, 0};
};

/// Copies on the rank's threads, if there is enough to do.
void runCopy(ThreadPool &pool, const BoxCopy &copy);

} // namespace tsp::runtime

#endif // TSP_RUNTIME_BACKENDS_HOST_COPIES_H
