//===- ArenaLayout.cpp - offsets of buffers in one arena ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Host/ArenaLayout.h"

#include <map>

using namespace llvm;
using namespace tsp;

/// Places the buffers in the given order, each into the smallest gap that holds
/// it among the placed ones that live at the same time.
static int64_t placeInOrder(MutableArrayRef<ArenaBuffer> buffers, ArrayRef<unsigned> order) {
  SmallVector<unsigned> placed; // by offset
  int64_t total = 0;
  for (unsigned number : order) {
    ArenaBuffer &buffer = buffers[number];
    int64_t size = alignBuffer(std::max<int64_t>(buffer.bytes, 1));
    int64_t end = 0, best = -1, bestGap = INT64_MAX;
    for (unsigned other : placed) {
      const ArenaBuffer &taken = buffers[other];
      if (!taken.life.meets(buffer.life))
        continue;
      int64_t gap = taken.offset - end;
      if (gap >= size && gap < bestGap) {
        best = end;
        bestGap = gap;
      }
      end = std::max(end, taken.offset + alignBuffer(std::max<int64_t>(taken.bytes, 1)));
    }
    buffer.offset = best >= 0 ? best : end;
    total = std::max(total, buffer.offset + size);
    auto at = llvm::upper_bound(placed, buffer.offset, [&](int64_t offset, unsigned other) {
      return offset < buffers[other].offset;
    });
    placed.insert(at, number);
  }
  return total;
}

int64_t tsp::layOutArena(MutableArrayRef<ArenaBuffer> buffers) {
  auto length = [&](unsigned i) { return buffers[i].life.end - buffers[i].life.begin; };
  auto bySize = [&](unsigned a, unsigned b) {
    return std::make_tuple(-buffers[a].bytes, -length(a), a) <
           std::make_tuple(-buffers[b].bytes, -length(b), b);
  };
  auto byLength = [&](unsigned a, unsigned b) {
    return std::make_tuple(-length(a), -buffers[a].bytes, a) <
           std::make_tuple(-length(b), -buffers[b].bytes, b);
  };
  auto byBegin = [&](unsigned a, unsigned b) {
    return std::make_tuple(buffers[a].life.begin, -buffers[a].bytes, a) <
           std::make_tuple(buffers[b].life.begin, -buffers[b].bytes, b);
  };
  SmallVector<unsigned> order(buffers.size());
  SmallVector<int64_t> best;
  int64_t bestTotal = INT64_MAX;
  auto attempt = [&](auto less) {
    for (unsigned i = 0; i < order.size(); ++i)
      order[i] = i;
    llvm::sort(order, less);
    int64_t total = placeInOrder(buffers, order);
    if (total >= bestTotal)
      return;
    bestTotal = total;
    best.clear();
    for (const ArenaBuffer &buffer : buffers)
      best.push_back(buffer.offset);
  };
  attempt(bySize);
  attempt(byLength);
  attempt(byBegin);
  for (auto [buffer, offset] : llvm::zip(buffers, best))
    buffer.offset = offset;
  return buffers.empty() ? 0 : bestTotal;
}

ArenaPeak tsp::findArenaPeak(ArrayRef<ArenaBuffer> buffers) {
  std::map<int64_t, int64_t> changes;
  for (const ArenaBuffer &buffer : buffers) {
    changes[buffer.life.begin] += alignBuffer(std::max<int64_t>(buffer.bytes, 1));
    changes[buffer.life.end + 1] -= alignBuffer(std::max<int64_t>(buffer.bytes, 1));
  }
  ArenaPeak peak;
  int64_t bytes = 0;
  for (auto [point, change] : changes) {
    bytes += change;
    if (bytes > peak.bytes)
      peak = {point, bytes};
  }
  return peak;
}
