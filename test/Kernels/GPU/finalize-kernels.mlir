// RUN: tsp-opt %s --tsp-gpu-finalize-kernels | FileCheck %s
// RUN: tsp-compile %s --from=mlir-kernels --target=cuda:sm_80 --emit=ptx -o - | FileCheck %s --check-prefix=PTX

func.func @main() {
  return
}

// CHECK-LABEL: gpu.module @tsp_device
// CHECK: llvm.mlir.global external @__dynamic_shmem__0() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// PTX: .target sm_80
// PTX: .extern .shared .align 1024 .b8 __dynamic_shmem__0[];
gpu.module @tsp_device {
  // One pointer a buffer; results may be written over @y but not over @x.
  // CHECK: llvm.func @axpy(%{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias, llvm.readonly},
  // CHECK-SAME: %{{.*}}: !llvm.ptr {llvm.align = 64 : i64},
  // CHECK-SAME: %{{.*}}: !llvm.ptr {llvm.align = 64 : i64})
  // CHECK-SAME: gpu.kernel
  // CHECK-SAME: nvvm.kernel
  // CHECK-SAME: nvvm.maxntid = array<i32: 64, 1, 1>
  // PTX: .entry axpy(
  // PTX-NEXT: .param .u64 .ptr .align 64
  // PTX-NEXT: .param .u64 .ptr .align 64
  // PTX-NEXT: .param .u64 .ptr .align 64
  // PTX-NEXT: )
  // PTX: .maxntid 64, 1, 1
  // PTX: ld.global.nc
  // PTX: fma.rn.f32
  gpu.func @axpy(%x: memref<128xf32>, %y: memref<128xf32>, %z: memref<128xf32>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %c64 = arith.constant 64 : index
    %two = arith.constant 2.0 : f32
    %0 = arith.muli %b, %c64 : index
    %i = arith.addi %0, %t : index
    %a = memref.load %x[%i] : memref<128xf32>
    %c = memref.load %y[%i] : memref<128xf32>
    %d = math.fma %a, %two, %c : f32
    memref.store %d, %z[%i] : memref<128xf32>
    gpu.return
  }

  // Static shared memory keeps its alignment; libdevice is linked; the workspace
  // is a parameter of its own.
  // CHECK: llvm.mlir.global internal @{{.*}}() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<32 x f32>
  // CHECK: llvm.func @exp(
  // CHECK-SAME: %{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias, llvm.readonly},
  // CHECK-SAME: %{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias},
  // CHECK-SAME: %{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias})
  // PTX: .entry exp(
  // PTX: st.shared.
  // PTX: bar.sync 0
  // PTX-NOT: __nv_expf
  // PTX: ex2.approx
  gpu.func @exp(%x: memref<32xf32>, %y: memref<32xf32>, %workspace: memref<256xi8>)
      workgroup(%s : memref<32xf32, #gpu.address_space<workgroup>> {llvm.align = 128 : i64}) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    %c31 = arith.constant 31 : index
    %c0 = arith.constant 0 : index
    %a = memref.load %x[%t] : memref<32xf32>
    %dynamic = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %view = memref.view %dynamic[%c0][] : memref<?xi8, #gpu.address_space<workgroup>>
      to memref<32xf32, #gpu.address_space<workgroup>>
    memref.store %a, %view[%t] : memref<32xf32, #gpu.address_space<workgroup>>
    memref.store %a, %s[%t] : memref<32xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %r = arith.subi %c31, %t : index
    %b = memref.load %s[%r] : memref<32xf32, #gpu.address_space<workgroup>>
    %c = memref.load %view[%r] : memref<32xf32, #gpu.address_space<workgroup>>
    %sum = arith.addf %b, %c : f32
    %e = math.exp %sum : f32
    memref.store %e, %y[%t] : memref<32xf32>
    gpu.return
  }
}

// CHECK: func.func private @axpy(memref<128xf32>, memref<128xf32>, memref<128xf32>)
func.func private @axpy(memref<128xf32>, memref<128xf32>, memref<128xf32>)
  attributes {tsp.kernel, tsp.tied = array<i64: 1>, tsp.device_grid = array<i64: 2, 1, 1>,
              tsp.device_block = array<i64: 64, 1, 1>, tsp.device_shared = 0 : i64,
              tsp.device_workspace = 0 : i64}
func.func private @exp(memref<32xf32>, memref<32xf32>)
  attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 128 : i64,
              tsp.device_workspace = 256 : i64}
