//===- ReplaceMap.cpp - tensor maps that kernels change -------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/BlockRunner.h"
#include "exec/Helpers.h"

#include <cstring>

namespace tsp::emulation::helpers {

/// Changes a field. Returns what is wrong with the value, or "".
static std::string replace(TensorMap &map, MapField field, uint32_t dimension,
                           uint64_t value) {
  std::string name = "dimension " + std::to_string(dimension);
  // Also dimensions that the map's rank leaves out have sizes.
  unsigned last = TensorMap::maxRank - (field == MapField::Stride ? 1 : 0);
  bool hasDimension = field != MapField::Address && field != MapField::Rank;
  if (hasDimension && dimension >= last)
    return "a tensor map has no " + name;
  std::string text = std::to_string(value);
  switch (field) {
  case MapField::Address:
    if (value % 16)
      return "the tensor's address must be a multiple of 16";
    map.address = value;
    return "";
  case MapField::Rank: // less one
    if (value >= TensorMap::maxRank)
      return "a rank of " + text + " and one: it may be 1 to 5";
    map.rank = uint8_t(value + 1);
    return "";
  case MapField::Box:
    if (value == 0 || value > 256)
      return "the box has " + text + " elements in " + name +
             ": it may have 1 to 256";
    map.box[dimension] = uint16_t(value);
    return "";
  case MapField::Size:
    if (value == 0)
      return name + " has no elements";
    map.lastIndex[dimension] = uint32_t(value - 1);
    return "";
  case MapField::Stride:
    if (value % 16 || value >> 40)
      return "the stride of " + name + ", " + text +
             " bytes, must be a multiple of 16 below 2^40";
    map.strides[dimension] = value;
    return "";
  case MapField::ElementStride:
    return value == 1 ? "" : "the emulation has no element strides";
  }
  return "";
}

/// A map in global or shared memory, of which the checker is told.
static TensorMap &findMap(Context context, uint32_t siteIndex, unsigned lane,
                          Lanes64 addresses, ptx::Space space,
                          AccessKind kind) {
  BlockRunner &block = *context->block;
  uint32_t mask = uint32_t(1) << lane;
  uint64_t base = block.checkAccess(*context, siteIndex, mask, addresses,
                                    mapBytes, mapAlignment, space);
  if (Checker *checker = block.checker())
    checker->access(*context, siteIndex, mask, addresses, mapBytes, kind,
                    space);
  return *reinterpret_cast<TensorMap *>(base + addresses[lane]);
}

void replaceInMap(Context context, uint32_t siteIndex, uint32_t mask,
                  Lanes64 maps, uint32_t field, uint32_t dimension,
                  Lanes64 values) {
  BlockRunner &block = *context->block;
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    TensorMap &map = findMap(context, siteIndex, lane, maps,
                             block.site(siteIndex).space, AccessKind::Write);
    if (!map.isEncoded())
      block.fault(*context, siteIndex, lane,
                  "there is no tensor map at this address");
    std::string wrong = replace(map, MapField(field), dimension, values[lane]);
    if (!wrong.empty())
      block.fault(*context, siteIndex, lane, wrong);
  }
}

void copyMap(Context context, uint32_t siteIndex, uint32_t mask, Lanes64 to,
             Lanes64 from) {
  if (!mask)
    return;
  checkWhole(context, siteIndex, mask);
  const TensorMap &source = findMap(context, siteIndex, 0, from,
                                    ptx::Space::Shared, AccessKind::Read);
  TensorMap &target =
      findMap(context, siteIndex, 0, to, ptx::Space::Global, AccessKind::Write);
  std::memcpy(static_cast<void *>(&target), &source, mapBytes);
}

} // namespace tsp::emulation::helpers
