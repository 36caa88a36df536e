//===- DeviceSdpaForms.h - the two forms of attention -----------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GPU_DEVICESDPAFORMS_H
#define TSP_LIB_KERNELS_GPU_DEVICESDPAFORMS_H

#include "DeviceSdpa.h"

namespace tsp {

void emitTensorCoreSdpa(DeviceEmitter &e, const SdpaSpec &spec,
                        const DeviceSdpaPlan &plan);
void emitVectorSdpa(DeviceEmitter &e, const SdpaSpec &spec,
                    const DeviceSdpaPlan &plan);

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_DEVICESDPAFORMS_H
