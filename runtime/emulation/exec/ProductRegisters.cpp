//===- ProductRegisters.cpp - registers that wgmma works on ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/ProductRegisters.h"
#include "exec/BlockRunner.h"

namespace tsp::emulation {

static std::string lineOf(const WarpContext &warp, uint32_t site) {
  return "PTX line " + std::to_string(warp.block->site(site).line);
}

void ProductRegisters::touch(const WarpContext &warp, uint32_t site,
                             unsigned lane, const uint32_t *place,
                             bool writes) {
  Use &use = uses[place];
  const char *verb = writes ? "written" : "read";
  if (use.asSum)
    warp.block->fault(warp, site, lane,
                      std::string("a register of the sums is ") + verb +
                          " before wgmma.wait_group has waited for the product "
                          "of " +
                          lineOf(warp, use.lastProduct));
  if (writes && use.asFragment)
    warp.block->fault(warp, site, lane,
                      "a register of A is written before wgmma.wait_group has "
                      "waited for the product of " +
                          lineOf(warp, use.lastProduct));
  (writes ? use.lastWrite : use.lastRead) = site;
}

void ProductRegisters::fence() {
  isFenced = true;
  for (auto &[place, use] : uses)
    use.lastRead = use.lastWrite = none;
}

void ProductRegisters::beginSum(const WarpContext &warp,
                                const PendingProduct &product,
                                const uint32_t *place) {
  Use &use = uses[place];
  uint32_t access = use.lastWrite != none ? use.lastWrite : use.lastRead;
  if (access != none)
    warp.block->fault(warp, product.site, 0,
                      "no wgmma.fence after the access to a register of the "
                      "sums at " +
                          lineOf(warp, access));
  const ProductForm &form = warp.block->site(product.site).product;
  if (use.asSum) {
    const ProductForm &other = warp.block->site(use.lastProduct).product;
    if (form.columns != other.columns || form.sum != other.sum)
      warp.block->fault(warp, product.site, 0,
                        "a register of the sums belongs to the product of " +
                            lineOf(warp, use.lastProduct) +
                            ", which has another shape and was not waited for");
  }
  ++use.asSum;
  use.lastProduct = product.site;
}

void ProductRegisters::beginFragment(const WarpContext &warp,
                                     const PendingProduct &product,
                                     const uint32_t *place) {
  Use &use = uses[place];
  if (use.asSum)
    warp.block->fault(warp, product.site, 0,
                      "a register of A is one of the sums of the product of " +
                          lineOf(warp, use.lastProduct) +
                          ", which was not waited for");
  if (use.lastWrite != none)
    warp.block->fault(warp, product.site, 0,
                      "no wgmma.fence after the write to a register of A at " +
                          lineOf(warp, use.lastWrite));
  ++use.asFragment;
  use.lastProduct = product.site;
}

void ProductRegisters::begin(const WarpContext &warp,
                             const PendingProduct &product) {
  if (!isFenced)
    warp.block->fault(warp, product.site, 0,
                      "no wgmma.fence before the first product");
  const ProductForm &form = warp.block->site(product.site).product;
  for (unsigned r = 0; form.isAInRegisters && r < wgmmaFragment; ++r)
    beginFragment(warp, product, product.fragmentPlaces[r]);
  for (unsigned r = 0; r < form.registersOfSums(form.columns); ++r)
    beginSum(warp, product, product.sums[r]);
}

void ProductRegisters::end(const ProductForm &form,
                           const PendingProduct &product) {
  for (unsigned r = 0; form.isAInRegisters && r < wgmmaFragment; ++r)
    --uses[product.fragmentPlaces[r]].asFragment;
  for (unsigned r = 0; r < form.registersOfSums(form.columns); ++r)
    --uses[product.sums[r]].asSum;
}

} // namespace tsp::emulation
