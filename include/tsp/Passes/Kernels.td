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
// From the program of a rank to kernels in tensor form
//===----------------------------------------------------------------------===//

def SplitAttention : Pass<"tsp-split-attention", "mlir::func::FuncOp"> {
  let summary = "Divides the keys of attention that has few rows, as in decoding.";
  let description = [{
    A `tsp.sdpa` gives a target one piece of work for each batch index, key/value
    head and tile of rows. Where these are less than `units`, and rows (queries
    times heads of a group) at most 64, the keys are divided into parts of equal
    size, at least 256 keys each, that become batch indices; keys and values are
    not copied. What the parts give is merged in their order, so that results
    depend on shapes and `units` alone.

    ```
    %o, %l = tsp.sdpa %q, %k, %v ... : (tensor<1x1x8x64xbf16>,
        tensor<1x1024x2x64xbf16>, ...) -> (tensor<1x1x8x64xbf16>, ...)
    // becomes, with units=8,
    %ks = stablehlo.reshape %k : ... -> tensor<4x256x2x64xbf16>
    %os, %ls = tsp.sdpa %qs, %ks, %vs ... -> (tensor<4x1x8x64xf32>, tensor<4x1x8xf32>)
    // w = exp(ls - max ls); o = sum (os w) / sum w, over the parts
    ```
  }];
  let options = [Option<"units", "units", "int64_t", "16",
                        "pieces of work that occupy the target">];
  let dependentDialects = ["tsp::stablehlo::StableHLODialect"];
  let statistics = [Statistic<"numSplit", "split", "Attention cores divided">];
}

def FormKernels : Pass<"tsp-form-kernels", "mlir::ModuleOp"> {
  let summary = "Clusters the ops of a rank's program into kernels.";
  let description = [{
    Takes the program of one rank and leaves, outside of kernels, what the host
    does: launches, collectives, `tsp.fold_loop`, `stablehlo.while` and `case`,
    `stablehlo.reshape` (a view), constants that are data, and returns.

    ```
    %0 = stablehlo.dot_general %x, %w, ... : (tensor<8x4xf32>, tensor<4x6xf32>)
    %1 = stablehlo.tanh %0 : tensor<8x6xf32>
    return %1
    // becomes
    %0 = tsp.launch @k_dot_general_0(%x, %w) : ...
    return %0
    func.func private @k_dot_general_0(%a: tensor<8x4xf32>, %b: tensor<4x6xf32>)
        -> tensor<8x6xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>}
        { dot_general, tanh, return }
    ```
    A kernel is a root and what only that root needs. It is computed element by
    element of the root, through elementwise ops, broadcasts, transposes, slices,
    concatenates and reshapes, and holds at most one of

    - a `dot_general`, whose operands are read through transposes, slices,
      broadcasts and widening conversions, and which is followed either by
      elementwise ops that read it at the same place (an epilogue) or by ops that
      move and convert its elements;
    - some `reduce` ops that all keep the same loops of the root, its rows: the norm
      of a row and its scaling, or a softmax, are one kernel;
    - a `gather`.

    Attention, sort, scatter and other irregular ops stand alone.
    `dynamic_update_slice` takes the producers of its update along and is made in
    place (`tsp.must_tie`), as is scatter, unless the kernel reads that buffer
    elsewhere.

    A value that several kernels read is stored once, unless it depends on
    nothing but cheap ops (constants, iota, masks of indices), or reading its
    operand again moves no more bytes. No expensive op is computed again for
    several elements of a result.

    `tsp.tied` names an argument that an elementwise result may overwrite, because
    each of its elements is read only for the same element of the result.

    Launches that do not depend on the step of a loop are moved out of it.

    Kernels that are equal but for locations are merged, so a model of many equal
    layers has the kernels of one.
  }];
  let options = [Option<"remarks", "remarks", "bool", "false",
                        "Say how many kernels there are before and after merging">];
  let statistics = [
    Statistic<"numLaunches", "launches", "Kernels launched by the host program">,
    Statistic<"numHoisted", "hoisted", "Launches moved out of loops">,
    Statistic<"numKernels", "kernels", "Kernels left after merging equal ones">];
  let dependentDialects = ["tsp::TspDialect"];
}

//===----------------------------------------------------------------------===//
// Tensor form to buffer form
//===----------------------------------------------------------------------===//

def LowerGemmKernels : Pass<"tsp-lower-gemm-kernels", "mlir::ModuleOp"> {
  let summary = "Writes the loops of kernels that are one matrix product.";
  let description = [{
    A kernel in tensor form whose work is one `stablehlo.dot_general` of floats
    becomes a blocked, vectorised product in buffer form (see
    tsp/Kernels/Gemm.h). Transposes, broadcasts, slices, reshapes and exact
    conversions of the operands become strides and conversions of the reads;
    those of the result become strides and conversions of the stores; or else
    elementwise ops that read the product at their own place are computed from
    each finished piece of a row. Sums are f32, or f64 when an operand, the result or the algorithm asks for it, and
    rounded once. Other kernels are left as they are.

    ```
    func.func private @k(%x: tensor<512x576xf32>, %w: tensor<1536x576xf32>)
        -> tensor<512x1536xf32> attributes {tsp.kernel} {
      %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : ...
      return %y : tensor<512x1536xf32>
    }
    // becomes
    func.func private @k(%x: memref<512x576xf32>, %w: memref<1536x576xf32>,
        %y: memref<512x1536xf32>, %begin: index, %end: index,
        %scratch: memref<...xi8>)
        attributes {tsp.kernel, tsp.grid = 20 : i64, tsp.scratch = ...} {
      scf.for %block = %begin to %end ... // blocks of %y
    ```
  }];
  let options = [Option<"vectorBits", "vector-bits", "int64_t", "512",
                        "width of the vectors: 512, 256 or 128">];
  let dependentDialects = ["mlir::vector::VectorDialect", "mlir::scf::SCFDialect",
                           "mlir::memref::MemRefDialect", "mlir::arith::ArithDialect",
                           "mlir::math::MathDialect", "mlir::LLVM::LLVMDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Products lowered">];
}

def LowerSdpaKernels : Pass<"tsp-lower-sdpa-kernels", "mlir::ModuleOp"> {
  let summary = "Writes the loops of kernels that are an attention core.";
  let description = [{
    A kernel in tensor form that is one `tsp.sdpa` becomes tiled attention with
    online softmax in buffer form (see tsp/Kernels/Sdpa.h). No buffer grows with
    the product of the lengths; blocks of keys that positions or segments prove
    masked are skipped at run time. Operands are arguments of the kernel or
    views of them.

    ```
    func.func private @k(%q: tensor<1x512x9x64xf32>, %k: tensor<1x512x3x64xf32>,
        %v: tensor<1x512x3x64xf32>, %i: tensor<512xi32>)
        -> (tensor<1x512x9x64xf32>, tensor<1x512x9xf32>) attributes {tsp.kernel} {
      %o, %l = tsp.sdpa %q, %k, %v positions(%i, %i : ...) {scale = 0.125, causal} : ...
      return %o, %l
    }
    // becomes
    func.func private @k(%q: memref<1x512x9x64xf32>, ..., %begin: index,
        %end: index, %scratch: memref<...xi8>)
        attributes {tsp.kernel, tsp.grid = 24 : i64, tsp.scratch = ...} {
      scf.for %unit = %begin to %end ... // batch, head of keys, some queries
        scf.for %block = 0 to 512 step 64 // keys
    ```
  }];
  let options = [Option<"vectorBits", "vector-bits", "int64_t", "512",
                        "width of the vectors: 512, 256 or 128">];
  let dependentDialects = ["mlir::vector::VectorDialect", "mlir::scf::SCFDialect",
                           "mlir::memref::MemRefDialect", "mlir::arith::ArithDialect",
                           "mlir::math::MathDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Attention cores lowered">];
}

def LowerFusedKernels : Pass<"tsp-lower-fused-kernels", "mlir::ModuleOp"> {
  let summary = "Lowers kernels of StableHLO ops to loops on buffers.";
  let description = [{
    Takes every kernel that is still in tensor form. Ops are fused by
    construction: the loops are those of the results, and an element is
    computed from the elements in memory that it depends on; reductions become
    scalars or small buffers of a row (lib/Kernels/LoopNest.h).

    ```
    func.func private @k(%x: tensor<64x32xf32>, %s: tensor<32xf32>)
        -> tensor<64x32xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
      %b = stablehlo.broadcast_in_dim %s, dims = [1]
             : (tensor<32xf32>) -> tensor<64x32xf32>
      %y = stablehlo.multiply %x, %b : tensor<64x32xf32>
      return %y : tensor<64x32xf32>
    }
    // becomes
    func.func private @k(%x: memref<64x32xf32>, %s: memref<32xf32>,
        %y: memref<64x32xf32>, %begin: index, %end: index, %t: memref<0xi8>)
        attributes {tsp.kernel, tsp.grid = 1 : i64, ...} {
      scf.for %row = ... {
        scf.for %j = %c0 to %c32 step %c1 {
          load x[row * 32 + j], load s[j], multiply, store y[row * 32 + j]
    ```
  }];
  let dependentDialects = ["mlir::scf::SCFDialect", "mlir::memref::MemRefDialect",
                           "mlir::arith::ArithDialect", "mlir::math::MathDialect",
                           "mlir::LLVM::LLVMDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Kernels lowered">];
}

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
  let options = [Option<"vectorBits", "vector-bits", "int64_t", "512",
                        "widest vectors that LLVM should make: 512, 256 or 128">];
  let statistics = [Statistic<"numKernels", "kernels", "Kernels finalized">];
}

#endif // TSP_PASSES_KERNELS_TD
