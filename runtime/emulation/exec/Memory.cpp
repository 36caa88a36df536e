//===- Memory.cpp - loads and stores of a warp ----------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/BlockRunner.h"
#include "exec/Helpers.h"
#include "exec/Scheduler.h"

#include <cstring>

namespace tsp::emulation::helpers {

/// True when the lanes' elements lie one after the other.
static bool isContiguous(const uint64_t *addresses, uint32_t mask,
                         unsigned bytes) {
  if (mask != ~uint32_t(0))
    return false;
  uint64_t difference = 0;
  for (unsigned lane = 0; lane < warpSize; ++lane)
    difference |= addresses[lane] - (addresses[0] + uint64_t(lane) * bytes);
  return difference == 0;
}

/// Checks an access, tells the checker, and gives what to add to its addresses.
static uint64_t beginAccess(Context context, uint32_t siteIndex, uint32_t mask,
                            Lanes64 addresses, unsigned bytes,
                            AccessKind kind) {
  BlockRunner &block = *context->block;
  const Site &site = block.site(siteIndex);
  uint64_t base = block.checkAccess(*context, siteIndex, mask, addresses, bytes,
                                    bytes, site.space);
  if (site.polls)
    block.scheduler().poll(block.warpOf(context));
  if (Checker *checker = block.checker())
    checker->access(*context, siteIndex, mask, addresses, bytes, kind,
                    site.space);
  return base;
}

template <typename T>
static void load(Context context, uint32_t siteIndex, uint32_t mask,
                 Lanes64 addresses, void *result) {
  if (!mask)
    return;
  unsigned count = context->block->site(siteIndex).count;
  uint64_t base = beginAccess(context, siteIndex, mask, addresses,
                              unsigned(sizeof(T)) * count, AccessKind::Read);
  auto *values = static_cast<T *>(result);
  if (count == 1 && isContiguous(addresses, mask, sizeof(T))) {
    std::memcpy(values, reinterpret_cast<const void *>(base + addresses[0]),
                sizeof(T) * warpSize);
    return;
  }
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    auto *from = reinterpret_cast<const T *>(base + addresses[lane]);
    for (unsigned i = 0; i < count; ++i)
      values[i * warpSize + lane] = from[i];
  }
}

template <typename T>
static void store(Context context, uint32_t siteIndex, uint32_t mask,
                  Lanes64 addresses, const void *source) {
  if (!mask)
    return;
  unsigned count = context->block->site(siteIndex).count;
  uint64_t base = beginAccess(context, siteIndex, mask, addresses,
                              unsigned(sizeof(T)) * count, AccessKind::Write);
  auto *values = static_cast<const T *>(source);
  if (count == 1 && isContiguous(addresses, mask, sizeof(T))) {
    std::memcpy(reinterpret_cast<void *>(base + addresses[0]), values,
                sizeof(T) * warpSize);
    return;
  }
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    auto *to = reinterpret_cast<T *>(base + addresses[lane]);
    for (unsigned i = 0; i < count; ++i)
      to[i] = values[i * warpSize + lane];
  }
}

void load1(Context context, uint32_t site, uint32_t mask, Lanes64 addresses,
           void *result) {
  load<uint8_t>(context, site, mask, addresses, result);
}
void load2(Context context, uint32_t site, uint32_t mask, Lanes64 addresses,
           void *result) {
  load<uint16_t>(context, site, mask, addresses, result);
}
void load4(Context context, uint32_t site, uint32_t mask, Lanes64 addresses,
           void *result) {
  load<uint32_t>(context, site, mask, addresses, result);
}
void load8(Context context, uint32_t site, uint32_t mask, Lanes64 addresses,
           void *result) {
  load<uint64_t>(context, site, mask, addresses, result);
}

void store1(Context context, uint32_t site, uint32_t mask, Lanes64 addresses,
            const void *values) {
  store<uint8_t>(context, site, mask, addresses, values);
}
void store2(Context context, uint32_t site, uint32_t mask, Lanes64 addresses,
            const void *values) {
  store<uint16_t>(context, site, mask, addresses, values);
}
void store4(Context context, uint32_t site, uint32_t mask, Lanes64 addresses,
            const void *values) {
  store<uint32_t>(context, site, mask, addresses, values);
}
void store8(Context context, uint32_t site, uint32_t mask, Lanes64 addresses,
            const void *values) {
  store<uint64_t>(context, site, mask, addresses, values);
}

void loadUniform(Context context, uint32_t siteIndex, uint32_t mask,
                 uint64_t address, void *result) {
  if (!mask)
    return;
  BlockRunner &block = *context->block;
  const Site &site = block.site(siteIndex);
  unsigned bytes = unsigned(site.size) * site.count;
  uint64_t addresses[warpSize];
  for (uint64_t &lane : addresses)
    lane = address;
  // One lane stands for all.
  uint64_t base = block.checkAccess(*context, siteIndex, mask & -mask,
                                    addresses, bytes, bytes, site.space);
  if (site.polls)
    block.scheduler().poll(block.warpOf(context));
  if (Checker *checker = block.checker())
    checker->access(*context, siteIndex, mask, addresses, bytes,
                    AccessKind::Read, site.space);
  std::memcpy(result, reinterpret_cast<const void *>(base + address), bytes);
}

} // namespace tsp::emulation::helpers
