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

static void copyRows(const Move &move, char *dst, const char *src,
                     int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    int64_t index[3] = {row / (move.count[2] * move.count[1]),
                        row / move.count[2] % move.count[1],
                        row % move.count[2]};
    int64_t to = move.dst, from = move.src;
    for (int i = 0; i < 3; ++i) {
      to += index[i] * move.dstStride[i];
      from += index[i] * move.srcStride[i];
    }
    if (!src)
      memset(dst + to, 0, move.bytes);
    else if (dst + to != src + from)
      memcpy(dst + to, src + from, move.bytes);
  }
}

void tsp::runtime::runCopy(ThreadPool &pool, const Move &move, char *dst,
                           const char *src) {
  const int64_t grain = int64_t(256) << 10;
  int64_t rows = move.rows();
  if (move.total() <= 0)
    return;
  if (move.total() <= grain || pool.threads() == 1)
    return copyRows(move, dst, src, 0, rows);
  if (rows > 1)
    return parallelFor(pool, rows, grain / std::min(move.bytes, grain),
                       [&](int64_t begin, int64_t end) {
                         copyRows(move, dst, src, begin, end);
                       });
  parallelFor(pool, move.bytes, grain, [&](int64_t begin, int64_t end) {
    Move piece = move;
    piece.dst += begin;
    piece.src += begin;
    piece.bytes = end - begin;
    copyRows(piece, dst, src, 0, 1);
  });
}
