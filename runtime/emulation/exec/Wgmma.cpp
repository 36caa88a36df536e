//===- Wgmma.cpp - wgmma.mma_async, deferred to its wait ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/Wgmma.h"
#include "exec/BlockRunner.h"
#include "exec/Helpers.h"
#include "exec/MatrixDescriptor.h"
#include "exec/Scheduler.h"

#include <algorithm>
#include <cstring>

namespace tsp::emulation {

/// Calls visit(offset) for each row of 16 bytes of a tile: `indices` rows or
/// columns from `first` on.
template <typename F>
static void visitRows(uint64_t descriptor, bool isTransposed, unsigned first,
                      unsigned indices, F visit) {
  MatrixDescriptor matrix(descriptor);
  if (!isTransposed) {
    for (unsigned i = 0; i < indices; ++i)
      for (unsigned chunk = 0; chunk < 2; ++chunk)
        visit(matrix.row(false, first + i, chunk));
    return;
  }
  // Elements of 16 bits: 16 of them along k.
  for (unsigned k = 0; k < wgmmaDepth / 2; ++k)
    for (unsigned chunk = 0; chunk < indices / 8; ++chunk)
      visit(matrix.row(true, k, first / 8 + chunk));
}

template <typename F>
static void visitTiles(const ProductForm &form, uint64_t a, uint64_t b,
                       uint32_t warp, F visit) {
  if (!form.isAInRegisters)
    visitRows(a, form.isTransposedA, warp % warpsOfWarpgroup * wgmmaRows,
              wgmmaRows, [&](uint32_t offset) { visit('A', offset); });
  visitRows(b, form.isTransposedB, 0, form.columns,
            [&](uint32_t offset) { visit('B', offset); });
}

void checkWarpgroups(BlockRunner &block) {
  std::vector<Warp> &warps = block.allWarps();
  for (size_t w = 0; w < warps.size(); ++w) {
    const Warp &first = warps[w / warpsOfWarpgroup * warpsOfWarpgroup];
    const Warp &warp = warps[w];
    if (warp.products.history == first.products.history)
      continue;
    // One of them may have run none.
    const Warp &named = warp.products.history ? warp : first;
    block.fault(named.context, named.products.lastSite, 0,
                "warps " + std::to_string(first.context.warp) + " and " +
                    std::to_string(w) +
                    " of a warpgroup have not run the same products; of this "
                    "warp it was the last");
  }
}

namespace helpers {

/// The descriptor that all lanes have.
static uint64_t sameInAll(Context context, uint32_t site, Lanes64 descriptors,
                          const char *matrix) {
  for (unsigned lane = 1; lane < warpSize; ++lane)
    if (descriptors[lane] != descriptors[0])
      context->block->fault(*context, site, lane,
                            std::string("the descriptor of ") + matrix +
                                " is not the same in all threads of the warp");
  return descriptors[0];
}

/// Faults unless the whole warpgroup is there.
static void checkWarpgroup(Context context, uint32_t site, uint32_t mask) {
  checkWhole(context, site, mask);
  if (context->warp / warpsOfWarpgroup * warpsOfWarpgroup + warpsOfWarpgroup >
      context->warps)
    context->block->fault(*context, site, 0,
                          "the block ends within this warpgroup: its threads "
                          "are not a multiple of 128");
}

/// Faults unless the tiles are in shared memory.
static void checkTiles(Context context, uint32_t siteIndex, uint64_t a,
                       uint64_t b) {
  BlockRunner &block = *context->block;
  const ProductForm &form = block.site(siteIndex).product;
  uint32_t end = MatrixDescriptor(b).end(form.isTransposedB, form.columns);
  if (!form.isAInRegisters)
    end = std::max(end, MatrixDescriptor(a).end(form.isTransposedA,
                                                warpsOfWarpgroup * wgmmaRows));
  if (end <= block.sharedSize())
    return;
  visitTiles(form, a, b, context->warp, [&](char matrix, uint32_t offset) {
    if (offset + 16 > block.sharedSize())
      block.fault(*context, siteIndex, 0,
                  std::string("the descriptor of ") + matrix +
                      " reaches shared address " + std::to_string(offset) +
                      ": the block has " + std::to_string(block.sharedSize()) +
                      " bytes");
  });
}

void wgmma(Context context, uint32_t siteIndex, uint32_t mask,
           uint32_t *const *sums, uint32_t *const *fragment, Lanes64 a,
           Lanes64 b, uint32_t accumulates) {
  if (!mask)
    return;
  checkWarpgroup(context, siteIndex, mask);
  BlockRunner &block = *context->block;
  const ProductForm &form = block.site(siteIndex).product;
  if (accumulates && accumulates != mask)
    block.fault(*context, siteIndex, unsigned(__builtin_ctz(~accumulates)),
                "scale-d is not the same in all threads of the warp");
  uint64_t descriptorOfB = sameInAll(context, siteIndex, b, "B");
  uint64_t descriptorOfA =
      form.isAInRegisters ? 0 : sameInAll(context, siteIndex, a, "A");
  checkTiles(context, siteIndex, descriptorOfA, descriptorOfB);
  Products &products = block.warpOf(context).products;
  for (uint64_t part : {uint64_t(siteIndex), descriptorOfA, descriptorOfB})
    products.history = (products.history ^ part) * 0x9e3779b97f4a7c15u;
  products.lastSite = siteIndex;

  products.pending.emplace_back();
  PendingProduct &product = products.pending.back();
  product.site = siteIndex;
  product.group = products.groups;
  product.a = descriptorOfA;
  product.b = descriptorOfB;
  product.accumulates = accumulates != 0;
  product.isDone = false;
  product.number = products.started++;
  product.sums = sums;
  product.fragmentPlaces = fragment;
  for (unsigned r = 0; form.isAInRegisters && r < wgmmaFragment; ++r)
    std::memcpy(product.fragment[r], fragment[r], sizeof(product.fragment[r]));
  if (Checker *checker = block.checker()) {
    products.registers.begin(*context, product);
    product.issue =
        checker->issueAsync(*context, siteIndex, 0, /*isWarp=*/true);
  }
}

void wgmmaTouch(Context context, uint32_t site, uint32_t mask,
                const uint32_t *place, uint32_t writes) {
  if (!mask || !context->block->checker())
    return;
  context->block->warpOf(context).products.registers.touch(
      *context, site, unsigned(__builtin_ctz(mask)), place, writes);
}

void wgmmaFence(Context context, uint32_t site, uint32_t mask) {
  if (!mask)
    return;
  checkWarpgroup(context, site, mask);
  if (context->block->checker())
    context->block->warpOf(context).products.registers.fence();
}

/// The first warp of this one's warpgroup.
static Warp *warpgroupOf(Context context) {
  return &context->block
              ->allWarps()[context->warp / warpsOfWarpgroup * warpsOfWarpgroup];
}

void wgmmaCommit(Context context, uint32_t site, uint32_t mask) {
  if (!mask)
    return;
  checkWarpgroup(context, site, mask);
  ++context->block->warpOf(context).products.groups;
  Warp *warps = warpgroupOf(context);
  for (unsigned w = 0; w < warpsOfWarpgroup; ++w)
    if (warps[w].state == Warp::State::AtProducts)
      context->block->scheduler().makeReady(warps[w]);
}

/// What all warps of the warpgroup knew when they started a product.
static AsyncIssue issueOf(const Warp *warps, const PendingProduct &product) {
  AsyncIssue issue = product.issue;
  for (unsigned w = 0; w < warpsOfWarpgroup; ++w)
    for (const PendingProduct &same : warps[w].products.pending)
      if (same.number == product.number)
        issue.knowledge.join(same.issue.knowledge);
  return issue;
}

static void complete(const Warp *warps, const WarpContext &warp,
                     PendingProduct &product) {
  BlockRunner &block = *warp.block;
  const ProductForm &form = block.site(product.site).product;
  product.isDone = true;
  if (Checker *checker = block.checker()) {
    AsyncIssue issue = issueOf(warps, product);
    visitTiles(form, product.a, product.b, warp.warp,
               [&](char, uint32_t offset) {
                 checker->readByProduct(issue, offset, 16, product.group);
               });
  }
  computeProduct(form, product, block.sharedMemory(), warp.warp);
}

void wgmmaWait(Context context, uint32_t siteIndex, uint32_t mask,
               uint32_t pending) {
  if (!mask)
    return;
  checkWarpgroup(context, siteIndex, mask);
  BlockRunner &block = *context->block;
  Warp &self = block.warpOf(context);
  Products &products = self.products;
  uint32_t end = products.groups - std::min(pending, products.groups);
  Checker *checker = block.checker();
  for (const PendingProduct &product : products.pending)
    if (checker && product.group < end)
      visitTiles(block.site(product.site).product, product.a, product.b,
                 context->warp, [&](char, uint32_t offset) {
                   checker->checkWritesSince(product.issue, offset, 16);
                 });
  // A group is one of the warpgroup: when it is done, all four warps are done
  // reading, so that one of them may tell others.
  Warp *warps = warpgroupOf(context);
  auto hasNotCommitted = [&](const Warp &warp) {
    return warp.products.groups < end;
  };
  while (std::any_of(warps, warps + warpsOfWarpgroup, hasNotCommitted)) {
    self.state = Warp::State::AtProducts;
    self.productSite = siteIndex;
    block.scheduler().suspend(self);
  }
  for (unsigned w = 0; w < warpsOfWarpgroup; ++w)
    for (PendingProduct &product : warps[w].products.pending)
      if (product.group < end && !product.isDone)
        complete(warps, warps[w].context, product);
  while (!products.pending.empty() && products.pending.front().group < end) {
    const PendingProduct &product = products.pending.front();
    if (checker)
      products.registers.end(block.site(product.site).product, product);
    products.pending.pop_front();
  }
  if (checker)
    checker->waitForProducts(*context, end);
}

} // namespace helpers
} // namespace tsp::emulation
