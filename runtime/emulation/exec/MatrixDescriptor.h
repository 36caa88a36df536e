//===- MatrixDescriptor.h - matrices in shared memory -----------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Asynchronous warpgroup-level matrix shared memory layout" and
// "Matrix descriptor format". A tile is made of rows of 16 bytes, eight of them
// a core matrix. Of a tile along k a row has the bytes [16 * chunk, 16 * chunk
// + 16) of one row (A) or column (B); of a transposed tile it has 8 rows or
// columns, starting at 8 * chunk, of one k.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_MATRIXDESCRIPTOR_H
#define TSP_EMULATION_EXEC_MATRIXDESCRIPTOR_H

#include "exec/Clones.h"

#include <cstdint>

namespace tsp::emulation {

struct MatrixDescriptor {
  explicit MatrixDescriptor(uint64_t bits)
      : start(decode(bits)), leading(decode(bits >> 16)),
        stride(decode(bits >> 32)), baseOffset(uint32_t(bits >> 49 & 7)) {
    // Of the modes 0 to 3: none, 128, 64 and 32 bytes.
    unsigned mode = unsigned(bits >> 62);
    swizzleMask = mode == 0 ? 0 : (16u >> mode) - 1;
  }

  /// Where the first of the eight rows begins to which `index` belongs, before
  /// the swizzle.
  TSP_ALWAYS_INLINE uint32_t groupStart(bool isTransposed, uint32_t index,
                                        uint32_t chunk) const {
    return start + (isTransposed ? transposedGroup(index / 8, chunk)
                                 : alongKGroup(index / 8, chunk));
  }
  /// From one row of a group to the next.
  TSP_ALWAYS_INLINE uint32_t pitch() const { return 16 * rowsOfPattern(); }

  /// The offset in shared memory of a row of 16 bytes: `index` counts rows or
  /// columns, of a transposed tile k.
  TSP_ALWAYS_INLINE uint32_t row(bool isTransposed, uint32_t index,
                                 uint32_t chunk) const {
    return swizzled(groupStart(isTransposed, index, chunk) +
                    index % 8 * pitch());
  }

  /// No row of `count` rows or columns (from 0 on) ends behind this offset.
  uint32_t end(bool isTransposed, uint32_t count) const {
    uint32_t patterns = (count / 8 - 1) / rowsOfPattern();
    uint32_t last = !isTransposed ? alongKGroup(count / 8 - 1, 1)
                    : swizzleMask
                        ? stride + swizzleMask * 16 + patterns * leading
                        : leading + patterns * stride;
    // The swizzle stays within a line of 128 bytes.
    return (start + last + 8 * pitch() + 127) / 128 * 128;
  }

  /// Exchanges the 16-byte pieces of a 128-byte line by the line's number in
  /// the pattern.
  template <typename T> TSP_ALWAYS_INLINE T swizzled(T address) const {
    return address ^ ((((address >> 7) - baseOffset) & swizzleMask) << 4);
  }

private:
  static uint32_t decode(uint64_t bits) { return uint32_t(bits & 0x3fff) << 4; }
  TSP_ALWAYS_INLINE uint32_t rowsOfPattern() const { return swizzleMask + 1; }
  TSP_ALWAYS_INLINE uint32_t alongKGroup(uint32_t group, uint32_t chunk) const {
    return group * stride + chunk * (swizzleMask ? 16 : leading);
  }
  TSP_ALWAYS_INLINE uint32_t transposedGroup(uint32_t group,
                                             uint32_t chunk) const {
    if (!swizzleMask)
      return group * leading + chunk * stride;
    return group * stride + chunk % rowsOfPattern() * 16 +
           chunk / rowsOfPattern() * leading;
  }

  uint32_t start;
  uint32_t leading;
  uint32_t stride;
  uint32_t baseOffset;
  /// 16-byte pieces of a pattern, less one.
  uint32_t swizzleMask;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_MATRIXDESCRIPTOR_H
