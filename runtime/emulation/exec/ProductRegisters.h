//===- ProductRegisters.h - registers that wgmma works on -------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the checker. PTX ISA, "wgmma.mma_async" and "wgmma.fence": from a product
// until the wait for its group, its sums must not be touched and its registers
// of A not be written, but by products of the same shape; and a wgmma.fence
// must come between any access to those registers and the product.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_PRODUCTREGISTERS_H
#define TSP_EMULATION_EXEC_PRODUCTREGISTERS_H

#include "exec/WarpContext.h"

#include <unordered_map>

namespace tsp::emulation {

struct PendingProduct;

/// What one warp did to the registers of its products. A register is known by
/// its place in memory.
class ProductRegisters {
public:
  /// An instruction other than wgmma reads or writes a register.
  void touch(const WarpContext &warp, uint32_t site, unsigned lane,
             const uint32_t *place, bool writes);
  void fence();
  /// A product begins: faults unless its registers are ready.
  void begin(const WarpContext &warp, const PendingProduct &product);
  void end(const ProductForm &form, const PendingProduct &product);

private:
  static constexpr uint32_t none = ~uint32_t(0);
  struct Use {
    /// Products that have not been waited for.
    uint32_t asSum = 0;
    uint32_t asFragment = 0;
    uint32_t lastProduct = none;
    /// Sites of accesses since the last fence.
    uint32_t lastRead = none;
    uint32_t lastWrite = none;
  };
  void beginSum(const WarpContext &warp, const PendingProduct &product,
                const uint32_t *place);
  void beginFragment(const WarpContext &warp, const PendingProduct &product,
                     const uint32_t *place);

  std::unordered_map<const uint32_t *, Use> uses;
  bool isFenced = false;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_PRODUCTREGISTERS_H
