//===- TensorMap.h - what cuTensorMapEncodeTiled makes ------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor map describes a tensor of up to 5 dimensions in global memory and
// the box of it that one instruction copies (CUDA driver API, "Tensor Map
// Object Management"; PTX ISA, "Tensors"). CUtensorMap is opaque to programs:
// here it holds this structure.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_TENSORMAP_H
#define TSP_EMULATION_EXEC_TENSORMAP_H

#include "Engine.h"
#include "ptx/Syntax.h"

#include <cstdint>

namespace tsp::emulation {

/// Dimensions go from the innermost, whose elements are contiguous.
struct TensorMap {
  static constexpr unsigned maxRank = 5;
  static constexpr uint64_t encoded = 0x7473702d746d6170;

  /// `encoded`, or this is no tensor map.
  uint64_t magic = 0;
  /// Of the first element; a multiple of 16.
  uint64_t address = 0;
  /// Bytes from one element of dimension i + 1 to the next; multiples of 16.
  uint64_t strides[maxRank - 1] = {};
  /// Elements, less one: 2^32 fit.
  uint32_t lastIndex[maxRank] = {};
  /// Elements, 1 to 256.
  uint16_t box[maxRank] = {};
  uint8_t rank = 0;
  /// Bytes, 1 to 8.
  uint8_t elementBytes = 0;
  /// What reductions take the elements for; loads round to TF32.
  ptx::Kind elementKind = ptx::Kind::Bits;
  /// Bytes within which chunks of 16 bytes are permuted: 0, 32, 64 or 128.
  uint8_t swizzle = 0;

  bool isEncoded() const { return magic == encoded; }
  ptx::Type elementType() const {
    ptx::Kind kind =
        elementKind == ptx::Kind::TF32 ? ptx::Kind::Float : elementKind;
    return {kind, uint16_t(8 * elementBytes), false};
  }
  /// Of the box in shared memory, elements outside of the tensor included.
  uint32_t boxBytes() const;
  /// The addresses from the first to behind the last element that a box at
  /// these coordinates has in common with the tensor; empty when none.
  Range touched(const int32_t *coordinates) const;

  /// A piece of at most 16 bytes of a box.
  struct Chunk {
    uint8_t *global;    ///< null when nothing of it is in the tensor
    uint32_t shared;    ///< offset of all 16 bytes
    uint8_t begin, end; ///< the bytes that are in the tensor
  };
  /// Visits the chunks of a box whose place in shared memory is `shared`.
  template <typename F>
  void forEachChunk(const int32_t *coordinates, uint32_t shared, F visit) const;
  /// Copies a box to shared memory; what is outside of the tensor becomes 0.
  /// Elements of TF32 are rounded to the nearest, ties away from zero as
  /// cvt.rna does: how hardware breaks ties is not documented.
  void load(const int32_t *coordinates, uint8_t *sharedMemory,
            uint32_t shared) const;
};
static_assert(sizeof(TensorMap) <= 128, "CUtensorMap has 128 bytes");
constexpr unsigned mapBytes = 128, mapAlignment = 64;

/// What tensormap.replace changes.
enum class MapField : uint32_t {
  Address,
  Rank,
  Box,
  Size,
  Stride,
  ElementStride
};

/// Where a swizzled tile has the 16 bytes that would be at `shared` without
/// swizzle. The pattern is one of addresses (PTX ISA, "Swizzling Modes").
inline uint32_t swizzled(uint32_t shared, unsigned swizzle) {
  switch (swizzle) {
  case 32:
    return shared ^ (shared >> 3 & 0x10);
  case 64:
    return shared ^ (shared >> 3 & 0x30);
  case 128:
    return shared ^ (shared >> 3 & 0x70);
  default:
    return shared;
  }
}

template <typename F>
void TensorMap::forEachChunk(const int32_t *coordinates, uint32_t shared,
                             F visit) const {
  uint32_t rowBytes = uint32_t(box[0]) * elementBytes;
  // The bytes of a row that are in the tensor.
  int64_t first = -int64_t(coordinates[0]) * elementBytes;
  int64_t behind = (int64_t(lastIndex[0]) + 1 - coordinates[0]) * elementBytes;
  uint16_t index[maxRank] = {};
  while (true) {
    bool isInside = true;
    int64_t place = int64_t(coordinates[0]) * elementBytes;
    for (unsigned dim = 1; dim < rank; ++dim) {
      int64_t at = int64_t(coordinates[dim]) + index[dim];
      isInside &= at >= 0 && at <= int64_t(lastIndex[dim]);
      place += at * int64_t(strides[dim - 1]);
    }
    for (uint32_t byte = 0; byte < rowBytes; byte += 16) {
      auto within = [&](int64_t bound) {
        return uint8_t(bound <= byte        ? 0
                       : bound >= byte + 16 ? 16
                                            : bound - byte);
      };
      Chunk chunk = {nullptr, swizzled(shared + byte, swizzle), within(first),
                     within(behind)};
      if (isInside && chunk.begin < chunk.end)
        chunk.global = reinterpret_cast<uint8_t *>(address + place + byte);
      visit(chunk);
    }
    shared += rowBytes;
    unsigned dim = 1;
    while (dim < rank && ++index[dim] == box[dim])
      index[dim++] = 0;
    if (dim >= rank)
      return;
  }
}

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_TENSORMAP_H
