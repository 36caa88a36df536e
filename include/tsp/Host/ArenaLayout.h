//===- ArenaLayout.h - offsets of buffers in one arena ----------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_HOST_ARENALAYOUT_H
#define TSP_HOST_ARENALAYOUT_H

#include "tsp/Host/HostLiveness.h"

namespace tsp {

/// Alignment of every buffer, and of the arena.
inline constexpr int64_t bufferAlign = 64;

inline int64_t alignBuffer(int64_t bytes) {
  return (bytes + bufferAlign - 1) / bufferAlign * bufferAlign;
}

/// A buffer that needs `bytes` while `life` runs; `offset` is the answer.
struct ArenaBuffer {
  int64_t bytes = 0;
  Interval life;
  int64_t offset = 0;
};

/// Gives every buffer an offset so that buffers alive at the same time do not
/// overlap. Best fit in several orders, of which the smallest arena is kept.
/// Returns the size of the arena.
int64_t layOutArena(llvm::MutableArrayRef<ArenaBuffer> buffers);

/// The program point at which most bytes are alive.
struct ArenaPeak {
  int64_t point = 0, bytes = 0;
};
ArenaPeak findArenaPeak(llvm::ArrayRef<ArenaBuffer> buffers);

} // namespace tsp

#endif // TSP_HOST_ARENALAYOUT_H
