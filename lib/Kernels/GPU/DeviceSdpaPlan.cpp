//===- DeviceSdpaPlan.cpp - the form of an attention kernel ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceSdpaForms.h"

using namespace mlir;
using namespace tsp;

/// Whether Q, K or V can be copied in pieces of 16 bytes.
static bool isCopyable(const SdpaTensor &tensor) {
  return tensor.last == 1 && tensor.batch % 8 == 0 && tensor.row % 8 == 0 &&
         tensor.head % 8 == 0;
}

static bool suitsTensorCore(const SdpaSpec &spec, bool aligned) {
  Type type = spec.q.element;
  auto suits = [](int64_t width) { return width % 16 == 0 && width <= 256; };
  return (type.isBF16() || type.isF16()) && type == spec.k.element &&
         type == spec.v.element && suits(spec.width) &&
         suits(spec.valueWidth) && aligned && isCopyable(spec.q) &&
         isCopyable(spec.k) && isCopyable(spec.v);
}

/// Bytes from row to row: an odd number of 16-byte columns.
static int64_t oddColumns(int64_t width) { return (width / 8 | 1) * 16; }

DeviceSdpaPlan tsp::planDeviceSdpa(const SdpaSpec &spec, bool aligned,
                                   const TargetDescription &target) {
  DeviceSdpaPlan plan;
  plan.tensorCore = suitsTensorCore(spec, aligned);
  int64_t widest = std::max(spec.width, spec.valueWidth);
  int64_t buffers = 1;
  if (plan.tensorCore) {
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
  plan.launch.grid = {int64_t(llvm::divideCeil(spec.rows(), plan.rows)),
                      spec.keyHeads, spec.batch};
  plan.launch.block = {plan.warps * 32, 1, 1};
  plan.launch.sharedBytes = buffers * plan.keys * (plan.pitchK + plan.pitchV) +
                            plan.rows * plan.pitchQ;
  return plan;
}

void tsp::emitDeviceSdpa(DeviceEmitter &e, const SdpaSpec &spec,
                         const DeviceSdpaPlan &plan) {
  if (plan.tensorCore)
    emitTensorCoreSdpa(e, spec, plan);
  else
    emitVectorSdpa(e, spec, plan);
}
