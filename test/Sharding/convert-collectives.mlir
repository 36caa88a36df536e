// RUN: tsp-opt %s -split-input-file --tsp-convert-collectives -verify-diagnostics | FileCheck %s

module attributes {tsp.mesh = #tsp.mesh<["d", "t"] sizes [2, 3]>} {
// CHECK-LABEL: func.func @minor_axis
// CHECK: tsp.all_gather %{{.*}} {axis = "t", dim = 0 : i64, total = 6 : i64} : (tensor<2xf32>) -> tensor<6xf32>
func.func @minor_axis(%x: tensor<2xf32>) -> tensor<6xf32> {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi64>}> : (tensor<2xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// CHECK-LABEL: func.func @major_axis
// CHECK: tsp.all_reduce %{{.*}} {axis = "d", combine = #tsp.combine<max>}
func.func @major_axis(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 3], [1, 4], [2, 5]]> : tensor<3x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// Over both axes: the minor one is gathered first and scattered last.
// CHECK-LABEL: func.func @both_axes
// CHECK: %[[T:.*]] = tsp.all_gather %{{.*}} {axis = "t", dim = 0 : i64, total = 6 : i64} : (tensor<2xf32>) -> tensor<6xf32>
// CHECK: %[[D:.*]] = tsp.all_gather %[[T]] {axis = "d", dim = 0 : i64, total = 12 : i64} : (tensor<6xf32>) -> tensor<12xf32>
// CHECK: %[[S:.*]] = tsp.reduce_scatter %[[D]] {axis = "d", dim = 0 : i64, total = 12 : i64} : (tensor<12xf32>) -> tensor<6xf32>
// CHECK: tsp.reduce_scatter %[[S]] {axis = "t", dim = 0 : i64, total = 6 : i64} : (tensor<6xf32>) -> tensor<2xf32>
func.func @both_axes(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3, 4, 5]]> : tensor<1x6xi64>}> : (tensor<2xf32>) -> tensor<12xf32>
  %1 = "stablehlo.reduce_scatter"(%0) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3, 4, 5]]> : tensor<1x6xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<12xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// A ring, and a shift that does not wrap round: rank 0 of each row gets zeros.
// CHECK-LABEL: func.func @permutes
// CHECK: %[[R:.*]] = tsp.send_recv %{{.*}} {axis = "t", shift = 1 : i64}
// CHECK: %[[S:.*]] = tsp.send_recv %[[R]] {axis = "t", shift = 1 : i64}
// CHECK: tsp.axis_index "t"
// CHECK: stablehlo.select %{{.*}}, %{{.*}}, %[[S]]
func.func @permutes(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3]]> : tensor<6x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "stablehlo.collective_permute"(%0) <{source_target_pairs = dense<[[0, 1], [1, 2], [3, 4], [4, 5]]> : tensor<4x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: func.func @rank
// CHECK: %[[D:.*]] = tsp.axis_index "d"
// CHECK: tsp.axis_index "t"
// CHECK: stablehlo.convert {{.*}} -> tensor<ui32>
func.func @rank() -> tensor<ui32> {
  %0 = stablehlo.partition_id : tensor<ui32>
  return %0 : tensor<ui32>
}
}

// -----

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @odd_groups(%x: tensor<2xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected groups along axes of #tsp.mesh<["t"] sizes[4]>, found dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>; write one collective an axis, or give the mesh one axis of that size}}
  %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
}
