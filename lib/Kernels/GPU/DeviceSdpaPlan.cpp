//===- DeviceSdpaPlan.cpp - the form of an attention kernel ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceSdpaForms.h"
#include "Warpgroup.h"

using namespace mlir;
using namespace tsp;

/// Whether Q, K or V can be copied in pieces of 16 bytes.
static bool isCopyable(const SdpaTensor &tensor) {
  return tensor.last == 1 && tensor.batch % 8 == 0 && tensor.row % 8 == 0 &&
         tensor.head % 8 == 0;
}

static bool areCopyable(const SdpaSpec &spec, bool aligned) {
  return aligned && isCopyable(spec.q) && isCopyable(spec.k) &&
         isCopyable(spec.v);
}

static bool hasTensorCoreShape(const SdpaSpec &spec) {
  Type type = spec.q.element;
  auto suits = [](int64_t width) { return width % 16 == 0 && width <= 256; };
  return (type.isBF16() || type.isF16()) && type == spec.k.element &&
         type == spec.v.element && suits(spec.width) && suits(spec.valueWidth);
}

/// Bytes from row to row: an odd number of 16-byte columns.
static int64_t oddColumns(int64_t width) { return (width / 8 | 1) * 16; }

static void setGrid(DeviceSdpaPlan &plan, const SdpaSpec &spec) {
  int64_t tiles = llvm::divideCeil(spec.rows(), plan.rows);
  plan.launch.grid = {tiles, spec.keyHeads, spec.batch};
  plan.isFlat = spec.keyHeads > kMaxGrid[1] || spec.batch > kMaxGrid[2];
  if (plan.isFlat)
    plan.launch.grid = {tiles * spec.keyHeads * spec.batch, 1, 1};
}

DeviceSdpaPlan tsp::planDeviceSdpa(const SdpaSpec &spec, bool aligned,
                                   const TargetDescription &target) {
  DeviceSdpaPlan plan;
  bool tensorCore = hasTensorCoreShape(spec) && areCopyable(spec, aligned);
  int64_t widest = std::max(spec.width, spec.valueWidth);
  int64_t buffers = 1;
  if (tensorCore) {
    plan.form = DeviceSdpaForm::TensorCore;
    // 128 rows to a block, if blocks enough are left: twice the work for each
    // byte of K and V. Heads up to 128 have registers for two tiles of rows in
    // a warp, which read K and V from shared memory once for both, at the price
    // of Q and half the keys where O is wide; wider ones get more warps.
    int64_t blocks =
        llvm::divideCeil(spec.rows(), 128) * spec.keyHeads * spec.batch;
    bool large = blocks >= 2 * target.numProcessors;
    plan.rowTiles = large && widest <= 128 ? 2 : 1;
    plan.warps = large && widest > 128 ? 8 : 4;
    plan.rows = plan.warps * 16 * plan.rowTiles;
    // O, Q and S of a lane.
    int64_t output = plan.rowTiles * spec.valueWidth / 2,
            queries = plan.rowTiles * spec.width / 4;
    plan.keys = output > 64 ? 32 : 64;
    plan.pitchK = oddColumns(spec.width);
    plan.pitchV = oddColumns(spec.valueWidth);
    if (output + queries > 176)
      plan.pitchQ = plan.pitchK;
    buffers = 2;
  } else {
    // A lane has at most 32 registers of Q and as many of O.
    int64_t bytes = spec.compute.getIntOrFloatBitWidth() / 8;
    while (plan.lanesPerRow * 32 < llvm::divideCeil(widest * bytes, 4))
      plan.lanesPerRow *= 2;
    plan.warps = 4;
    plan.rows = plan.warps * 32 / plan.lanesPerRow;
    plan.keys = 32;
    int64_t line = plan.lanesPerRow * 16;
    plan.pitchK = llvm::alignTo(spec.width * bytes, line);
    plan.pitchV = llvm::alignTo(spec.valueWidth * bytes, line);
    if (plan.keys * (plan.pitchK + plan.pitchV) > 64 * 1024)
      plan.keys = 8;
  }
  setGrid(plan, spec);
  plan.launch.block = {plan.warps * 32, 1, 1};
  plan.launch.sharedBytes = buffers * plan.keys * (plan.pitchK + plan.pitchV) +
                            plan.rows * plan.pitchQ;
  return plan;
}

//===----------------------------------------------------------------------===//
// The warpgroup form
//===----------------------------------------------------------------------===//

WarpgroupSdpaLayout::WarpgroupSdpaLayout(const SdpaSpec &spec,
                                         const DeviceSdpaPlan &plan) {
  auto sideBytes = [](int64_t lines, int64_t width) {
    return lines * int64_t(llvm::alignTo(width, 64)) * 2;
  };
  stageBytesK = sideBytes(plan.keys, spec.width);
  stageBytesV = sideBytes(plan.keys, spec.valueWidth);
  k = sideBytes(plan.rows, spec.width);
  v = k + plan.stages * stageBytesK;
  barriersK = v + plan.stages * stageBytesV;
  barriersV = barriersK + StageRing::barrierBytes(plan.stages);
  tileWords = barriersV + StageRing::barrierBytes(plan.stages);
  bytes = tileWords + plan.stages * 4;
}

/// Whether a tensor map can read K or V: there is a step from key to key, and
/// none goes backwards.
static bool isMappable(const SdpaTensor &tensor) {
  return tensor.row > 0 && tensor.head >= 0 && tensor.batch >= 0;
}

DeviceTensorMap tsp::describeSdpaMap(const SdpaSpec &spec,
                                     const SdpaTensor &tensor, int64_t width,
                                     const DeviceSdpaPlan &plan) {
  DeviceTensorMap map;
  map.element = tensor.element;
  map.sizes = {width, spec.keys};
  map.strides = {tensor.row * 2};
  map.box = {64, plan.keys};
  auto addDim = [&](int64_t size, int64_t stride) {
    if (stride == 0) // of size 1, or repeated
      return;
    map.sizes.push_back(size);
    map.strides.push_back(stride * 2);
    map.box.push_back(1);
  };
  addDim(spec.keyHeads, tensor.head);
  addDim(spec.batch, tensor.batch);
  return map;
}

std::optional<DeviceSdpaPlan>
tsp::planWarpgroupSdpa(const SdpaSpec &spec, bool aligned,
                       const TargetDescription &target, std::string &reason) {
  if (!hasTensorCoreShape(spec))
    return std::nullopt;
  if (!areCopyable(spec, aligned)) {
    reason = "rows of queries, keys or values are not multiples of 16 bytes "
             "apart, or do not start at one";
    return std::nullopt;
  }
  if (!isMappable(spec.k) || !isMappable(spec.v)) {
    reason = "one key or value is repeated, or they are read backwards";
    return std::nullopt;
  }
  DeviceSdpaPlan plan;
  plan.form = DeviceSdpaForm::Warpgroup;
  // Tiles of rows that the last wave of blocks is done with first; of equal
  // ones the largest, which reads K and V once for more rows. Three warpgroups
  // have registers for narrow heads only.
  auto timeOf = [&](int64_t consumers) {
    int64_t tiles = llvm::divideCeil(spec.rows(), consumers * kWarpgroupRows);
    return consumers * llvm::divideCeil(tiles * spec.keyHeads * spec.batch,
                                        target.numProcessors);
  };
  int64_t most = std::max(spec.width, spec.valueWidth) <= 64 ? 3 : 2;
  for (int64_t consumers = 2; consumers <= most; ++consumers)
    if (spec.rows() > (consumers - 1) * kWarpgroupRows &&
        timeOf(consumers) <= timeOf(plan.consumers))
      plan.consumers = consumers;
  plan.warps = 4 * (plan.consumers + 1);
  plan.rows = plan.consumers * kWarpgroupRows;
  // S in f32, P of the tile before (half of it) and O share the registers that
  // addresses, maxima and, where there are masks, positions leave.
  int64_t registers = (plan.consumers == 3 ? 128 : 196) -
                      (spec.hasMasks() ? 28 : 0) - spec.valueWidth / 2;
  plan.keys = std::min<int64_t>({registers * 4 / 3 / 16 * 16, 176,
                                 int64_t(llvm::alignTo(spec.keys, 16))});
  while (WarpgroupSdpaLayout(spec, plan).bytes > target.sharedPerBlock)
    plan.keys -= 16;
  setGrid(plan, spec);
  plan.launch.block = {plan.warps * 32, 1, 1};
  plan.launch.sharedBytes = WarpgroupSdpaLayout(spec, plan).bytes;
  return plan;
}

void tsp::emitDeviceSdpa(DeviceEmitter &e, const SdpaSpec &spec,
                         const DeviceSdpaPlan &plan, const SdpaMaps &maps) {
  switch (plan.form) {
  case DeviceSdpaForm::Warpgroup:
    return emitWarpgroupSdpa(e, spec, plan, maps);
  case DeviceSdpaForm::TensorCore:
    return emitTensorCoreSdpa(e, spec, plan);
  case DeviceSdpaForm::Vector:
    return emitVectorSdpa(e, spec, plan);
  }
}
