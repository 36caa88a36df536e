// RUN: tsp-opt %s --tsp-form-kernels --split-input-file | FileCheck %s

// Reductions inside kernels, and what keeps them out.

// Layer norm: mean, variance and scaling keep the same rows.
// CHECK-LABEL: func.func public @layer_norm
// CHECK-NEXT: tsp.launch @k_multiply_0(%arg0)
// CHECK-NEXT: return
func.func public @layer_norm(%x: tensor<2x32x64xf32>) -> tensor<2x32x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %count = stablehlo.constant dense<64.0> : tensor<2x32x1xf32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x32x64xf32>, tensor<f32>) -> tensor<2x32xf32>
  %keep = stablehlo.broadcast_in_dim %sum, dims = [0, 1] : (tensor<2x32xf32>) -> tensor<2x32x1xf32>
  %mean = stablehlo.divide %keep, %count : tensor<2x32x1xf32>
  %wide = stablehlo.broadcast_in_dim %mean, dims = [0, 1, 2] : (tensor<2x32x1xf32>) -> tensor<2x32x64xf32>
  %centred = stablehlo.subtract %x, %wide : tensor<2x32x64xf32>
  %sq = stablehlo.multiply %centred, %centred : tensor<2x32x64xf32>
  %sum2 = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x32x64xf32>, tensor<f32>) -> tensor<2x32xf32>
  %keep2 = stablehlo.broadcast_in_dim %sum2, dims = [0, 1] : (tensor<2x32xf32>) -> tensor<2x32x1xf32>
  %var = stablehlo.divide %keep2, %count : tensor<2x32x1xf32>
  %scale = stablehlo.rsqrt %var : tensor<2x32x1xf32>
  %wide2 = stablehlo.broadcast_in_dim %scale, dims = [0, 1, 2] : (tensor<2x32x1xf32>) -> tensor<2x32x64xf32>
  %y = stablehlo.multiply %centred, %wide2 : tensor<2x32x64xf32>
  return %y : tensor<2x32x64xf32>
}

// -----

// One sum over each dim: rows of one are not rows of the other.
// CHECK-LABEL: func.func public @both_dims
// CHECK-NEXT: %[[A:.*]] = tsp.launch @k_reduce_0(%arg0)
// CHECK-NEXT: %[[Y:.*]] = tsp.launch @k_add_1(%[[A]], %arg0)
// CHECK-NEXT: return %[[Y]]
func.func public @both_dims(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32x32xf32>, tensor<f32>) -> tensor<32xf32>
  %b = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<32x32xf32>, tensor<f32>) -> tensor<32xf32>
  %wa = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<32xf32>) -> tensor<32x32xf32>
  %wb = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<32xf32>) -> tensor<32x32xf32>
  %y = stablehlo.add %wa, %wb : tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}

// -----

// A sum of everything would leave one row for all threads.
// CHECK-LABEL: func.func public @whole
// CHECK-NEXT: %[[A:.*]] = tsp.launch @k_reduce_0(%arg0)
// CHECK-NEXT: %[[Y:.*]] = tsp.launch @k_multiply_1(%arg0, %[[A]])
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @k_multiply_1
// CHECK-SAME: tsp.tied = array<i64: 0>
func.func public @whole(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<f32>
  %wide = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
  %y = stablehlo.multiply %x, %wide : tensor<512x512xf32>
  return %y : tensor<512x512xf32>
}

// -----

// tanh along the innermost loop would be computed in each row.
// CHECK-LABEL: func.func public @repeated
// CHECK-NEXT: %[[T:.*]] = tsp.launch @k_tanh_0(%arg1)
// CHECK-NEXT: tsp.launch @k_multiply_1(%arg0, %[[T]])
func.func public @repeated(%x: tensor<32x64xf32>, %w: tensor<64xf32>) -> tensor<32x64xf32> {
  %t = stablehlo.tanh %w : tensor<64xf32>
  %wide = stablehlo.broadcast_in_dim %t, dims = [1] : (tensor<64xf32>) -> tensor<32x64xf32>
  %y = stablehlo.multiply %x, %wide : tensor<32x64xf32>
  return %y : tensor<32x64xf32>
}

// -----

// Reshapes to dims of size 1 stand between a sum and its broadcast, and between an
// iota and a mask.
// CHECK-LABEL: func.func public @unit_dims
// CHECK-NEXT: tsp.launch @k_select_0(%arg0)
// CHECK-NEXT: return
func.func public @unit_dims(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<32x32xf32>, tensor<f32>) -> tensor<32xf32>
  %keep = stablehlo.reshape %sum : (tensor<32xf32>) -> tensor<32x1xf32>
  %wide = stablehlo.broadcast_in_dim %keep, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x32xf32>
  %i = stablehlo.iota dim = 0 : tensor<32xi32>
  %rows = stablehlo.reshape %i : (tensor<32xi32>) -> tensor<32x1xi32>
  %a = stablehlo.broadcast_in_dim %rows, dims = [0, 1] : (tensor<32x1xi32>) -> tensor<32x32xi32>
  %b = stablehlo.iota dim = 1 : tensor<32x32xi32>
  %mask = stablehlo.compare GE, %a, %b, SIGNED : (tensor<32x32xi32>, tensor<32x32xi32>) -> tensor<32x32xi1>
  %y = stablehlo.select %mask, %x, %wide : tensor<32x32xi1>, tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}
