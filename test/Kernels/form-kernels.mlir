// RUN: tsp-opt %s --tsp-form-kernels --split-input-file | FileCheck %s

// A row of the result needs its sum of squares, and no other row's: one kernel. As
// it reads the whole row first, its result may not overwrite %arg0.
// CHECK-LABEL: func.func public @rms_norm
// CHECK-NEXT: %[[Y:.*]] = tsp.launch @k_multiply_0(%arg0, %arg1)
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @k_multiply_0({{.*}}) -> tensor<4x8xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>}
func.func public @rms_norm(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> tensor<4x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %eighth = stablehlo.constant dense<0.125> : tensor<4x1xf32>
  %eps = stablehlo.constant dense<1.0e-05> : tensor<4x1xf32>
  %sq = stablehlo.multiply %x, %x : tensor<4x8xf32>
  %sum = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %keep = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32>
  %mean = stablehlo.multiply %keep, %eighth : tensor<4x1xf32>
  %safe = stablehlo.add %mean, %eps : tensor<4x1xf32>
  %scale = stablehlo.rsqrt %safe : tensor<4x1xf32>
  %all = stablehlo.broadcast_in_dim %scale, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x8xf32>
  %unit = stablehlo.multiply %x, %all : tensor<4x8xf32>
  %wide = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %y = stablehlo.multiply %unit, %wide : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// silu(x Wg) * (x Wu): the later product takes the activation as its epilogue.
// CHECK-LABEL: func.func public @gated_mlp
// CHECK-NEXT: %[[G:.*]] = tsp.launch @k_dot_general_0(%arg0, %arg1)
// CHECK-NEXT: %[[H:.*]] = tsp.launch @k_dot_general_1(%[[G]], %arg0, %arg2)
// CHECK-NEXT: %[[Y:.*]] = tsp.launch @k_dot_general_2(%arg0, %[[H]], %arg3)
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @k_dot_general_1
// CHECK-SAME: tsp.tied = array<i64: 0>
// CHECK: stablehlo.negate
// CHECK-NEXT: stablehlo.exponential
// CHECK: stablehlo.dot_general
// CHECK-NEXT: stablehlo.multiply
// CHECK-NEXT: return
// The residual may be summed in place.
// CHECK: func.func private @k_dot_general_2
// CHECK-SAME: tsp.tied = array<i64: 0>
func.func public @gated_mlp(%x: tensor<4x8xf32>, %wg: tensor<8x12xf32>, %wu: tensor<8x12xf32>, %wd: tensor<12x8xf32>) -> tensor<4x8xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<4x12xf32>
  %g = stablehlo.dot_general %x, %wg, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x12xf32>) -> tensor<4x12xf32>
  %neg = stablehlo.negate %g : tensor<4x12xf32>
  %exp = stablehlo.exponential %neg : tensor<4x12xf32>
  %den = stablehlo.add %exp, %one : tensor<4x12xf32>
  %sig = stablehlo.divide %one, %den : tensor<4x12xf32>
  %act = stablehlo.multiply %g, %sig : tensor<4x12xf32>
  %u = stablehlo.dot_general %x, %wu, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x12xf32>) -> tensor<4x12xf32>
  %h = stablehlo.multiply %act, %u : tensor<4x12xf32>
  %d = stablehlo.dot_general %h, %wd, contracting_dims = [1] x [0] : (tensor<4x12xf32>, tensor<12x8xf32>) -> tensor<4x8xf32>
  %y = stablehlo.add %x, %d : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// Two equal layers have the kernels of one; the constant inside counts.
// CHECK-LABEL: func.func public @merged
// CHECK-NEXT: %[[A:.*]] = tsp.launch @k_dot_general_0(%arg0, %arg1)
// CHECK-NEXT: %[[B:.*]] = tsp.launch @k_dot_general_0(%[[A]], %arg1)
// CHECK-NEXT: %[[C:.*]] = tsp.launch @k_multiply_1(%[[B]])
// CHECK-NEXT: %[[D:.*]] = tsp.launch @k_multiply_2(%[[B]])
// CHECK-NEXT: return %[[C]], %[[D]]
// CHECK-COUNT-3: func.func private
// CHECK-NOT: func.func private
func.func public @merged(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %two = stablehlo.constant dense<2.0> : tensor<4x4xf32>
  %three = stablehlo.constant dense<3.0> : tensor<4x4xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.tanh %0 : tensor<4x4xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = stablehlo.tanh %2 : tensor<4x4xf32>
  %4 = stablehlo.multiply %3, %two : tensor<4x4xf32>
  %5 = stablehlo.multiply %3, %three : tensor<4x4xf32>
  return %4, %5 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func public @attention
// CHECK-NEXT: %[[POS:.*]] = tsp.launch @k_iota_0()
// CHECK-NEXT: %[[O:.*]] = tsp.launch @k_sdpa_1(%arg0, %arg1, %[[POS]])
// CHECK-NEXT: %[[V:.*]] = stablehlo.reshape %[[O]]
// CHECK-NEXT: return %[[V]]
// Only %o is a result of the kernel.
// CHECK: func.func private @k_sdpa_1({{.*}}) -> tensor<1x16x4x8xf32>
func.func public @attention(%q: tensor<1x16x4x8xf32>, %k: tensor<1x16x2x8xf32>) -> tensor<1x16x32xf32> {
  %i = stablehlo.iota dim = 0 : tensor<16xi32>
  %o, %lse = tsp.sdpa %q, %k, %k positions(%i, %i : tensor<16xi32>, tensor<16xi32>) {scale = 0.5 : f64, causal} : (tensor<1x16x4x8xf32>, tensor<1x16x2x8xf32>, tensor<1x16x2x8xf32>) -> (tensor<1x16x4x8xf32>, tensor<1x16x4xf32>)
  %r = stablehlo.reshape %o : (tensor<1x16x4x8xf32>) -> tensor<1x16x32xf32>
  return %r : tensor<1x16x32xf32>
}

// -----

// Rotary embedding: slices and products go into the kernel of the concatenate.
// cos is computed once, not for each head.
// CHECK-LABEL: func.func public @rope
// CHECK-NEXT: %[[COS:.*]] = tsp.launch @k_cosine_0(%arg1)
// CHECK-NEXT: %[[R:.*]] = tsp.launch @k_concatenate_1(%arg0, %[[COS]])
// CHECK-NEXT: return %[[R]]
func.func public @rope(%x: tensor<16x4x8xf32>, %angle: tensor<16x4xf32>) -> tensor<16x4x8xf32> {
  %cos = stablehlo.cosine %angle : tensor<16x4xf32>
  %c = stablehlo.broadcast_in_dim %cos, dims = [0, 2] : (tensor<16x4xf32>) -> tensor<16x4x4xf32>
  %a = stablehlo.slice %x [0:16, 0:4, 0:4] : (tensor<16x4x8xf32>) -> tensor<16x4x4xf32>
  %b = stablehlo.slice %x [0:16, 0:4, 4:8] : (tensor<16x4x8xf32>) -> tensor<16x4x4xf32>
  %ac = stablehlo.multiply %a, %c : tensor<16x4x4xf32>
  %bc = stablehlo.multiply %b, %c : tensor<16x4x4xf32>
  %r = stablehlo.concatenate %ac, %bc, dim = 2 : (tensor<16x4x4xf32>, tensor<16x4x4xf32>) -> tensor<16x4x8xf32>
  return %r : tensor<16x4x8xf32>
}

// -----

// The same cosines in two kernels: each spreads them over its heads.
// CHECK-LABEL: func.func public @rope_twice
// CHECK-NEXT: %[[COS:.*]] = tsp.launch @k_cosine_0(%arg2)
// CHECK-NEXT: %[[Q:.*]] = tsp.launch @k_multiply_1(%arg0, %[[COS]])
// CHECK-NEXT: %[[K:.*]] = tsp.launch @k_multiply_1(%arg1, %[[COS]])
// CHECK-NEXT: return %[[Q]], %[[K]]
func.func public @rope_twice(%q: tensor<16x4x8xf32>, %k: tensor<16x4x8xf32>, %angle: tensor<16x8xf32>) -> (tensor<16x4x8xf32>, tensor<16x4x8xf32>) {
  %cos = stablehlo.cosine %angle : tensor<16x8xf32>
  %c = stablehlo.broadcast_in_dim %cos, dims = [0, 2] : (tensor<16x8xf32>) -> tensor<16x4x8xf32>
  %a = stablehlo.multiply %q, %c : tensor<16x4x8xf32>
  %b = stablehlo.multiply %k, %c : tensor<16x4x8xf32>
  return %a, %b : tensor<16x4x8xf32>, tensor<16x4x8xf32>
}

// -----

// CHECK-LABEL: func.func public @softmax
// CHECK-NEXT: tsp.launch @k_divide_0(%arg0)
// CHECK-NEXT: return
func.func public @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %max = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %m = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %d = stablehlo.subtract %x, %m : tensor<4x8xf32>
  %e = stablehlo.exponential %d : tensor<4x8xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %s = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %y = stablehlo.divide %e, %s : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
