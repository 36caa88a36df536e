//===- Kernels.td - passes that make and lower kernels ------------- *- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forms of a kernel are described in tsp/Kernels/Kernels.h.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_PASSES_KERNELS_TD
#define TSP_PASSES_KERNELS_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Buffer form to object form
//===----------------------------------------------------------------------===//

def FinalizeKernels : Pass<"tsp-finalize-kernels", "mlir::ModuleOp"> {
  let summary = "Turns kernels on buffers into LLVM functions of the kernel ABI.";
  let description = [{
    Each kernel in buffer form becomes two functions of the LLVM dialect: the
    body, on bare pointers that do not alias, and an entry by the kernel's name
    that takes the pointers from an array:

    ```
    func.func private @k(%a: memref<8xf32>, %b: memref<8xf32>, %begin: index,
        %end: index, %scratch: memref<0xi8>)
        attributes {tsp.kernel, tsp.grid = 1 : i64, tsp.scratch = 0 : i64} {...}
    // becomes
    llvm.func internal @k.body(%a: !llvm.ptr {llvm.noalias}, ...) {...}
    llvm.func @k(%args: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr)
        attributes {tsp.kernel, tsp.grid = 1 : i64, tsp.scratch = 0 : i64}
    ```
    The rest of the module is left as it is.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::cf::ControlFlowDialect",
                           "mlir::affine::AffineDialect", "mlir::vector::VectorDialect",
                           "mlir::scf::SCFDialect", "mlir::memref::MemRefDialect",
                           "mlir::arith::ArithDialect", "mlir::math::MathDialect",
                           "mlir::ub::UBDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Kernels finalized">];
}

#endif // TSP_PASSES_KERNELS_TD
