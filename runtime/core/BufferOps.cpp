//===- BufferOps.cpp - what transfers do to one rank's buffers ------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/BufferOps.h"

using namespace tsp::runtime;

void BufferOps::pack(const std::vector<Move> &moves, char *dst,
                     const char *src) {
  int64_t offset = 0;
  for (const Move &each : moves) {
    move(each.packedDst(offset), dst, src);
    offset += each.total();
  }
}

void BufferOps::unpack(const std::vector<Move> &moves, char *dst,
                       const char *src) {
  int64_t offset = 0;
  for (const Move &each : moves) {
    move(each.packedSrc(offset), dst, src);
    offset += each.total();
  }
}

void BufferOps::combineParts(const Transfer &transfer, int64_t me,
                             const Sources &parts, char *scratch) {
  char *dst = static_cast<char *>(transfer.dst);
  std::vector<Move> moves = movesBetween(transfer, me, me);
  int64_t count = totalBytes(moves) / dtypeSize(transfer.dtype);
  for (const Move &fill : zeroFills(transfer, me))
    zero(fill, dst);
  if (!needsScratch(moves))
    return combine(transfer, dst + moves[0].dst, parts, count);
  combine(transfer, scratch, parts, count);
  unpack(moves, dst, scratch);
}

void BufferOps::combineRows(const Transfer &transfer, int64_t begin,
                            int64_t rows, const Sources &sources,
                            const Sources &sources2) {
  char *dst = static_cast<char *>(transfer.dst) + begin * transfer.inner;
  if (transfer.dtype2 < 0)
    return combine(transfer, dst, sources,
                   rows * transfer.inner / dtypeSize(transfer.dtype));
  char *dst2 =
      static_cast<char *>(transfer.dst2) + begin * dtypeSize(transfer.dtype2);
  combinePairs(transfer, dst, dst2, sources, sources2, rows);
}
