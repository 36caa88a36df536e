//===- DevicePipeline.cpp - from kernels on tensors to NVVM ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/GPU/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

/// Each lowering takes the kernels that are its own; the last one takes what is
/// left.
void tsp::buildDeviceKernelPipeline(OpPassManager &manager,
                                    const DeviceKernelOptions &options) {
  GpuLowerGemmKernelsOptions gemm;
  gemm.architectures.assign(options.architectures.begin(),
                            options.architectures.end());
  manager.addPass(createGpuLowerGemmKernels(gemm));
  GpuLowerSdpaKernelsOptions sdpa;
  sdpa.architectures.assign(options.architectures.begin(),
                            options.architectures.end());
  manager.addPass(createGpuLowerSdpaKernels(sdpa));
  manager.addPass(createGpuLowerFusedKernels());
  manager.addPass(createGpuAddRuntimeKernels());
  GpuFinalizeKernelsOptions finalize;
  finalize.architectures.assign(options.architectures.begin(),
                                options.architectures.end());
  manager.addPass(createGpuFinalizeKernels(finalize));
}
