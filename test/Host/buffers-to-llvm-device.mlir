// RUN: tsp-opt %s --tsp-plan-buffers --tsp-buffers-to-llvm=device | FileCheck %s

// Kernels are launched by name, all buffers are in the device's space (1).
// CHECK: module attributes {{{.*}}tsp.device_workspace = 1024 : i64
module attributes {tsp.mesh = #tsp.mesh<["d", "t"] sizes [2, 3]>} {
// CHECK-NOT: func.func private
func.func private @k(memref<4xf32>, memref<4xf32>)
  attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.device_grid = array<i64: 2, 3, 4>,
              tsp.device_block = array<i64: 128, 1, 1>, tsp.device_shared = 65536 : i64,
              tsp.device_workspace = 512 : i64, tsp.device_variant = @k_sm_90a}
func.func private @k_sm_90a(memref<4xf32>, memref<4xf32>)
  attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.device_grid = array<i64: 8, 1, 1>,
              tsp.device_block = array<i64: 384, 1, 1>, tsp.device_shared = 98304 : i64,
              tsp.device_workspace = 1024 : i64, tsp.device_architecture = "sm_90a",
              tsp.device_cluster = array<i64: 2, 1, 1>,
              tsp.device_maps = [{buffer = 1 : i64, offset = 16 : i64, element = bf16,
                                  sizes = array<i64: 64, 48>, strides = array<i64: 256>,
                                  box = array<i64: 32, 24>, swizzle = 64 : i64}]}
func.func private @add(memref<i32>, memref<4xf32>, memref<4xf32>)
  attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 0 : i64,
              tsp.device_workspace = 0 : i64}
func.func private @less(memref<4xf32>, memref<i1>)
  attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 0 : i64,
              tsp.device_workspace = 0 : i64}

// CHECK-LABEL: llvm.func @tsp_entry_launch
// CHECK-SAME: (%[[RANK:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr)
// CHECK: %[[ARRAY:.*]] = llvm.alloca
// CHECK: %[[KERNEL:.*]] = llvm.mlir.addressof @tsp_kernel_k
// CHECK: llvm.call @tsp_device_launch(%[[RANK]], %{{.*}}, %[[KERNEL]], %{{.*}}, %[[ARRAY]]) : (!llvm.ptr, i32, !llvm.ptr, i64, !llvm.ptr) -> ()
// CHECK-NEXT: llvm.return
func.func @launch(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tsp.launch @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: llvm.func @tsp_entry_gather
// CHECK: %[[SPACE:.*]] = llvm.mlir.constant(1 : i32)
// CHECK: llvm.call @tsp_all_gather_start(%{{.*}}, %[[SPACE]],
func.func @gather(%x: tensor<2x2x7xf32>) -> tensor<2x5x7xf32> {
  %0 = tsp.all_gather %x {axis = "t", dim = 1 : i64, total = 5 : i64} : (tensor<2x2x7xf32>) -> tensor<2x5x7xf32>
  return %0 : tensor<2x5x7xf32>
}

// Constants are brought to the device, numbers of the host program written there.
// CHECK-LABEL: llvm.func @tsp_entry_scalars
// CHECK: %[[ARRAY:.*]] = llvm.alloca
// CHECK: llvm.call @tsp_axis_index
// CHECK: llvm.store %{{.*}}, %[[ARRAY]] : i32, !llvm.ptr
// CHECK: %[[SPACE:.*]] = llvm.mlir.constant(1 : i32)
// CHECK: %[[BYTES:.*]] = llvm.mlir.constant(4 : i64)
// CHECK: llvm.call @tsp_write(%{{.*}}, %[[SPACE]], %{{.*}}, %{{.*}}, %[[ARRAY]], %[[BYTES]])
// CHECK: %[[DATA:.*]] = llvm.mlir.addressof @tsp_data
// CHECK: %[[SIZE:.*]] = llvm.mlir.constant(16 : i64)
// CHECK: %[[THERE:.*]] = llvm.call @tsp_constant(%{{.*}}, %{{.*}}, %[[DATA]], %[[SIZE]])
// CHECK: llvm.store %[[THERE]]
// CHECK: llvm.call @tsp_device_launch
func.func @scalars() -> tensor<4xf32> {
  %r = tsp.axis_index "t" : tensor<i32>
  %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = tsp.launch @add(%r, %c) : (tensor<i32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: llvm.func @tsp_entry_while
// CHECK: llvm.mlir.constant(1 : i32)
// CHECK: llvm.call @tsp_read
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> i8
// CHECK: llvm.cond_br
func.func @while(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.while(%a = %x) : tensor<4xf32>
  cond {
    %p = tsp.launch @less(%a) : (tensor<4xf32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %y = tsp.launch @k(%a) : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %y : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// A variant has its own launch, and a text of its own for its name.
// CHECK: llvm.mlir.global internal constant @tsp_name_k_sm_90a("k_sm_90a\00")
// CHECK: llvm.mlir.global internal constant @tsp_maps_k_sm_90a() {{.*}} : !llvm.array<19 x i64> {
// CHECK-NEXT: llvm.mlir.constant(dense<[1, 16, 9, 2, 64, 48, 0, 0, 0, 256, 0, 0, 0, 32, 24, 0, 0, 0, 64]>
// CHECK: llvm.mlir.global internal constant @tsp_kernel_k_sm_90a() {{.*}} : !llvm.struct<(ptr, array<3 x i64>, array<3 x i64>, i64, i64, array<3 x i64>, i64, ptr, ptr)> {
// CHECK: llvm.mlir.addressof @tsp_name_k_sm_90a
// CHECK: llvm.mlir.constant(98304 : i64)
// CHECK: llvm.mlir.addressof @tsp_maps_k_sm_90a
// CHECK: llvm.mlir.zero
// CHECK: llvm.mlir.global internal constant @tsp_kernel_k()
// CHECK: llvm.mlir.addressof @tsp_name_k
// CHECK-COUNT-13: llvm.insertvalue
// CHECK: llvm.mlir.addressof @tsp_kernel_k_sm_90a
// CHECK-NEXT: llvm.insertvalue
// CHECK-NEXT: llvm.return
}
