//===- KernelPipeline.cpp - from kernels on tensors to LLVM ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/Kernels.h"
#include "tsp/Kernels/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

void tsp::buildKernelPipeline(OpPassManager &manager,
                              const KernelOptions &options) {
  LowerGemmKernelsOptions gemm;
  gemm.vectorBits = options.vectorBits;
  manager.addPass(createLowerGemmKernels(gemm));
  LowerSdpaKernelsOptions sdpa;
  sdpa.vectorBits = options.vectorBits;
  manager.addPass(createLowerSdpaKernels(sdpa));
  manager.addPass(createLowerFusedKernels());
  FinalizeKernelsOptions finalize;
  finalize.vectorBits = options.vectorBits;
  manager.addPass(createFinalizeKernels(finalize));
}
