// RUN: tsp-opt %s --pass-pipeline="builtin.module(func.func(tsp-split-attention{units=8}))" | FileCheck %s

// One query of 8 heads on 2 key heads: 2 pieces of work. 4 parts of the keys
// make 8; keys and values are divided by views of them.
// CHECK-LABEL: func.func @decode(
// CHECK-SAME:    %[[Q:.*]]: tensor<1x1x8x64xbf16>, %[[K:.*]]: tensor<1x2048x2x64xbf16>, %[[V:.*]]: tensor<1x2048x2x64xbf16>, %[[QP:.*]]: tensor<1xi32>, %[[KP:.*]]: tensor<2048xi32>
// CHECK:         stablehlo.broadcast_in_dim %[[Q]]
// CHECK:         %[[KS:.*]] = stablehlo.reshape %[[K]] : (tensor<1x2048x2x64xbf16>) -> tensor<4x512x2x64xbf16>
// CHECK:         %[[VS:.*]] = stablehlo.reshape %[[V]]
// CHECK:         %[[KPS:.*]] = stablehlo.reshape {{.*}} -> tensor<4x512xi32>
// Parts have f32 results, and nothing where they are empty.
// CHECK:         %[[O:.*]], %[[LSE:.*]] = tsp.sdpa %{{.*}}, %[[KS]], %[[VS]] positions(%[[QP]], %[[KPS]] : tensor<1xi32>, tensor<4x512xi32>)
// CHECK-SAME:      {causal, empty = #tsp.empty_rows<zero>, scale = 1.250000e-01 : f64}
// CHECK-SAME:      -> (tensor<4x1x8x64xf32>, tensor<4x1x8xf32>)
// CHECK:         stablehlo.reduce{{.*}}stablehlo.maximum across dimensions = [1]
// CHECK:         stablehlo.exponential
// CHECK:         stablehlo.divide
// CHECK:         stablehlo.convert {{.*}} -> tensor<1x1x8x64xbf16>
func.func @decode(%q: tensor<1x1x8x64xbf16>, %k: tensor<1x2048x2x64xbf16>, %v: tensor<1x2048x2x64xbf16>, %i: tensor<1xi32>, %j: tensor<2048xi32>)
    -> tensor<1x1x8x64xbf16> {
  %o, %l = tsp.sdpa %q, %k, %v positions(%i, %j : tensor<1xi32>, tensor<2048xi32>) {scale = 0.125 : f64, causal}
    : (tensor<1x1x8x64xbf16>, tensor<1x2048x2x64xbf16>, tensor<1x2048x2x64xbf16>) -> (tensor<1x1x8x64xbf16>, tensor<1x1x8xf32>)
  return %o : tensor<1x1x8x64xbf16>
}

// The parts are the greatest number that divides the keys: 3 of 341 keys.
// CHECK-LABEL: func.func @uneven(
// CHECK:         tsp.sdpa {{.*}} -> (tensor<3x1x2x64xf32>
func.func @uneven(%q: tensor<1x1x2x64xf32>, %k: tensor<1x1023x2x64xf32>, %v: tensor<1x1023x2x64xf32>) -> tensor<1x1x2x64xf32> {
  %o, %l = tsp.sdpa %q, %k, %v {scale = 0.125 : f64}
    : (tensor<1x1x2x64xf32>, tensor<1x1023x2x64xf32>, tensor<1x1023x2x64xf32>) -> (tensor<1x1x2x64xf32>, tensor<1x1x2xf32>)
  return %o : tensor<1x1x2x64xf32>
}

// Work enough, rows enough, few keys: nothing changes.
// CHECK-LABEL: func.func @whole(
// CHECK-NOT:     stablehlo
// CHECK:         return
func.func @whole(%q: tensor<4x1x2x64xf32>, %k: tensor<4x1024x2x64xf32>, %v: tensor<4x1024x2x64xf32>,
                 %qr: tensor<1x80x1x64xf32>, %kr: tensor<1x1024x1x64xf32>, %vr: tensor<1x1024x1x64xf32>,
                 %qf: tensor<1x1x1x64xf32>, %kf: tensor<1x500x1x64xf32>, %vf: tensor<1x500x1x64xf32>)
    -> (tensor<4x1x2x64xf32>, tensor<1x80x1x64xf32>, tensor<1x1x1x64xf32>) {
  %o, %l = tsp.sdpa %q, %k, %v {scale = 0.125 : f64}
    : (tensor<4x1x2x64xf32>, tensor<4x1024x2x64xf32>, tensor<4x1024x2x64xf32>) -> (tensor<4x1x2x64xf32>, tensor<4x1x2xf32>)
  %or, %lr = tsp.sdpa %qr, %kr, %vr {scale = 0.125 : f64}
    : (tensor<1x80x1x64xf32>, tensor<1x1024x1x64xf32>, tensor<1x1024x1x64xf32>) -> (tensor<1x80x1x64xf32>, tensor<1x80x1xf32>)
  %of, %lf = tsp.sdpa %qf, %kf, %vf {scale = 0.125 : f64}
    : (tensor<1x1x1x64xf32>, tensor<1x500x1x64xf32>, tensor<1x500x1x64xf32>) -> (tensor<1x1x1x64xf32>, tensor<1x1x1xf32>)
  return %o, %or, %of : tensor<4x1x2x64xf32>, tensor<1x80x1x64xf32>, tensor<1x1x1x64xf32>
}
