// RUN: tsp-compile %s --from=mlir-kernels --target=cuda:sm_90a --emit=cubin -o %t 2>&1 | FileCheck %s

// The sum is used before the product is waited for: ptxas waits itself.
// CHECK: warning: ptxas: warpgroup.wait is injected {{.*}} in function 'early'

func.func @main() {
  return
}

gpu.module @tsp_device {
  gpu.func @early(%y: memref<256xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %0 = llvm.mlir.constant(64 : i64) : i64
    %1 = llvm.mlir.undef : !llvm.struct<(f32, f32, f32, f32)>
    %i = gpu.thread_id x
    nvvm.wgmma.fence.aligned
    %s = nvvm.wgmma.mma_async %0, %0, %1, #nvvm.shape<m = 64, n = 8, k = 16>, D[#nvvm.wgmma_type<f32>, #nvvm.wgmma_scale_out<zero>],
      A[#nvvm.wgmma_type<bf16>, #nvvm.wgmma_scale_in<one>, #nvvm.mma_layout<row>],
      B[#nvvm.wgmma_type<bf16>, #nvvm.wgmma_scale_in<one>, #nvvm.mma_layout<col>]
      : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
    nvvm.wgmma.commit.group.sync.aligned
    %a = llvm.extractvalue %s[0] : !llvm.struct<(f32, f32, f32, f32)>
    memref.store %a, %y[%i] : memref<256xf32>
    nvvm.wgmma.wait.group.sync.aligned 0
    gpu.return
  }
}

func.func private @early(memref<256xf32>)
  attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 128, 1, 1>, tsp.device_shared = 0 : i64,
              tsp.device_workspace = 0 : i64}
