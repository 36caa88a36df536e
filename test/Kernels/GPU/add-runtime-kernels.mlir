// RUN: tsp-opt %s --tsp-gpu-add-runtime-kernels | FileCheck %s
// RUN: tsp-compile %s --from=mlir-kernels --target=cuda:sm_80 --emit=ptx -o - | FileCheck %s --check-prefix=PTX

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
// 16-bit floats are added in f32 and rounded once.
// CHECK: gpu.func @tsp_reduce_sum_bf16(%[[DST:.*]]: !llvm.ptr, %[[SRCS:.*]]: !llvm.ptr, %[[COUNT:.*]]: i64, %[[RANKS:.*]]: i64) kernel attributes {known_block_size = array<i32: 256, 1, 1>}
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[COUNT]] step
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> bf16
// CHECK: %[[FIRST:.*]] = arith.extf
// CHECK: %[[SUM:.*]] = scf.for %{{.*}} = %{{.*}} to %[[RANKS]] step %{{.*}} iter_args(%[[ACC:.*]] = %[[FIRST]])
// CHECK: arith.addf %[[ACC]], %{{.*}} : f32
// CHECK: arith.truncf %[[SUM]] : f32 to bf16
// CHECK: llvm.store
// PTX-DAG: .entry tsp_reduce_sum_bf16(
// PTX-DAG: ld.global.b16
// PTX-DAG: add.rn.f32
// PTX-DAG: cvt.rn.bf16.f32
func.func @sum(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = tsp.all_reduce %x {axis = "t"} : (tensor<4xbf16>) -> tensor<4xbf16>
  // The same kernel.
  %1 = tsp.all_reduce %0 {axis = "t"} : (tensor<4xbf16>) -> tensor<4xbf16>
  return %1 : tensor<4xbf16>
}

// CHECK: gpu.func @tsp_reduce_max_f32
// CHECK: arith.maximumf
// PTX-DAG: .entry tsp_reduce_max_f32(
// PTX-DAG: max.NaN.f32
func.func @max(%x: tensor<4xf32>) -> tensor<2xf32> {
  %0 = tsp.reduce_scatter %x {axis = "t", dim = 0 : i64, total = 4 : i64, combine = #tsp.combine<max>} : (tensor<4xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK: gpu.func @tsp_reduce_min_ui8
// CHECK: arith.minui
func.func @unsigned(%x: tensor<4xui8>) -> tensor<4xui8> {
  %0 = tsp.all_reduce %x {axis = "t", combine = #tsp.combine<min>} : (tensor<4xui8>) -> tensor<4xui8>
  return %0 : tensor<4xui8>
}

// CHECK: gpu.func @tsp_reduce_sum_i1
// CHECK: arith.ori
func.func @bits(%x: tensor<4xi1>) -> tensor<4xi1> {
  %0 = tsp.all_reduce %x {axis = "t"} : (tensor<4xi1>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}
// CHECK-NOT: gpu.func
}
