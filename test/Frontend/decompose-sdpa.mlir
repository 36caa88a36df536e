// RUN: tsp-opt %s --tsp-decompose-sdpa --canonicalize --cse | FileCheck %s

// CHECK-LABEL: @grouped(
// CHECK-SAME:  %[[Q:[a-z0-9]+]]: tensor<2x5x6x4xf32>, %[[K:[a-z0-9]+]]: tensor<2x7x3x4xf32>, %[[V:[a-z0-9]+]]: tensor<2x7x3x8xf32>
func.func @grouped(%q: tensor<2x5x6x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x7x3x8xf32>) -> (tensor<2x5x6x8xf32>, tensor<2x5x6xf32>) {
  // CHECK: %[[G:.*]] = stablehlo.reshape %[[Q]] : (tensor<2x5x6x4xf32>) -> tensor<2x5x3x2x4xf32>
  // CHECK: %[[S:.*]] = stablehlo.dot_general %[[G]], %[[K]], batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3] : (tensor<2x5x3x2x4xf32>, tensor<2x7x3x4xf32>) -> tensor<2x3x5x2x7xf32>
  // CHECK: %[[P:.*]] = stablehlo.divide
  // CHECK: %[[O:.*]] = stablehlo.dot_general %[[P]], %[[V]], batching_dims = [0, 1] x [0, 2], contracting_dims = [4] x [1] : (tensor<2x3x5x2x7xf32>, tensor<2x7x3x8xf32>) -> tensor<2x3x5x2x8xf32>
  // CHECK: %[[T:.*]] = stablehlo.transpose %[[O]], dims = [0, 2, 1, 3, 4]
  // CHECK: %[[R:.*]] = stablehlo.reshape %[[T]] : (tensor<2x5x3x2x8xf32>) -> tensor<2x5x6x8xf32>
  // CHECK: %[[LSE:.*]] = stablehlo.reshape %{{.*}} : (tensor<2x5x3x2xf32>) -> tensor<2x5x6xf32>
  // CHECK: return %[[R]], %[[LSE]]
  %o, %lse = tsp.sdpa %q, %k, %v {scale = 0.5 : f64} : (tensor<2x5x6x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x8xf32>) -> (tensor<2x5x6x8xf32>, tensor<2x5x6xf32>)
  return %o, %lse : tensor<2x5x6x8xf32>, tensor<2x5x6xf32>
}

// CHECK-LABEL: @masked(
func.func @masked(%q: tensor<1x5x2x4xbf16>, %k: tensor<1x7x2x4xbf16>, %v: tensor<1x7x2x8xbf16>, %i: tensor<5xi32>, %j: tensor<1x7xi64>, %mask: tensor<1x1x1x7xi1>) -> tensor<1x5x2x8xbf16> {
  // CHECK: stablehlo.tanh
  // CHECK: %[[I:.*]] = stablehlo.convert %{{.*}} : (tensor<5xi32>) -> tensor<5xi64>
  // CHECK: %[[CAUSAL:.*]] = stablehlo.compare LE
  // CHECK: %[[WINDOW:.*]] = stablehlo.compare LT
  // CHECK: %[[BOTH:.*]] = stablehlo.and %[[CAUSAL]], %[[WINDOW]]
  // CHECK: %[[SEEN:.*]] = stablehlo.and %[[BOTH]]
  // CHECK: stablehlo.select %[[SEEN]]
  // A row without keys gives the mean: all ones over 7.
  // CHECK: stablehlo.compare EQ
  // CHECK: stablehlo.convert %{{.*}} : (tensor<1x5x2x8xf32>) -> tensor<1x5x2x8xbf16>
  %o, %lse = tsp.sdpa %q, %k, %v mask(%mask : tensor<1x1x1x7xi1>) positions(%i, %j : tensor<5xi32>, tensor<1x7xi64>)
      {scale = 0.5 : f64, softcap = 30.0 : f64, causal, window = 3 : i64, empty = #tsp.empty_rows<mean>}
      : (tensor<1x5x2x4xbf16>, tensor<1x7x2x4xbf16>, tensor<1x7x2x8xbf16>) -> (tensor<1x5x2x8xbf16>, tensor<1x5x2xf32>)
  return %o : tensor<1x5x2x8xbf16>
}
