//===- Matrix.cpp - matrix fragments of a warp ----------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layouts of the PTX manual, with row = lane / 4 and pair = lane % 4. A
// fragment of 16-bit elements holds in its register the columns 2*pair and
// 2*pair + 1: of a the rows `row` (registers 0, 2) and `row` + 8 (1, 3), the
// columns plus 8 in registers 2 and 3; of b the column `row` and those as rows;
// of c and d, a register an element, the rows as of a.
//
//===----------------------------------------------------------------------===//

#include "exec/BlockRunner.h"
#include "exec/Helpers.h"

#include <cstring>

namespace tsp::emulation::helpers {

//===----------------------------------------------------------------------===//
// ldmatrix, stmatrix
//===----------------------------------------------------------------------===//

/// The lanes whose addresses the instruction uses: 8 a matrix.
static uint32_t addressLanes(unsigned count) {
  return count == 4 ? ~uint32_t(0) : (uint32_t(1) << (8 * count)) - 1;
}

void checkWhole(Context context, uint32_t site, uint32_t mask) {
  if (mask != ~uint32_t(0))
    context->block->fault(
        *context, site, unsigned(__builtin_ctz(~mask)),
        "this thread does not take part in an operation of its whole warp");
  if (Checker *checker = context->block->checker())
    checker->synchronizeWarp(*context);
}

/// One 8x8 matrix of 16-bit elements, between its rows and the lanes'
/// registers.
static void transpose(const uint16_t *from, uint16_t *to) {
  for (unsigned row = 0; row < 8; ++row)
    for (unsigned column = 0; column < 8; ++column)
      to[column * 8 + row] = from[row * 8 + column];
}

static uint64_t checkRows(Context context, uint32_t siteIndex, uint32_t mask,
                          Lanes64 addresses, AccessKind kind) {
  BlockRunner &block = *context->block;
  const Site &site = block.site(siteIndex);
  checkWhole(context, siteIndex, mask);
  uint64_t base =
      block.checkAccess(*context, siteIndex, addressLanes(site.count),
                        addresses, 16, 16, site.space);
  if (Checker *checker = block.checker())
    checker->accessRows(*context, siteIndex, site.count, addresses, kind,
                        site.space);
  return base;
}

static void loadRows(Lanes64 addresses, uint64_t base, unsigned matrix,
                     uint32_t *rows) {
  for (unsigned row = 0; row < 8; ++row)
    std::memcpy(
        rows + 4 * row,
        reinterpret_cast<const void *>(base + addresses[8 * matrix + row]), 16);
}

void ldmatrix(Context context, uint32_t site, uint32_t mask, Lanes64 addresses,
              uint32_t *const *results) {
  if (!mask)
    return;
  uint64_t base = checkRows(context, site, mask, addresses, AccessKind::Read);
  for (unsigned matrix = 0; matrix < context->block->site(site).count; ++matrix)
    loadRows(addresses, base, matrix, results[matrix]);
}

void ldmatrixTrans(Context context, uint32_t site, uint32_t mask,
                   Lanes64 addresses, uint32_t *const *results) {
  if (!mask)
    return;
  uint64_t base = checkRows(context, site, mask, addresses, AccessKind::Read);
  for (unsigned matrix = 0; matrix < context->block->site(site).count;
       ++matrix) {
    uint32_t rows[warpSize];
    loadRows(addresses, base, matrix, rows);
    transpose(reinterpret_cast<const uint16_t *>(rows),
              reinterpret_cast<uint16_t *>(results[matrix]));
  }
}

static void storeRows(Context context, uint32_t site, uint32_t mask,
                      Lanes64 addresses, Lanes32 values, bool isTransposed) {
  if (!mask)
    return;
  uint64_t base = checkRows(context, site, mask, addresses, AccessKind::Write);
  for (unsigned matrix = 0; matrix < context->block->site(site).count;
       ++matrix) {
    uint32_t rows[warpSize];
    const uint32_t *from = values + matrix * warpSize;
    if (isTransposed)
      transpose(reinterpret_cast<const uint16_t *>(from),
                reinterpret_cast<uint16_t *>(rows));
    else
      std::memcpy(rows, from, sizeof(rows));
    for (unsigned row = 0; row < 8; ++row)
      std::memcpy(reinterpret_cast<void *>(base + addresses[8 * matrix + row]),
                  rows + 4 * row, 16);
  }
}

void stmatrix(Context context, uint32_t site, uint32_t mask, Lanes64 addresses,
              Lanes32 values) {
  storeRows(context, site, mask, addresses, values, false);
}

void stmatrixTrans(Context context, uint32_t site, uint32_t mask,
                   Lanes64 addresses, Lanes32 values) {
  storeRows(context, site, mask, addresses, values, true);
}

void movmatrix(Context context, uint32_t site, uint32_t mask, Lanes32 values,
               uint32_t *result) {
  if (!mask)
    return;
  checkWhole(context, site, mask);
  transpose(reinterpret_cast<const uint16_t *>(values),
            reinterpret_cast<uint16_t *>(result));
}

} // namespace tsp::emulation::helpers
