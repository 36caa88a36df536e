//===- Launch.h - running kernels -------------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_DRIVER_LAUNCH_H
#define TSP_EMULATION_DRIVER_LAUNCH_H

#include "driver/Stream.h"

namespace tsp::emulation {

/// Checks a launch against the limits of kernel and device and makes work of
/// it. The values of its parameters are copied.
CUresult makeLaunch(CUcontext context, const CUDA_KERNEL_NODE_PARAMS &params,
                    StreamWork &work);

/// How the blocks of a launch run together.
struct Together {
  /// Blocks of a cluster; zeros: as the kernel says.
  std::array<uint32_t, 3> cluster = {0, 0, 0};
  bool cooperative = false;
};
CUresult makeLaunch(CUcontext context, const CUDA_KERNEL_NODE_PARAMS &params,
                    const Together &together, StreamWork &work);

} // namespace tsp::emulation

#endif // TSP_EMULATION_DRIVER_LAUNCH_H
