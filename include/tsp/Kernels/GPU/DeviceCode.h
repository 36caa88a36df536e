//===- DeviceCode.h - kernels as PTX, machine code and fatbin ---*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_KERNELS_GPU_DEVICECODE_H
#define TSP_KERNELS_GPU_DEVICECODE_H

#include "tsp/Kernels/GPU/TargetDescription.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace tsp {

/// What ptxas says of a kernel on one architecture; sizes in bytes.
struct KernelResources {
  std::string kernel;
  const TargetDescription *target = nullptr;
  int64_t registers = 0, stack = 0, spillStores = 0, spillLoads = 0;
  int64_t shared = 0; // static
};

/// Blocks of `threads` threads that a multiprocessor holds at a time.
int64_t getBlocksPerProcessor(const KernelResources &kernel, int64_t threads,
                              int64_t dynamicShared);

struct DeviceCode {
  std::string fatbin;
  std::vector<KernelResources> resources;
};

/// PTX of a gpu.module in the NVVM dialect: of kernels that have a variant for
/// `target` the variant, of the others the general form.
mlir::FailureOr<std::string> compileToPtx(mlir::gpu::GPUModuleOp module,
                                          const TargetDescription &target);

/// The machine code of `ptx`. `resources` gets what ptxas says, if not null;
/// that it makes products of warpgroups wait for each other is a warning.
mlir::FailureOr<std::string>
assemblePtx(mlir::Location loc, llvm::StringRef ptx,
            const TargetDescription &target,
            std::vector<KernelResources> *resources = nullptr);

/// The text of machine code.
mlir::FailureOr<std::string> disassemble(mlir::Location loc,
                                         llvm::StringRef cubin);

/// One fatbin with machine code for each target and the PTX of the oldest that
/// is no "a" variant, uncompressed, for all others. `withSpecificPtx`: that of
/// each "a" variant too, which the emulation needs to run it.
mlir::FailureOr<DeviceCode>
compileDeviceCode(mlir::gpu::GPUModuleOp module,
                  llvm::ArrayRef<const TargetDescription *> targets,
                  bool withSpecificPtx);

} // namespace tsp

#endif // TSP_KERNELS_GPU_DEVICECODE_H
