//===- DeviceSdpaForms.h - the forms of attention ---------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GPU_DEVICESDPAFORMS_H
#define TSP_LIB_KERNELS_GPU_DEVICESDPAFORMS_H

#include "DeviceSdpa.h"

namespace tsp {

/// Rows of a warpgroup.
inline constexpr int64_t kWarpgroupRows = 64;

/// Bytes from the start of shared memory; Q is first. Sides are boxes of 64
/// columns (Warpgroup.h), the last of them filled up with zeros.
struct WarpgroupSdpaLayout {
  int64_t stageBytesK, stageBytesV;
  int64_t k, v, barriersK, barriersV, tileWords, bytes;
  WarpgroupSdpaLayout(const SdpaSpec &spec, const DeviceSdpaPlan &plan);
};

void emitTensorCoreSdpa(DeviceEmitter &e, const SdpaSpec &spec,
                        const DeviceSdpaPlan &plan);
void emitVectorSdpa(DeviceEmitter &e, const SdpaSpec &spec,
                    const DeviceSdpaPlan &plan);
void emitWarpgroupSdpa(DeviceEmitter &e, const SdpaSpec &spec,
                       const DeviceSdpaPlan &plan, const SdpaMaps &maps);

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_DEVICESDPAFORMS_H
