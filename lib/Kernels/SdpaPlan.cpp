//===- SdpaPlan.cpp - blocks of attention ---------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/Sdpa.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tsp;
using llvm::alignTo;
using llvm::divideCeil;

/// Keys of a block: K, V and the scores of a panel stay in the first caches.
static constexpr int64_t kKeys = 64;
static constexpr int64_t kPanelsPerUnit = 4;
static constexpr int64_t kEnoughUnits = 16;

/// Whether a side of K or V is copied block by block: to convert it, or as its
/// keys would fall on few sets of the first cache.
static bool needsCopy(const SdpaSpec &spec, const SdpaTensor &tensor) {
  int64_t bytes = spec.compute.getIntOrFloatBitWidth() / 8;
  return tensor.element != spec.compute || tensor.last != 1 ||
         tensor.row * bytes % 2048 == 0;
}

SdpaPlan tsp::planSdpa(const SdpaSpec &spec, const VectorTarget &target) {
  SdpaPlan plan;
  plan.lanes = target.lanes(spec.compute);
  int64_t accumulators = target.registers * 3 / 4;
  plan.nv = std::min<int64_t>(3, divideCeil(spec.rows(), plan.lanes));
  int64_t most = std::min<int64_t>(accumulators / plan.nv, 12);
  plan.mrKeys = std::min<int64_t>(plan.nv == 3 ? 8 : most, spec.keys);
  plan.mrKeys = std::min(plan.mrKeys, most);
  plan.mrValues = std::min(most, spec.valueWidth);
  plan.mrValues =
      divideCeil(spec.valueWidth, divideCeil(spec.valueWidth, plan.mrValues));
  plan.keyBlock = std::min(alignTo(spec.keys, plan.lanes), uint64_t(kKeys));

  plan.panels = divideCeil(spec.rows(), plan.nr());
  plan.panelsPerUnit = std::min(kPanelsPerUnit, plan.panels);
  int64_t outer = spec.batch * spec.keyHeads;
  while (plan.panelsPerUnit > 1 &&
         outer * divideCeil(plan.panels, plan.panelsPerUnit) < kEnoughUnits)
    --plan.panelsPerUnit;
  plan.units = divideCeil(plan.panels, plan.panelsPerUnit);
  plan.grid = outer * plan.units;

  auto line = [&](int64_t width) {
    return (divideCeil(width, plan.lanes) | 1) * plan.lanes;
  };
  plan.copyK = needsCopy(spec, spec.k);
  plan.copyV = needsCopy(spec, spec.v);
  plan.ldk = line(spec.width);
  plan.ldv = line(spec.valueWidth);
  plan.turnedWidth = alignTo(spec.valueWidth, plan.lanes);
  return plan;
}
