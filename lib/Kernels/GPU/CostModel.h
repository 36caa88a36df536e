//===- CostModel.h - times that planners compare ----------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GPU_COSTMODEL_H
#define TSP_LIB_KERNELS_GPU_COSTMODEL_H

#include "tsp/Kernels/GPU/TargetDescription.h"

namespace tsp {

/// What one more kernel takes that has nothing to do, in ns.
inline constexpr double kLaunchTime = 2500;
/// What the start and the end of a block take, in ns.
inline constexpr double kBlockTime = 500;

/// Time of a kernel that reads `bytes` of memory once, in ns. Each of `blocks`
/// blocks has `bytesInFlight` on their way at a time, for about 600 ns.
double estimateReading(double bytes, int64_t blocks, int64_t bytesInFlight,
                       const TargetDescription &target);

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_COSTMODEL_H
