// RUN: tsp-opt %s --tsp-gpu-add-runtime-kernels | FileCheck %s
// RUN: tsp-compile %s --from=mlir-kernels --target=cuda:sm_80 --emit=ptx -o - | FileCheck %s --check-prefix=PTX

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
// 16-bit floats are added in f32, in the order of the ranks, and rounded once.
// CHECK: gpu.func @tsp_reduce_sum_bf16_2(%[[DST:.*]]: !llvm.ptr, %[[SRC0:.*]]: !llvm.ptr, %[[SRC1:.*]]: !llvm.ptr, %[[COUNT:.*]]: i64) kernel attributes {known_block_size = array<i32: 256, 1, 1>}
// CHECK: %[[GLOBAL:.*]] = llvm.addrspacecast %[[DST]]
// CHECK: %[[FIRST:.*]] = llvm.addrspacecast %[[SRC0]]
// CHECK: %[[SECOND:.*]] = llvm.addrspacecast %[[SRC1]]
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[COUNT]] step
// CHECK: llvm.getelementptr %[[FIRST]][%[[I]]]
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> bf16
// CHECK: llvm.getelementptr %[[SECOND]][%[[I]]]
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// CHECK: arith.truncf %[[SUM]] : f32 to bf16
// CHECK: llvm.getelementptr %[[GLOBAL]][%[[I]]]
// CHECK: llvm.store
// PTX: .version 8.0
// PTX-DAG: .entry tsp_reduce_sum_bf16_2(
// PTX-DAG: ld.global.b16
// PTX-DAG: add.rn.f32
// PTX-DAG: cvt.rn.bf16.f32
func.func @sum(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = tsp.all_reduce %x {axis = "t"} : (tensor<4xbf16>) -> tensor<4xbf16>
  // The same kernel.
  %1 = tsp.all_reduce %0 {axis = "t"} : (tensor<4xbf16>) -> tensor<4xbf16>
  return %1 : tensor<4xbf16>
}

// CHECK: gpu.func @tsp_reduce_max_f32_2
// CHECK: arith.maximumf
// PTX-DAG: .entry tsp_reduce_max_f32_2(
// PTX-DAG: max.NaN.f32
func.func @max(%x: tensor<4xf32>) -> tensor<2xf32> {
  %0 = tsp.reduce_scatter %x {axis = "t", dim = 0 : i64, total = 4 : i64, combine = #tsp.combine<max>} : (tensor<4xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK: gpu.func @tsp_reduce_min_ui8_2
// CHECK: arith.minui
func.func @unsigned(%x: tensor<4xui8>) -> tensor<4xui8> {
  %0 = tsp.all_reduce %x {axis = "t", combine = #tsp.combine<min>} : (tensor<4xui8>) -> tensor<4xui8>
  return %0 : tensor<4xui8>
}

// CHECK: gpu.func @tsp_reduce_sum_i1_2
// CHECK: arith.ori
func.func @bits(%x: tensor<4xi1>) -> tensor<4xi1> {
  %0 = tsp.all_reduce %x {axis = "t"} : (tensor<4xi1>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// f8 values are combined in f32 as well, and rounded once.
// CHECK: gpu.func @tsp_reduce_sum_f8E4M3FN_2
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> i8
// CHECK: arith.addf %{{.*}}, %{{.*}} : f32
// CHECK: llvm.store %{{.*}}, %{{.*}} : i8, !llvm.ptr<1>
func.func @bytes(%x: tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN> {
  %0 = tsp.all_reduce %x {axis = "t"} : (tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN>
  return %0 : tensor<4xf8E4M3FN>
}
// CHECK-NOT: gpu.func
}
