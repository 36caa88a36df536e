// RUN: tsp-opt %s --tsp-gpu-finalize-kernels=architectures=sm_80,sm_90a | FileCheck %s
// RUN: tsp-compile %s --from=mlir-kernels --target=cuda:sm_80 --emit=ptx -o - | FileCheck %s --check-prefix=GENERAL
// RUN: tsp-compile %s --from=mlir-kernels --target=cuda:sm_90 --emit=ptx -o - | FileCheck %s --check-prefix=GENERAL
// RUN: tsp-compile %s --from=mlir-kernels --target=cuda:sm_90a --emit=ptx -o - | FileCheck %s --check-prefix=VARIANT
// RUN: tsp-compile %s --from=mlir-kernels --target=cuda:sm_90a --emit=sass -o - | FileCheck %s --check-prefix=SASS

// Code has one of the two forms of a kernel; a kernel without a variant is the
// same for all.
// GENERAL-NOT: _sm_90a
// GENERAL: .entry tile(
// GENERAL-NOT: _sm_90a
// GENERAL: .entry same(
// GENERAL-NOT: _sm_90a
// VARIANT: .target sm_90a
// VARIANT-NOT: .entry tile(
// VARIANT: .entry same(
// VARIANT-NOT: .entry tile(
// VARIANT: .entry tile_sm_90a(
// VARIANT-NEXT: .param .u64
// VARIANT-NEXT: .param .u64
// VARIANT-NEXT: .param .u64
// VARIANT-NEXT: .param .align 64 .b8 tile_sm_90a_param_3[128]
// VARIANT-NEXT: )
// VARIANT: .reqnctapercluster 2, 1, 1
// VARIANT: prefetch.tensormap
// VARIANT-NOT: .entry tile(
// SASS-DAG: .text.same
// SASS-DAG: .text.tile_sm_90a
// SASS-DAG: UTMACCTL.PF

func.func @main() {
  return
}

gpu.module @tsp_device {
  // CHECK: llvm.func @tile(
  // CHECK-SAME: tsp.device_variant = @tile_sm_90a
  gpu.func @tile(%x: memref<64x64xbf16>, %y: memref<bf16>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>, tsp.device_variant = @tile_sm_90a} {
    %0 = arith.constant 0 : index
    %a = memref.load %x[%0, %0] : memref<64x64xbf16>
    memref.store %a, %y[] : memref<bf16>
    gpu.return
  }
  gpu.func @same(%x: memref<64x64xbf16>, %y: memref<bf16>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %1 = arith.constant 1 : index
    %a = memref.load %x[%1, %1] : memref<64x64xbf16>
    memref.store %a, %y[] : memref<bf16>
    gpu.return
  }
  // Workspace, then maps, which are no pointers to buffers.
  // CHECK: llvm.func @tile_sm_90a(
  // CHECK-SAME: %{{[a-z0-9]+}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias, llvm.readonly},
  // CHECK-SAME: %{{[a-z0-9]+}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias},
  // CHECK-SAME: %{{[a-z0-9]+}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias},
  // CHECK-SAME: %{{[a-z0-9]+}}: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}) attributes {
  // CHECK-SAME: nvvm.cluster_dim = array<i32: 2, 1, 1>
  // CHECK-SAME: tsp.device_architecture = "sm_90a"
  gpu.func @tile_sm_90a(%x: memref<64x64xbf16>, %y: memref<bf16>, %workspace: memref<256xi8>,
                        %map: !llvm.ptr) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>,
                  tsp.device_architecture = "sm_90a"} {
    %2 = arith.constant 2 : index
    nvvm.prefetch tensormap, %map : !llvm.ptr
    %a = memref.load %x[%2, %2] : memref<64x64xbf16>
    memref.store %a, %y[] : memref<bf16>
    gpu.return
  }
}

// CHECK: func.func private @tile(memref<64x64xbf16>, memref<bf16>)
func.func private @tile(memref<64x64xbf16>, memref<bf16>)
  attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 0 : i64,
              tsp.device_workspace = 0 : i64, tsp.device_variant = @tile_sm_90a}
func.func private @same(memref<64x64xbf16>, memref<bf16>)
  attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 0 : i64,
              tsp.device_workspace = 0 : i64}
// More shared memory than sm_80 has.
func.func private @tile_sm_90a(memref<64x64xbf16>, memref<bf16>)
  attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.device_grid = array<i64: 4, 1, 1>,
              tsp.device_block = array<i64: 64, 1, 1>, tsp.device_shared = 200000 : i64,
              tsp.device_workspace = 256 : i64, tsp.device_architecture = "sm_90a",
              tsp.device_cluster = array<i64: 2, 1, 1>,
              tsp.device_maps = [{buffer = 0 : i64, offset = 0 : i64, element = bf16, sizes = array<i64: 64, 64>,
                                  strides = array<i64: 128>, box = array<i64: 64, 32>, swizzle = 128 : i64}]}
