// RUN: tsp-opt %s '--tsp-partition=strategy=sp_gather@d,tsp(zigzag)@t' --canonicalize --cse --tsp-check-placements | FileCheck %s
// RUN: not tsp-opt %s '--tsp-partition=strategy=tsp(stripe)@t' 2>&1 | FileCheck %s --check-prefix=LAYOUT
// RUN: not tsp-opt %s '--tsp-partition=strategy=data(zigzag)@t' 2>&1 | FileCheck %s --check-prefix=NOTOKENS
// RUN: not tsp-opt %s '--tsp-partition=strategy=tsp@d,tsp@t' 2>&1 | FileCheck %s --check-prefix=TWOFOLDS
// LAYOUT: strategy 'tsp(stripe)@t' has the layout '(stripe)'; known are (contiguous) and (zigzag)
// NOTOKENS: strategy 'data' shards no tokens, so it takes no layout; tsp and sp_gather do
// TWOFOLDS: strategy 'tsp' is given for axes "d" and "t"; weights are sharded over one axis only: give the mesh one axis of 4 ranks, or use sp_gather for one of them

// Tokens over d and t, zigzag on t: the weights fold over t alone; attention is
// causal by true positions, and K and V are gathered along t, then along d, into
// the natural order.

// CHECK-LABEL: func.func public @attention(
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<1x4x6xf32> {{.*}}<["d", "t"], layout = [contiguous, zigzag]>
// CHECK: %[[I:.*]] = stablehlo.iota dim = 0 : tensor<4xi32>
// CHECK: %[[S:.*]] = stablehlo.select
// CHECK: %[[P:.*]] = stablehlo.add %[[I]], %[[S]] : tensor<4xi32>
// CHECK: tsp.fold({{.*}}) attributes {axis = "t"
// CHECK: %[[KT:.*]] = tsp.all_gather %{{.*}} {axis = "t", dim = 1 : i64, layout = #tsp.layout<zigzag>, total = 8 : i64} : (tensor<1x4x1x4xf32>) -> tensor<1x8x1x4xf32>
// CHECK: %[[K:.*]] = tsp.all_gather %[[KT]] {axis = "d", dim = 1 : i64, total = 13 : i64, unit = 8 : i64} : (tensor<1x8x1x4xf32>) -> tensor<1x13x1x4xf32>
// CHECK: tsp.sdpa %{{.*}}, %[[K]], %{{.*}} positions(%[[P]], %{{.*}} : tensor<4xi32>, tensor<13xi32>)
// CHECK: return {{.*}} : tensor<1x4x6xf32>
module attributes {tsp.mesh = #tsp.mesh<["d", "t"] sizes [2, 2]>} {
func.func public @attention(%x: tensor<1x13x6xf32> {tsp.kind = "input"}, %wq: tensor<6x8xf32> {tsp.kind = "parameter"}, %wk: tensor<6x8xf32> {tsp.kind = "parameter"}, %wo: tensor<8x6xf32> {tsp.kind = "parameter"}) -> tensor<1x13x6xf32> {
  %q0 = stablehlo.dot_general %x, %wq, contracting_dims = [2] x [0] : (tensor<1x13x6xf32>, tensor<6x8xf32>) -> tensor<1x13x8xf32>
  %k0 = stablehlo.dot_general %x, %wk, contracting_dims = [2] x [0] : (tensor<1x13x6xf32>, tensor<6x8xf32>) -> tensor<1x13x8xf32>
  %q = stablehlo.reshape %q0 : (tensor<1x13x8xf32>) -> tensor<1x13x2x4xf32>
  %k = stablehlo.reshape %k0 : (tensor<1x13x8xf32>) -> tensor<1x13x2x4xf32>
  %pos = stablehlo.iota dim = 0 : tensor<13xi32>
  %o, %l = tsp.sdpa %q, %k, %k positions(%pos, %pos : tensor<13xi32>, tensor<13xi32>) {scale = 0.5, causal} : (tensor<1x13x2x4xf32>, tensor<1x13x2x4xf32>, tensor<1x13x2x4xf32>) -> (tensor<1x13x2x4xf32>, tensor<1x13x2xf32>)
  %o1 = stablehlo.reshape %o : (tensor<1x13x2x4xf32>) -> tensor<1x13x8xf32>
  %y = stablehlo.dot_general %o1, %wo, contracting_dims = [2] x [0] : (tensor<1x13x8xf32>, tensor<8x6xf32>) -> tensor<1x13x6xf32>
  return %y : tensor<1x13x6xf32>
}
}
