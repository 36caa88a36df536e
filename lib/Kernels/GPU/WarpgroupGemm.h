//===- WarpgroupGemm.h - matrix products on sm_90a --------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The product of tsp/Kernels/Gemm.h by products of warpgroups (Warpgroup.h),
// for elements of 16 or 8 bits and f32 that may be rounded to tf32. Tiles of A
// and B come to a ring of stages in shared memory by bulk tensor copies, which
// one thread starts; one or two other warpgroups multiply them. Blocks of two
// warpgroups come in clusters of two, if the number of tiles allows it.
// Elements outside of the product are zeros that the copies put there.
//
// Memory is read through tensor maps, so that it has to lie as they want it:
// one dim in one piece, the others multiples of 16 bytes apart, five dims in
// all. What lies otherwise is left to the general kernel (DeviceGemm.h).
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GPU_WARPGROUPGEMM_H
#define TSP_LIB_KERNELS_GPU_WARPGROUPGEMM_H

#include "DeviceGemm.h"
#include "Warpgroup.h"
#include "tsp/Kernels/GPU/DeviceForm.h"

namespace tsp {

/// How one side of the product comes to shared memory.
struct WarpgroupSide {
  DeviceTensorMap map;
  WarpgroupTile tile;
  int64_t boxes = 1; ///< of a stage
  /// Which dims of the product those of the map are, behind the first two,
  /// which are the last of k and the free one, or the other way round.
  llvm::SmallVector<unsigned> k, outer;

  int64_t stageBytes() const { return boxes * tile.boxBytes(); }
};

/// A warpgroup multiplies wm rows by all bn columns.
struct WarpgroupGemmPlan : DeviceGemmPlan {
  WarpgroupSide sideA, sideB;
  int64_t blocksPerProcessor = 1;
  /// Blocks below each other, which share B: each copies a part of it to all.
  int64_t cluster = 1;

  int64_t consumers() const { return bm / wm; }
  int64_t stageBytes() const { return sideA.stageBytes() + sideB.stageBytes(); }
};

/// Chooses from the shapes and the architecture, which has warpgroups, or says
/// why the general kernel has to do: `reason` is "" when warpgroups were no
/// use.
std::optional<WarpgroupGemmPlan>
planWarpgroupGemm(const GemmKernel &kernel, int64_t resultBytes,
                  const TargetDescription &target, std::string &reason);

/// `mapA`, `mapB`: the tensor maps of the plan.
void emitWarpgroupGemm(DeviceGemm &gemm, const WarpgroupGemmPlan &plan,
                       mlir::Value mapA, mlir::Value mapB);

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_WARPGROUPGEMM_H
