//===- DeviceOps.h - what transfers do to device buffers --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_BACKENDS_CUDA_DEVICEOPS_H
#define TSP_RUNTIME_BACKENDS_CUDA_DEVICEOPS_H

#include "backends/cuda/CudaDevice.h"
#include "core/BufferOps.h"

namespace tsp::runtime::cuda {

/// Copies and kernels on a rank's communication stream. Combining is done by
/// the kernels that the model's image has for it (see tsp_runtime.h).
class DeviceOps : public BufferOps {
public:
  explicit DeviceOps(CudaDevice &device)
      : device(device), stream(device.stream(TSP_STREAM_COMM)) {}

  void move(const Move &move, char *dst, const char *src) override {
    device.enqueueMove(stream, move, dst, src);
  }
  void zero(const Move &fill, char *dst) override {
    device.enqueueZero(stream, fill, dst);
  }
  void combine(const Transfer &transfer, char *dst, const Sources &sources,
               int64_t count) override;
  void combinePairs(const Transfer &transfer, char *dst, char *dst2,
                    const Sources &sources, const Sources &sources2,
                    int64_t rows) override;

private:
  CudaDevice &device;
  const Stream stream;
};

} // namespace tsp::runtime::cuda

#endif // TSP_RUNTIME_BACKENDS_CUDA_DEVICEOPS_H
