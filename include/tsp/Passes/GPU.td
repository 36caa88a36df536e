//===- GPU.td - passes of the GPU target ------------------- *- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Device form is described in tsp/Kernels/GPU/DeviceForm.h.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_PASSES_GPU_TD
#define TSP_PASSES_GPU_TD

include "mlir/Pass/PassBase.td"

def GpuFinalizeKernels : Pass<"tsp-gpu-finalize-kernels", "mlir::ModuleOp"> {
  let summary = "Turns kernels in device form into functions of the NVVM dialect.";
  let description = [{
    Every kernel must be in device form. The functions of `gpu.module @tsp_device`
    become kernels of the LLVM and NVVM dialects that take one 64-bit pointer a
    buffer, aligned to 64 bytes; those of buffers that no result is tied to are
    `noalias`, and `readonly` where they are inputs.

    ```
    gpu.func @k(%x: memref<8xf32>, %y: memref<8xf32>) kernel
        attributes {known_block_size = array<i32: 8, 1, 1>} {...}
    // becomes
    llvm.func @k(%x: !llvm.ptr {llvm.align = 64, llvm.noalias, llvm.readonly},
                 %y: !llvm.ptr {llvm.align = 64, llvm.noalias})
        attributes {gpu.kernel, nvvm.kernel, nvvm.maxntid = array<i32: 8, 1, 1>}
    ```
    The rest of the module is left as it is.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect",
                           "mlir::cf::ControlFlowDialect", "mlir::affine::AffineDialect",
                           "mlir::vector::VectorDialect", "mlir::scf::SCFDialect",
                           "mlir::memref::MemRefDialect", "mlir::arith::ArithDialect",
                           "mlir::gpu::GPUDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Kernels finalized">];
}

#endif // TSP_PASSES_GPU_TD
