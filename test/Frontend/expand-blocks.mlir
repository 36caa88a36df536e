// RUN: tsp-opt %s -split-input-file --tsp-expand-blocks | FileCheck %s

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
// CHECK-LABEL: @gated_mlp(
// CHECK-SAME:  %[[X:[a-z0-9]+]]: tensor<1x8x16xf32>, %[[WG:[a-z0-9]+]]: tensor<16x44xf32>, %[[WU:[a-z0-9]+]]: tensor<16x44xf32>, %[[WD:[a-z0-9]+]]: tensor<44x16xf32>
func.func @gated_mlp(%x: tensor<1x8x16xf32>, %wg: tensor<16x44xf32>, %wu: tensor<16x44xf32>, %wd: tensor<44x16xf32>) -> tensor<1x8x16xf32> {
  // CHECK: %[[XP:.*]] = tsp.place %[[X]] in <[<[]>, <["t"]>, <[]>]>
  // CHECK: %[[GP:.*]] = tsp.place %[[WG]] in <[<[]>, <["t"]>]>
  // CHECK: %[[G:.*]] = stablehlo.dot_general %[[XP]], %[[GP]], contracting_dims = [2] x [0] : (tensor<1x8x16xf32>, tensor<16x44xf32>) -> tensor<1x8x44xf32>
  // CHECK: %[[S:.*]] = stablehlo.logistic %[[G]]
  // CHECK: %[[A:.*]] = stablehlo.multiply %[[G]], %[[S]]
  // CHECK: %[[UP:.*]] = tsp.place %[[WU]] in <[<[]>, <["t"]>]>
  // CHECK: %[[U:.*]] = stablehlo.dot_general %[[XP]], %[[UP]], contracting_dims = [2] x [0]
  // CHECK: %[[H:.*]] = stablehlo.multiply %[[A]], %[[U]]
  // CHECK: %[[DP:.*]] = tsp.place %[[WD]] in <[<["t"]>, <[]>]>
  // CHECK: %[[Y:.*]] = stablehlo.dot_general %[[H]], %[[DP]], contracting_dims = [2] x [0]
  // CHECK: %[[YP:.*]] = tsp.place %[[Y]] in <[<[]>, <["t"]>, <[]>]>
  // CHECK: return %[[YP]]
  %y = tsp.gated_mlp %x, %wg, %wu, %wd over "t" : (tensor<1x8x16xf32>, tensor<16x44xf32>, tensor<16x44xf32>, tensor<44x16xf32>) -> tensor<1x8x16xf32>
  return %y : tensor<1x8x16xf32>
}
}

// -----

// Without a mesh nothing is placed.
// CHECK-LABEL: @attention(
// CHECK-SAME:  %[[X:[a-z0-9]+]]: tensor<1x8x16xf32>, %[[WQ:[a-z0-9]+]]: tensor<16x24xf32>, %[[WK:[a-z0-9]+]]: tensor<16x12xf32>, %[[WV:[a-z0-9]+]]: tensor<16x9xf32>, %[[WO:[a-z0-9]+]]: tensor<18x16xf32>, %[[COS:[a-z0-9]+]]: tensor<8x4xf32>
func.func @attention(%x: tensor<1x8x16xf32>, %wq: tensor<16x24xf32>, %wk: tensor<16x12xf32>, %wv: tensor<16x9xf32>, %wo: tensor<18x16xf32>,
                     %cos: tensor<8x4xf32>, %sin: tensor<8x4xf32>) -> tensor<1x8x16xf32> {
  // CHECK-NOT: tsp.place
  // CHECK: %[[QF:.*]] = stablehlo.dot_general %[[X]], %[[WQ]], contracting_dims = [2] x [0]
  // CHECK: %[[Q:.*]] = stablehlo.reshape %[[QF]] : (tensor<1x8x24xf32>) -> tensor<1x8x6x4xf32>
  // CHECK: %[[KF:.*]] = stablehlo.dot_general %[[X]], %[[WK]], contracting_dims = [2] x [0]
  // CHECK: %[[K:.*]] = stablehlo.reshape %[[KF]] : (tensor<1x8x12xf32>) -> tensor<1x8x3x4xf32>
  // CHECK: %[[VF:.*]] = stablehlo.dot_general %[[X]], %[[WV]], contracting_dims = [2] x [0]
  // CHECK: %[[V:.*]] = stablehlo.reshape %[[VF]] : (tensor<1x8x9xf32>) -> tensor<1x8x3x3xf32>
  // CHECK: %[[LOW:.*]] = stablehlo.slice %[[Q]] [0:1, 0:8, 0:6, 0:2]
  // CHECK: %[[HIGH:.*]] = stablehlo.slice %[[Q]] [0:1, 0:8, 0:6, 2:4]
  // CHECK: %[[NEG:.*]] = stablehlo.negate %[[HIGH]]
  // CHECK: stablehlo.concatenate %[[NEG]], %[[LOW]], dim = 3
  // CHECK: %[[QR:.*]] = stablehlo.add
  // CHECK: %[[KR:.*]] = stablehlo.add
  // CHECK: %[[I:.*]] = stablehlo.iota dim = 0 : tensor<8xi32>
  // CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[QR]], %[[KR]], %[[V]] positions(%[[I]], %[[I]] : tensor<8xi32>, tensor<8xi32>) {causal, scale = 5.000000e-01 : f64, window = 4 : i64}
  // CHECK: %[[J:.*]] = stablehlo.reshape %[[O]] : (tensor<1x8x6x3xf32>) -> tensor<1x8x18xf32>
  // CHECK: %[[Y:.*]] = stablehlo.dot_general %[[J]], %[[WO]], contracting_dims = [2] x [0]
  // CHECK: return %[[Y]]
  %y = tsp.attention %x, %wq, %wk, %wv, %wo rotary(%cos, %sin : tensor<8x4xf32>, tensor<8x4xf32>) over "t"
      {heads = 6 : i64, kv_heads = 3 : i64, causal, window = 4 : i64}
      : (tensor<1x8x16xf32>, tensor<16x24xf32>, tensor<16x12xf32>, tensor<16x9xf32>, tensor<18x16xf32>) -> tensor<1x8x16xf32>
  return %y : tensor<1x8x16xf32>
}

// -----

// CHECK-LABEL: @activations(
func.func @activations(%x: tensor<1x8x16xf32>, %w: tensor<16x16xf32>) -> tensor<1x8x16xf32> {
  // CHECK: chlo.erfc
  %a = tsp.gated_mlp %x, %w, %w, %w over "t" {activation = #tsp.activation<gelu>} : (tensor<1x8x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<1x8x16xf32>
  // CHECK: stablehlo.tanh
  %b = tsp.gated_mlp %a, %w, %w, %w over "t" {activation = #tsp.activation<gelu_tanh>} : (tensor<1x8x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<1x8x16xf32>
  // CHECK: stablehlo.maximum
  %c = tsp.gated_mlp %b, %w, %w, %w over "t" {activation = #tsp.activation<relu>} : (tensor<1x8x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<1x8x16xf32>
  return %c : tensor<1x8x16xf32>
}
