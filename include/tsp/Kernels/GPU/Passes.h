//===- Passes.h - passes of the GPU target ----------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_KERNELS_GPU_PASSES_H
#define TSP_KERNELS_GPU_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tsp {

/// What kernels of the GPU target are made for.
struct DeviceKernelOptions {
  /// Names of architectures (tsp/Kernels/GPU/TargetDescription.h). The shapes
  /// of kernels are chosen for the first; all of them run the same kernels.
  std::vector<std::string> architectures = {"sm_80"};
};

/// Adds the passes that take the kernels of a module from tensor form to
/// functions of the NVVM dialect.
void buildDeviceKernelPipeline(mlir::OpPassManager &manager,
                               const DeviceKernelOptions &options);

#define GEN_PASS_DECL
#include "tsp/Passes/GPU.h.inc"

#define GEN_PASS_REGISTRATION
#include "tsp/Passes/GPU.h.inc"

} // namespace tsp

#endif // TSP_KERNELS_GPU_PASSES_H
