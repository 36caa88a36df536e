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

def GpuSplitReductions : Pass<"tsp-gpu-split-reductions", "mlir::ModuleOp"> {
  let summary = "Divides long reductions with few results into two steps.";
  let description = [{
    Before kernels are formed. A `stablehlo.dot_general`, `stablehlo.reduce` or
    `chlo.top_k` whose results are too few to keep a GPU busy is computed in equal
    parts of a reduced dim, and the parts are combined in their order. How many
    parts there are is chosen by what they are expected to take
    (lib/Kernels/GPU/CostModel.h), one more launch and the parts' way through
    memory included. What follows the op follows the second step.

    ```
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
         : (tensor<16x8192xbf16>, tensor<8192x256xbf16>) -> tensor<16x256xbf16>
    // becomes
    %a = stablehlo.reshape %x : (tensor<16x8192xbf16>) -> tensor<16x16x512xbf16>
    %b = stablehlo.reshape %w : (tensor<8192x256xbf16>) -> tensor<16x512x256xbf16>
    %p = stablehlo.dot_general %a, %b, batching_dims = [1] x [0],
         contracting_dims = [2] x [1] : ... -> tensor<16x16x256xf32>
    %s = stablehlo.reduce(%p init: %zero) applies stablehlo.add
         across dimensions = [0] : ... -> tensor<16x256xf32>
    %y = stablehlo.convert %s : (tensor<16x256xf32>) -> tensor<16x256xbf16>
    ```
    Dims without a suitable divisor stay whole. So do sums of 16-bit floats, whose
    parts would be rounded, and rows that stay in the kernel of a norm or softmax.
  }];
  let options = [Option<"architecture", "architecture", "std::string", "\"sm_80\"",
                        "the GPU that parts are chosen for">];
  let dependentDialects = ["tsp::stablehlo::StableHLODialect"];
  let statistics = [
    Statistic<"numProducts", "products", "Products divided">,
    Statistic<"numReductions", "reductions", "Reductions divided">,
    Statistic<"numSelections", "selections", "top_k divided">];
}

def GpuLowerGemmKernels : Pass<"tsp-gpu-lower-gemm-kernels", "mlir::ModuleOp"> {
  let summary = "Writes kernels that are one matrix product for a GPU.";
  let description = [{
    A kernel in tensor form whose work is one `stablehlo.dot_general` of floats
    becomes a product in device form (lib/Kernels/GPU/DeviceGemm.h): on tensor
    cores where both sides are of one type of 16 bits or of 8 bits and sums are f32,
    where the algorithm of the op lets f32 operands be rounded to tf32, and in f64
    where the architecture is faster with them; in exact f32 or f64 on the vector
    units else; and by a kernel that reads the other side once where there are at
    most four rows. Products of 8-bit integers in 32 bits are taken where both sides
    lie along the contraction. Of architectures that multiply f8 and others that do
    not, each of the first has a variant of such kernels. What is folded into the product, and
    what happens to it, is as in `tsp-lower-gemm-kernels`. Any sizes and strides
    are taken; how fast they are read depends on their alignment.

    For an architecture with products of warpgroups (sm_90a) a kernel gets a
    variant with them (lib/Kernels/GPU/WarpgroupGemm.h), if both sides can be read
    through tensor maps: elements of 16 bits, or of 8 bits or tf32 along k; lines
    that are multiples of 16 bytes apart; five dims at most. `tsp.device_no_variant`
    says why a kernel has none.

    ```
    func.func private @k(%x: tensor<512x576xbf16>, %w: tensor<1536x576xbf16>)
        -> tensor<512x1536xbf16> attributes {tsp.kernel} {
      %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : ...
      return %y : tensor<512x1536xbf16>
    }
    // becomes
    gpu.func @k(%x: memref<512x576xbf16>, %w: memref<1536x576xbf16>,
        %y: memref<512x1536xbf16>) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>} {
      // start the copies of the first tiles of %x and %w
      scf.for %tile = ... {
        // start a copy; wait for a tile; ldmatrix; mma.sync
      }
      // sums through shared memory to %y
    ```
  }];
  let options = [ListOption<"architectures", "architectures", "std::string",
                            "the GPUs that run the kernels (default: sm_80); tiles "
                            "are chosen for the first and fit all">];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect",
                           "mlir::vector::VectorDialect", "mlir::scf::SCFDialect",
                           "mlir::memref::MemRefDialect", "mlir::arith::ArithDialect",
                           "mlir::math::MathDialect", "mlir::gpu::GPUDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Products lowered">];
}

def GpuLowerSdpaKernels : Pass<"tsp-gpu-lower-sdpa-kernels", "mlir::ModuleOp"> {
  let summary = "Writes kernels that are an attention core for a GPU.";
  let description = [{
    A kernel in tensor form that is one `tsp.sdpa` becomes attention with online
    softmax in device form (lib/Kernels/GPU/DeviceSdpa.h): on tensor cores where
    the inputs are of 16 bits and the heads have a multiple of 16 elements, up to
    256; else on the vector units. For sm_90a those of the former whose keys and
    values bulk copies can read (rows at multiples of 16 bytes) get a variant
    with products of warpgroups. No buffer grows with the product of the
    lengths; tiles of keys that positions or segments prove masked are skipped at
    run time.

    ```
    func.func private @k(%q: tensor<1x512x9x64xbf16>, %k: tensor<1x512x3x64xbf16>,
        %v: tensor<1x512x3x64xbf16>, %i: tensor<512xi32>)
        -> (tensor<1x512x9x64xbf16>, tensor<1x512x9xf32>) attributes {tsp.kernel} {
      %o, %l = tsp.sdpa %q, %k, %v positions(%i, %i : ...) {scale = 0.125, causal} : ...
      return %o, %l
    }
    // becomes
    gpu.func @k(%q: memref<1x512x9x64xbf16>, ...) kernel
        attributes {known_block_size = array<i32: 128, 1, 1>} {
      // find the first tile of keys that is not masked; start its copy
      scf.while ... {
        // wait for the tile, start the next one's copy
        // S = Q K' by mma.sync; masks; P = exp2(S - max); O += P V
      }
      // O / sum, LSE
    ```
  }];
  let options = [ListOption<"architectures", "architectures", "std::string",
                            "the GPUs that run the kernels (default: sm_80); tiles "
                            "are chosen for the first and fit all">];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect",
                           "mlir::vector::VectorDialect", "mlir::scf::SCFDialect",
                           "mlir::memref::MemRefDialect", "mlir::arith::ArithDialect",
                           "mlir::math::MathDialect", "mlir::gpu::GPUDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Attention cores lowered">];
}

def GpuAddRuntimeKernels : Pass<"tsp-gpu-add-runtime-kernels", "mlir::ModuleOp"> {
  let summary = "Adds the kernels that combine what several ranks have.";
  let description = [{
    For each combine, element type and number of ranks of the program's
    `tsp.all_reduce` and `tsp.reduce_scatter`, a kernel
    `tsp_reduce_<combine>_<dtype>_<ranks>` of the device module, which the runtime
    launches (tsp_runtime.h). Ranks are combined in their order, by one thread an
    element.

    ```
    %0 = tsp.all_reduce %x {axis = "t"} : (tensor<8xbf16>) -> tensor<8xbf16>
    // adds
    gpu.func @tsp_reduce_sum_bf16_2(%dst: !llvm.ptr, %src0: !llvm.ptr,
                                    %src1: !llvm.ptr, %count: i64) kernel
    ```
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::scf::SCFDialect",
                           "mlir::arith::ArithDialect", "mlir::gpu::GPUDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Kernels added">];
}

def GpuLowerFusedKernels : Pass<"tsp-gpu-lower-fused-kernels", "mlir::ModuleOp"> {
  let summary = "Lowers kernels of StableHLO ops to code for the threads of a GPU.";
  let description = [{
    Takes every kernel that is still in tensor form. As on the host, ops are fused
    by construction: an element of a result is computed from the elements in memory
    that it depends on. Without reductions a thread computes a few neighbouring
    elements; with reductions a team of threads computes a row
    (lib/Kernels/GPU/DeviceNest.h). Sort, scatter and scans have code of their own.

    ```
    func.func private @k(%x: tensor<64x32xf32>, %s: tensor<32xf32>)
        -> tensor<64x32xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
      %b = stablehlo.broadcast_in_dim %s, dims = [1]
             : (tensor<32xf32>) -> tensor<64x32xf32>
      %y = stablehlo.multiply %x, %b : tensor<64x32xf32>
      return %y : tensor<64x32xf32>
    }
    // becomes
    gpu.func @k(%x: memref<64x32xf32>, %s: memref<32xf32>, %y: memref<64x32xf32>)
        kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
      %i = blockIdx.x * 256 + threadIdx.x
      load x[i], load s[i % 32], multiply, store y[i]
    }
    func.func private @k(memref<64x32xf32>, memref<32xf32>, memref<64x32xf32>)
        attributes {tsp.kernel, tsp.device_grid = array<i64: 8, 1, 1>, ...}
    ```
  }];
  let dependentDialects = ["mlir::gpu::GPUDialect", "mlir::scf::SCFDialect",
                           "mlir::memref::MemRefDialect", "mlir::arith::ArithDialect",
                           "mlir::math::MathDialect", "mlir::LLVM::LLVMDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Kernels lowered">];
}

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
    The rest of the module is left as it is. Kernels must fit all architectures.
  }];
  let options = [ListOption<"architectures", "architectures", "std::string",
                            "what the kernels must fit, as sm_80">];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect",
                           "mlir::cf::ControlFlowDialect", "mlir::affine::AffineDialect",
                           "mlir::vector::VectorDialect", "mlir::scf::SCFDialect",
                           "mlir::memref::MemRefDialect", "mlir::arith::ArithDialect",
                           "mlir::gpu::GPUDialect"];
  let statistics = [Statistic<"numKernels", "kernels", "Kernels finalized">];
}

#endif // TSP_PASSES_GPU_TD
