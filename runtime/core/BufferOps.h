//===- BufferOps.h - what transfers do to one rank's buffers ----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_BUFFEROPS_H
#define TSP_RUNTIME_CORE_BUFFEROPS_H

#include "core/Moves.h"

namespace tsp::runtime {

/// Work on buffers of a rank's memory, at once or in the order of a stream.
/// Functions throw an Error.
class BufferOps {
public:
  using Sources = std::vector<const void *>;

  virtual ~BufferOps() = default;

  virtual void move(const Move &move, char *dst, const char *src) = 0;
  virtual void zero(const Move &fill, char *dst) = 0;

  /// dst[count] = combination of the sources' elements, in their order.
  virtual void combine(const Transfer &transfer, char *dst,
                       const Sources &sources, int64_t count) = 0;
  /// The same for rows of pairs.
  virtual void combinePairs(const Transfer &transfer, char *dst, char *dst2,
                            const Sources &sources, const Sources &sources2,
                            int64_t rows) = 0;

  /// Moves whose sources are packed one after the other, and whose
  /// destinations are.
  void pack(const std::vector<Move> &moves, char *dst, const char *src);
  void unpack(const std::vector<Move> &moves, char *dst, const char *src);

  /// The end of a reduce_scatter: the ranks' parts are packed (the moves one
  /// after the other); `scratch` has room for one more, if `needsScratch`.
  void combineParts(const Transfer &transfer, int64_t me, const Sources &parts,
                    char *scratch);
  static bool needsScratch(const std::vector<Move> &own) {
    return own.size() != 1 || !own[0].dstDense();
  }
  /// Rows [begin, begin + rows) of an all_reduce, whose sources start there.
  void combineRows(const Transfer &transfer, int64_t begin, int64_t rows,
                   const Sources &sources, const Sources &sources2);
};

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_BUFFEROPS_H
