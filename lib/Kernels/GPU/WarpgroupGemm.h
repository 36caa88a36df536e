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
// one thread starts; two other warpgroups multiply them. Elements outside of
// the product are zeros that the copies put there.
//
// There are no more blocks than the device runs at a time: each has a tile of C
// after the other, and copies for the next one while results are stored. The
// two warpgroups have rows of one tile ("cooperative"), or tiles in turns, so
// that one multiplies while the other stores ("ping-pong"). Clusters of two
// blocks have tiles below each other and copy what both need once.
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

/// Warpgroups that multiply.
inline constexpr int64_t kMultipliers = 2;
/// Results of a warp that wait to be stored have so much shared memory.
inline constexpr int64_t kWarpStaging = 4096;

/// A warpgroup multiplies wm rows by all bn columns.
struct WarpgroupGemmPlan : DeviceGemmPlan {
  WarpgroupSide sideA, sideB;
  /// How bulk copies store the results; none: threads do it.
  std::optional<DeviceTensorMap> result;
  /// Blocks below each other, which share B: each copies a part of it to all.
  int64_t cluster = 1;

  bool isPingPong() const { return bm == wm; }
  int64_t stageBytes() const { return sideA.stageBytes() + sideB.stageBytes(); }
  /// Bytes from the start of shared memory; the ring of stages is first.
  int64_t staging() const { return stages * stageBytes(); }
  int64_t barriers() const {
    return staging() + 4 * kMultipliers * kWarpStaging;
  }
};

/// Chooses from the shapes and the architecture, which has warpgroups, or says
/// why the general kernel has to do: `reason` is "" when warpgroups were no
/// use.
std::optional<WarpgroupGemmPlan>
planWarpgroupGemm(const GemmKernel &kernel, int64_t resultBytes,
                  const TargetDescription &target, std::string &reason);

/// The tensor maps of the plan; `result` may be null.
struct WarpgroupMaps {
  mlir::Value a, b, result;
};

void emitWarpgroupGemm(DeviceGemm &gemm, const WarpgroupGemmPlan &plan,
                       const WarpgroupMaps &maps);

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_WARPGROUPGEMM_H
