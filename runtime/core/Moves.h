//===- Moves.h - which bytes of a transfer go where -------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a collective moves, without saying how: backends copy it between
// pointers (ranks of one process) or pack, send and unpack it.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_MOVES_H
#define TSP_RUNTIME_CORE_MOVES_H

#include "core/Transfer.h"

namespace tsp::runtime {

/// A box of up to three dims of rows, each of `bytes` contiguous bytes, that
/// goes from one rank's src to one rank's dst. Offsets and strides are in
/// bytes.
struct Move {
  int64_t dst = 0, src = 0;
  int64_t bytes = 0;
  int64_t count[3] = {1, 1, 1};
  int64_t dstStride[3] = {0, 0, 0}, srcStride[3] = {0, 0, 0};

  int64_t rows() const { return count[0] * count[1] * count[2]; }
  int64_t total() const { return rows() * bytes; }

  /// Whether the box is one piece in the src (dst).
  bool srcDense() const { return isDense(srcStride); }
  bool dstDense() const { return isDense(dstStride); }

  /// The same box with all rows close together at `offset` of the dst (src).
  Move packedDst(int64_t offset) const;
  Move packedSrc(int64_t offset) const;

private:
  bool isDense(const int64_t (&stride)[3]) const;
};

/// What rank `to` of the group receives from rank `from` (itself included), in
/// an order that both agree on. For reduce_scatter that is one part of the
/// combination; all_reduce has no moves.
std::vector<Move> movesBetween(const Transfer &transfer, int64_t to,
                               int64_t from);

/// The parts of dst that become zero before the moves; their src means nothing.
std::vector<Move> zeroFills(const Transfer &transfer, int64_t me);

/// Bytes of all moves.
int64_t totalBytes(const std::vector<Move> &moves);

/// The slices in which ranks share the work of an all_reduce, in rows.
Chunking reduceSlices(const Transfer &transfer);

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_MOVES_H
