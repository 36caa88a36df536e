//===- Kernels.h - the forms of a kernel and their pipeline -----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is a function of the module with the unit attribute `tsp.kernel`.
// It takes three forms, one after the other:
//
// 1. Tensor form, made by the clustering pass:
//      func.func private @k(tensors...) -> (tensors...)
//        attributes {tsp.kernel, tsp.tied = array<i64...> [, tsp.must_tie]}
//    with one block of stablehlo/chlo ops (or one tsp.sdpa among them).
//
// 2. Buffer form, made by one of the lowering passes; each of them takes the
//    kernels that are its own and leaves the others alone, the last one
//    (`tsp-lower-fused-kernels`) takes all that are left:
//      func.func private @k(%in: memref..., %out: memref...,
//                           %begin: index, %end: index, %scratch: memref<Nxi8>)
//        attributes {tsp.kernel, tsp.tied, tsp.grid = G : i64,
//                    tsp.scratch = N : i64, ...}
//    Memrefs have a static shape, the identity layout and the element type
//    `getStorageType`. The body computes the units [begin, end) of the grid
//    [0, G): any split of the grid gives the same bits. %scratch belongs to
//    the calling thread, is aligned to 64 bytes, and holds anything at entry.
//    The body may use arith, math, memref, scf, vector, cf, ub, LLVM, and no
//    memref.alloc. Buffers do not alias, except that a result tied to an
//    argument may be the same buffer (with tsp.must_tie: is the same buffer).
//
// 3. Object form, made by `tsp-finalize-kernels`:
//      llvm.func @k(%args: !llvm.ptr, %begin: i64, %end: i64,
//                   %scratch: !llvm.ptr)
//        attributes {tsp.kernel, tsp.tied, tsp.grid, tsp.scratch, ...}
//
//===----------------------------------------------------------------------===//

#ifndef TSP_KERNELS_KERNELS_H
#define TSP_KERNELS_KERNELS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Pass/PassManager.h"

namespace tsp {

/// Names of the attributes of a kernel.
inline constexpr llvm::StringLiteral kKernelAttr = "tsp.kernel";
inline constexpr llvm::StringLiteral kTiedAttr = "tsp.tied";
inline constexpr llvm::StringLiteral kMustTieAttr = "tsp.must_tie";
inline constexpr llvm::StringLiteral kGridAttr = "tsp.grid";
inline constexpr llvm::StringLiteral kScratchAttr = "tsp.scratch";

/// Facts about the machine that kernels are made for.
struct KernelOptions {
  /// Widest vectors worth using, in bits: 512, 256 or 128.
  int64_t vectorBits = 512;
};

/// Adds the passes that take the kernels of a module from tensor form to object
/// form. Everything else in the module stays as it is.
void buildKernelPipeline(mlir::OpPassManager &manager,
                         const KernelOptions &options);

/// Whether `function` is a kernel in tensor form.
bool isTensorKernel(mlir::func::FuncOp function);
/// The kernels in tensor form, as a list that lowering them does not disturb.
llvm::SmallVector<mlir::func::FuncOp> getTensorKernels(mlir::ModuleOp module);

/// The type that a buffer holds for one element: i1, i4, ui4 and the f8 types
/// as i8, other integers signless, f64, f32, f16 and bf16 as they are.
mlir::Type getStorageType(mlir::Type elementType);

/// The buffer of a tensor: its shape ([0] if it is empty), with getStorageType
/// elements.
mlir::MemRefType getBufferType(mlir::RankedTensorType type);

/// The pieces of a kernel that is on its way from tensor form to buffer form.
struct KernelBuffers {
  llvm::SmallVector<mlir::Value> inputs, outputs;
  mlir::Value begin, end, scratch;
};

/// Moves the body of `kernel` into `tensorBody` and gives `kernel` the
/// arguments of buffer form and an empty block. Its results are described by
/// the terminator of `tensorBody`; the caller fills the block, calls
/// `finishBufferForm` and lets `tensorBody` go.
KernelBuffers startBufferForm(mlir::func::FuncOp kernel,
                              mlir::Region &tensorBody);

/// Sets grid and scratch size (rounded up to 64), and ends the block with a
/// func.return.
void finishBufferForm(mlir::func::FuncOp kernel, int64_t grid,
                      int64_t scratchBytes);

} // namespace tsp

#endif // TSP_KERNELS_KERNELS_H
