//===- Copies.cpp - strided copies between buffers ------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/host/Copies.h"

#include <algorithm>
#include <cstring>

using namespace tsp::runtime;

static void copyRows(const BoxCopy &copy, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    int64_t index[3] = {row / (copy.count[2] * copy.count[1]),
                        row / copy.count[2] % copy.count[1],
                        row % copy.count[2]};
    char *dst = copy.dst;
    const char *src = copy.src;
    for (int i = 0; i < 3; ++i) {
      dst += index[i] * copy.dstStride[i];
      src += src ? index[i] * copy.srcStride[i] : 0;
    }
    if (!src)
      memset(dst, 0, copy.bytes);
    else if (dst != src)
      memcpy(dst, src, copy.bytes);
  }
}

void tsp::runtime::runCopy(ThreadPool &pool, const BoxCopy &copy) {
  const int64_t grain = int64_t(256) << 10;
  int64_t rows = copy.count[0] * copy.count[1] * copy.count[2];
  if (rows <= 0 || copy.bytes <= 0)
    return;
  if (rows * copy.bytes <= grain || pool.threads() == 1)
    return copyRows(copy, 0, rows);
  if (rows > 1)
    return parallelFor(
        pool, rows, grain / std::min(copy.bytes, grain),
        [&](int64_t begin, int64_t end) { copyRows(copy, begin, end); });
  parallelFor(pool, copy.bytes, grain, [&](int64_t begin, int64_t end) {
    BoxCopy piece = copy;
    piece.dst += begin;
    piece.src += piece.src ? begin : 0;
    piece.bytes = end - begin;
    copyRows(piece, 0, 1);
  });
}
