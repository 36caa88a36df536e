//===- Reduce.h - combining the ranks' values -------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_BACKENDS_HOST_REDUCE_H
#define TSP_RUNTIME_BACKENDS_HOST_REDUCE_H

#include "core/Transfer.h"

namespace tsp::runtime {

/// dst[begin, end) = sum, max or min of the sources' elements, in their order.
void combineElements(int dtype, int combine, char *dst,
                     const std::vector<const char *> &sources, int64_t begin,
                     int64_t end);

/// Rows [begin, end) of an all_reduce of elements or pairs, from what all ranks
/// posted; dst (and dst2) is where row `begin` goes.
void combineRows(const Transfer &transfer,
                 const std::vector<const Transfer *> &peers, char *dst,
                 char *dst2, int64_t begin, int64_t end);

} // namespace tsp::runtime

#endif // TSP_RUNTIME_BACKENDS_HOST_REDUCE_H
