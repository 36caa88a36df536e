//===- HostOps.cpp - what transfers do to buffers in host memory ----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/host/HostOps.h"
#include "backends/host/Copies.h"
#include "backends/host/Reduce.h"

using namespace tsp::runtime;

void HostOps::move(const Move &move, char *dst, const char *src) {
  runCopy(pool, move, dst, src);
}

void HostOps::zero(const Move &fill, char *dst) {
  runCopy(pool, fill, dst, nullptr);
}

void HostOps::combine(const Transfer &transfer, char *dst,
                      const Sources &sources, int64_t count) {
  std::vector<const char *> from;
  for (const void *source : sources)
    from.push_back(static_cast<const char *>(source));
  parallelFor(pool, count, 32768, [&](int64_t begin, int64_t end) {
    combineElements(transfer.dtype, transfer.combine, dst, from, begin, end);
  });
}

void HostOps::combinePairs(const Transfer &transfer, char *dst, char *dst2,
                           const Sources &sources, const Sources &sources2,
                           int64_t rows) {
  std::vector<Transfer> parts(sources.size(), transfer);
  std::vector<const Transfer *> peers;
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i].src = sources[i];
    parts[i].src2 = sources2[i];
    peers.push_back(&parts[i]);
  }
  tsp::runtime::combineRows(transfer, peers, dst, dst2, 0, rows);
}
