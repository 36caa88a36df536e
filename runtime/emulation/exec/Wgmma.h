//===- Wgmma.h - wgmma.mma_async of a warp ----------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is one of a warpgroup: it begins when all four warps have started
// it, so each of them may have written a part of the tiles. It happens when one
// of them waits for its group, as late as the hardware may do it: until then
// its accumulators hold what they held before, and its tiles are not read.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_WGMMA_H
#define TSP_EMULATION_EXEC_WGMMA_H

#include "exec/AsyncProxy.h"
#include "exec/ProductRegisters.h"
#include "exec/WarpContext.h"

#include <deque>

namespace tsp::emulation {

/// One wgmma.mma_async of a warp, which has not waited for it yet.
struct PendingProduct {
  uint32_t site;
  /// Products of the warp before it.
  uint64_t number;
  /// The number of the group that it belongs to.
  uint32_t group;
  /// Descriptors; that of A is not used when A is in registers.
  uint64_t a, b;
  bool accumulates;
  /// Done, which only a wait of its warp says.
  bool isDone;
  /// For the checker.
  AsyncIssue issue;
  /// The registers of D.
  uint32_t *const *sums;
  /// A, when it comes from registers: where they are, and what they held.
  uint32_t *const *fragmentPlaces;
  uint32_t fragment[wgmmaFragment][warpSize];
};

/// The products of one warp.
struct Products {
  std::deque<PendingProduct> pending;
  uint32_t groups = 0;
  /// Products started.
  uint64_t started = 0;
  /// Folds the sites and descriptors so far: alike in the warps of a warpgroup.
  uint64_t history = 0;
  uint32_t lastSite = 0;
  /// Of checked launches.
  ProductRegisters registers;
};

/// A block has ended: faults unless the warps of each warpgroup have run the
/// same products.
void checkWarpgroups(BlockRunner &block);

/// Reads the tiles and adds to the registers of D. `warp` is the warp's number
/// in the block.
void computeProduct(const ProductForm &form, const PendingProduct &product,
                    const uint8_t *shared, uint32_t warp);

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_WGMMA_H
