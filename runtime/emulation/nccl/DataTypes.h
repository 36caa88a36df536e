//===- DataTypes.h - element types and sums of them -------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_NCCL_DATATYPES_H
#define TSP_EMULATION_NCCL_DATATYPES_H

#include <nccl.h>
#include <vector>

namespace tsp::emulation {

bool isDataType(ncclDataType_t type);
size_t sizeOf(ncclDataType_t type);
const char *nameOf(ncclDataType_t type);
/// Only the predefined ones.
bool isReduction(ncclRedOp_t op);
const char *nameOf(ncclRedOp_t op);

/// Combines elements of several ranks, one rank after the other: floats of 8
/// and 16 bits in f32, rounded once at the end, all others in their own type.
class Accumulator {
public:
  Accumulator(ncclDataType_t type, ncclRedOp_t op, size_t count);

  /// Takes `count` elements of the next rank, from element `first` on. The
  /// first rank to give an element sets it.
  void add(const void *elements, size_t first, size_t count, bool isFirstRank);
  /// Writes the result of `ranks` ranks.
  void finish(void *result, int ranks);

private:
  ncclDataType_t type;
  ncclRedOp_t op;
  size_t count;
  std::vector<char> values;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_NCCL_DATATYPES_H
