//===- WarpOps.cpp - shuffles, reductions, barriers -----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/BlockRunner.h"
#include "exec/Helpers.h"

#include <algorithm>

namespace tsp::emulation::helpers {

void checkMembers(Context context, uint32_t site, uint32_t mask,
                  uint32_t members) {
  if (!mask)
    return;
  BlockRunner &block = *context->block;
  if (uint32_t absent = members & context->live & ~mask)
    block.fault(*context, site, unsigned(__builtin_ctz(absent)),
                "this thread is in the member mask but does not take part");
  if (uint32_t uninvited = mask & ~members)
    block.fault(*context, site, unsigned(__builtin_ctz(uninvited)),
                "this thread takes part but is not in the member mask");
  // Lanes outside are not ordered by it; that they are taken to be can hide a
  // race, not invent one.
  if (Checker *checker = block.checker())
    checker->synchronizeWarp(*context);
}

uint32_t shuffle(Context context, uint32_t siteIndex, uint32_t mask,
                 Lanes32 values, Lanes32 lane, Lanes32 clamp, Lanes32 members,
                 uint32_t *result) {
  if (!mask)
    return 0;
  uint32_t all = 0;
  for (uint32_t rest = mask; rest; rest &= rest - 1)
    all |= members[__builtin_ctz(rest)];
  checkMembers(context, siteIndex, mask, all);
  BlockRunner &block = *context->block;
  ShuffleMode mode = ShuffleMode(block.site(siteIndex).operation);
  uint32_t inRange = 0;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    uint32_t self = uint32_t(__builtin_ctz(rest));
    uint32_t segment = clamp[self] >> 8 & 31, limit = clamp[self] & 31,
             by = lane[self] & 31;
    uint32_t most = (self & segment) | (limit & ~segment);
    uint32_t least = self & segment;
    uint32_t source = self;
    bool valid = false;
    switch (mode) {
    case ShuffleMode::Up:
      source = self - by;
      valid = int32_t(source) >= int32_t(most);
      break;
    case ShuffleMode::Down:
      source = self + by;
      valid = source <= most;
      break;
    case ShuffleMode::Bfly:
      source = self ^ by;
      valid = source <= most;
      break;
    case ShuffleMode::Idx:
      source = least | (by & ~segment);
      valid = source <= most;
      break;
    }
    if (!valid)
      source = self;
    if (!(mask >> source & 1))
      block.fault(*context, siteIndex, self,
                  "a shuffle from lane " + std::to_string(source) +
                      ", which does not take part");
    inRange |= uint32_t(valid) << self;
    result[self] = values[source];
  }
  return inRange;
}

void reduce(Context context, uint32_t siteIndex, uint32_t mask, Lanes32 values,
            uint32_t members, uint32_t *result) {
  if (!mask)
    return;
  checkMembers(context, siteIndex, mask, members);
  const Site &site = context->block->site(siteIndex);
  bool isFirst = true;
  uint32_t sum = 0;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    uint32_t value = values[__builtin_ctz(rest)];
    if (isFirst) {
      sum = value;
      isFirst = false;
      continue;
    }
    switch (AtomicOp(site.operation)) {
    case AtomicOp::Min:
      sum = site.type.isSigned()
                ? uint32_t(std::min(int32_t(sum), int32_t(value)))
                : std::min(sum, value);
      break;
    case AtomicOp::Max:
      sum = site.type.isSigned()
                ? uint32_t(std::max(int32_t(sum), int32_t(value)))
                : std::max(sum, value);
      break;
    case AtomicOp::And:
      sum &= value;
      break;
    case AtomicOp::Or:
      sum |= value;
      break;
    case AtomicOp::Xor:
      sum ^= value;
      break;
    default:
      sum += value;
      break;
    }
  }
  *result = sum;
}

void match(Context context, uint32_t siteIndex, uint32_t mask, Lanes64 values,
           uint32_t members, uint32_t *result) {
  if (!mask)
    return;
  checkMembers(context, siteIndex, mask, members);
  bool wantsAll = context->block->site(siteIndex).operation;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint32_t same = 0;
    for (uint32_t others = mask; others; others &= others - 1) {
      unsigned other = unsigned(__builtin_ctz(others));
      same |= uint32_t(values[other] == values[lane]) << other;
    }
    result[lane] = wantsAll && same != mask ? 0 : same;
  }
}

uint32_t sameInLanes(Context context, uint32_t site, uint32_t mask,
                     Lanes32 values) {
  if (!mask)
    return 0;
  uint32_t first = values[__builtin_ctz(mask)];
  for (uint32_t rest = mask; rest; rest &= rest - 1)
    if (unsigned lane = unsigned(__builtin_ctz(rest)); values[lane] != first)
      context->block->fault(*context, site, lane,
                            "the number or the threads of the barrier are not "
                            "the same in all threads of the warp");
  return first;
}

uint32_t barrier(Context context, uint32_t site, uint32_t mask, uint32_t id,
                 uint32_t threads, uint32_t predicate) {
  return mask ? context->block->barrier(*context, site, mask, id, threads,
                                        predicate)
              : 0;
}

uint32_t chooseFairly(Lanes32 blocks, const uint8_t *isDivergent,
                      uint32_t count) {
  uint32_t lowest = ~uint32_t(0), highest = 0;
  bool isAny = false;
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    lowest = std::min(lowest, blocks[lane]);
    if (blocks[lane] >= count || !isDivergent[blocks[lane]])
      continue;
    highest = std::max(highest, blocks[lane]);
    isAny = true;
  }
  return isAny ? highest : lowest;
}

void trap(Context context, uint32_t site, uint32_t mask) {
  if (mask)
    context->block->fault(*context, site, unsigned(__builtin_ctz(mask)),
                          "trap");
}

} // namespace tsp::emulation::helpers
