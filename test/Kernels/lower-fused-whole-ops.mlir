// RUN: tsp-opt %s -tsp-lower-fused-kernels -canonicalize -cse | FileCheck %s

// In place: no copy of the operand; a window outside of it is dropped.

// CHECK-LABEL: func.func private @scatter_in_place(
// CHECK-SAME:    tsp.grid = 1 : i64
// CHECK:         scf.for %{{.*}} = %c0 to %c3
// CHECK:           %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}}, %c16
// CHECK:           scf.if %[[INSIDE]]
// CHECK:             scf.for %{{.*}} = %c0 to %c8
// CHECK:               arith.addf
// CHECK:               memref.store
func.func private @scatter_in_place(%a: tensor<16x8xf32>, %i: tensor<3x1xi32>,
    %u: tensor<3x8xf32>) -> tensor<16x8xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: 0>, tsp.must_tie} {
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16x8xf32>, tensor<3x1xi32>, tensor<3x8xf32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}

// A merge sort of each row between the halves of a buffer.

// CHECK-LABEL: func.func private @sort(
// CHECK-SAME:    tsp.scratch = 512 : i64
// CHECK:         memref.view %{{.*}} to memref<128xf32>
// CHECK:         scf.for %{{.*}} = %c0 to %c6
func.func private @sort(%x: tensor<4x64xf32>) -> tensor<4x64xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<4x64xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}

// CHECK-LABEL: func.func private @top_2(
// CHECK-SAME:    memref<4x2xf32>, %{{.*}}: memref<4x2xi32>
// CHECK:         scf.for
// CHECK:           scf.for %{{.*}} = %c0 to %c64
// CHECK:             scf.if
func.func private @top_2(%x: tensor<4x64xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
    attributes {tsp.kernel, tsp.tied = array<i64: -1, -1>} {
  %v, %i = chlo.top_k(%x, k = 2) : tensor<4x64xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
  return %v, %i : tensor<4x2xf32>, tensor<4x2xi32>
}

// A cumulative sum takes one step an element.

// CHECK-LABEL: func.func private @cumulative_sum(
// CHECK:         scf.for %{{.*}} = %c0 to %c100
// CHECK:           scf.for
// CHECK:             arith.addf
// CHECK-NOT:       scf.for
// CHECK:         return
func.func private @cumulative_sum(%x: tensor<100x8xf32>, %z: tensor<f32>)
    -> tensor<100x8xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = "stablehlo.reduce_window"(%x, %z) <{base_dilations = array<i64: 1, 1>, padding = dense<[[99, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 100, 1>, window_strides = array<i64: 1, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<100x8xf32>, tensor<f32>) -> tensor<100x8xf32>
  return %0 : tensor<100x8xf32>
}
