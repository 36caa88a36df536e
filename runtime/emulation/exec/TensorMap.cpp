//===- TensorMap.cpp - what cuTensorMapEncodeTiled makes ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/TensorMap.h"

#include <algorithm>
#include <cstring>

namespace tsp::emulation {

uint32_t TensorMap::boxBytes() const {
  uint32_t bytes = elementBytes;
  for (unsigned dim = 0; dim < rank; ++dim)
    bytes *= box[dim];
  return bytes;
}

Range TensorMap::touched(const int32_t *coordinates) const {
  Range range = {address, address + elementBytes};
  for (unsigned dim = 0; dim < rank; ++dim) {
    int64_t first = std::max<int64_t>(coordinates[dim], 0);
    int64_t last = std::min<int64_t>(int64_t(coordinates[dim]) + box[dim] - 1,
                                     lastIndex[dim]);
    if (first > last)
      return {};
    uint64_t stride = dim ? strides[dim - 1] : elementBytes;
    range.begin += uint64_t(first) * stride;
    range.end += uint64_t(last) * stride;
  }
  return range;
}

/// Rounds the four f32 of a chunk to 10 bits of fraction.
static void roundToTf32(uint8_t *chunk) {
  uint32_t words[4];
  std::memcpy(words, chunk, sizeof(words));
  for (uint32_t &word : words)
    if ((word & 0x7f800000u) != 0x7f800000u)
      word = (word + 0x1000u) & 0xffffe000u;
  std::memcpy(chunk, words, sizeof(words));
}

void TensorMap::load(const int32_t *coordinates, uint8_t *sharedMemory,
                     uint32_t shared) const {
  forEachChunk(coordinates, shared, [&](const Chunk &chunk) {
    uint8_t *to = sharedMemory + chunk.shared;
    if (chunk.global && chunk.begin == 0 && chunk.end == 16) {
      std::memcpy(to, chunk.global, 16);
    } else {
      std::memset(to, 0, 16);
      if (chunk.global)
        std::memcpy(to + chunk.begin, chunk.global + chunk.begin,
                    chunk.end - chunk.begin);
    }
    if (elementKind == ptx::Kind::TF32)
      roundToTf32(to);
  });
}

} // namespace tsp::emulation
