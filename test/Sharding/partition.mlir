// RUN: tsp-opt %s -split-input-file --tsp-partition=strategy=tsp --canonicalize --cse | FileCheck %s --check-prefix=TSP
// RUN: tsp-opt %s -split-input-file --tsp-plan=strategy=tsp | tsp-opt -split-input-file --tsp-partition --canonicalize --cse | FileCheck %s --check-prefix=TSP
// RUN: tsp-opt %s -split-input-file --tsp-partition=strategy=tp --canonicalize --cse | FileCheck %s --check-prefix=TP

// An MLP with biases: a fold from the contraction that brings the FFN dim in to
// the one that sums it away; the second bias is added once, outside.

// TSP-LABEL: func.func public @mlp(
// TSP-SAME: %[[X:[a-z0-9]+]]: tensor<2x6xf32> {{.*}}, %[[W:[a-z0-9]+]]: tensor<6x3xf32> {{.*}}, %[[B:[a-z0-9]+]]: tensor<3xf32> {{.*}}, %[[U:[a-z0-9]+]]: tensor<3x6xf32> {{.*}}
// TSP: %[[Y:.*]] = tsp.fold(%[[W]], %[[B]], %[[U]]) attributes {axis = "t", combines = [#tsp.combine<sum>], part_dims = array<i64: 1, 0, 0>, part_sizes = array<i64: 3, 3, 3>, part_starts = array<i64: 0, 0, 0>, part_totals = array<i64: 12, 12, 12>, steps = 4 : i64}
// TSP: ^bb0(%{{.*}}: tensor<i32>, %[[WP:[a-z0-9]+]]: tensor<6x3xf32>, %[[BP:[a-z0-9]+]]: tensor<3xf32>, %[[UP:[a-z0-9]+]]: tensor<3x6xf32>):
// TSP: %[[D:.*]] = stablehlo.dot_general %[[X]], %[[WP]]
// TSP: %[[BB:.*]] = stablehlo.broadcast_in_dim %[[BP]]
// TSP: %[[S:.*]] = stablehlo.add %[[D]], %[[BB]]
// TSP: %[[A:.*]] = stablehlo.tanh %[[S]]
// TSP: %[[P:.*]] = stablehlo.dot_general %[[A]], %[[UP]]
// TSP: tsp.yield %[[P]]
// TSP: stablehlo.add %[[Y]], %{{.*}} : tensor<2x6xf32>

// TP-LABEL: func.func public @mlp(
// TP-SAME: tensor<8x6xf32> {{.*}}, %{{.*}}: tensor<6x3xf32>
// TP: %[[P:.*]] = stablehlo.dot_general {{.*}} (tensor<8x3xf32>, tensor<3x6xf32>) -> tensor<8x6xf32>
// TP: %[[Y:.*]] = tsp.all_reduce %[[P]] {axis = "t"}
// TP: stablehlo.add %[[Y]]
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func public @mlp(%x: tensor<8x6xf32> {tsp.kind = "input"}, %w: tensor<6x12xf32> {tsp.kind = "parameter"}, %b: tensor<12xf32> {tsp.kind = "parameter"}, %u: tensor<12x6xf32> {tsp.kind = "parameter"}, %c: tensor<6xf32> {tsp.kind = "parameter"}) -> tensor<8x6xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x12xf32>) -> tensor<8x12xf32>
  %bb = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<12xf32>) -> tensor<8x12xf32>
  %yb = stablehlo.add %y, %bb : tensor<8x12xf32>
  %a = stablehlo.tanh %yb : tensor<8x12xf32>
  %z = stablehlo.dot_general %a, %u, contracting_dims = [1] x [0] : (tensor<8x12xf32>, tensor<12x6xf32>) -> tensor<8x6xf32>
  %cc = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<6xf32>) -> tensor<8x6xf32>
  %r = stablehlo.add %z, %cc : tensor<8x6xf32>
  return %r : tensor<8x6xf32>
}
}

// -----

// Three KV groups over four ranks, ten tokens over four ranks: stored in even
// elements, folded in whole groups, K and V gathered group by group. The keys
// that leave the fold stand side by side. Under tp the fourth rank idles, and
// its padding is cleared before it is summed over.

// TSP-LABEL: func.func public @attention(
// TSP-SAME: tensor<1x3x6xf32> {{.*}}, %{{.*}}: tensor<6x9xf32> {{.*}}, %{{.*}}: tensor<6x3xf32> {{.*}}, %{{.*}}: tensor<6x3xf32> {{.*}}, %{{.*}}: tensor<9x6xf32>
// TSP: %[[Y:.*]]:2 = tsp.fold({{.*}}) attributes {axis = "t", combines = [#tsp.concat<2>, #tsp.combine<sum>], part_dims = array<i64: 1, 1, 1, 0>, part_sizes = array<i64: 12, 4, 4, 12>, {{.*}} part_totals = array<i64: 36, 12, 12, 36>, steps = 3 : i64}
// TSP: %[[K:.*]] = tsp.all_gather {{.*}} {axis = "t", dim = 1 : i64, total = 10 : i64} : (tensor<1x3x1x4xf32>) -> tensor<1x10x1x4xf32>
// TSP: %[[V:.*]] = tsp.all_gather {{.*}} {axis = "t", dim = 1 : i64, total = 10 : i64} : (tensor<1x3x1x4xf32>) -> tensor<1x10x1x4xf32>
// TSP: tsp.sdpa %{{.*}}, %[[K]], %[[V]] {{.*}} : (tensor<1x3x3x4xf32>, tensor<1x10x1x4xf32>, tensor<1x10x1x4xf32>)
// TSP: tsp.yield %{{.*}}, %{{.*}} : tensor<1x3x1x4xf32>, tensor<1x3x6xf32>
// TSP: return %{{.*}}, %[[Y]]#0 : tensor<1x3x6xf32>, tensor<1x3x3x4xf32>

// TP-LABEL: func.func public @attention(
// TP-SAME: %{{.*}}: tensor<6x12xf32> {{.*}}unit = 12
// TP: %[[I:.*]] = tsp.axis_index "t"
// TP: %[[M:.*]] = stablehlo.compare LT
// TP: %[[O:.*]] = stablehlo.select %[[M]]
// TP: stablehlo.dot_general %[[O]], %{{.*}} : (tensor<1x10x12xf32>, tensor<12x6xf32>)
// TP: tsp.all_reduce
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func public @attention(%x: tensor<1x10x6xf32> {tsp.kind = "input"}, %wq: tensor<6x36xf32> {tsp.kind = "parameter"}, %wk: tensor<6x12xf32> {tsp.kind = "parameter"}, %wv: tensor<6x12xf32> {tsp.kind = "parameter"}, %wo: tensor<36x6xf32> {tsp.kind = "parameter"}) -> (tensor<1x10x6xf32>, tensor<1x10x3x4xf32>) {
  %q0 = stablehlo.dot_general %x, %wq, contracting_dims = [2] x [0] : (tensor<1x10x6xf32>, tensor<6x36xf32>) -> tensor<1x10x36xf32>
  %k0 = stablehlo.dot_general %x, %wk, contracting_dims = [2] x [0] : (tensor<1x10x6xf32>, tensor<6x12xf32>) -> tensor<1x10x12xf32>
  %v0 = stablehlo.dot_general %x, %wv, contracting_dims = [2] x [0] : (tensor<1x10x6xf32>, tensor<6x12xf32>) -> tensor<1x10x12xf32>
  %q = stablehlo.reshape %q0 : (tensor<1x10x36xf32>) -> tensor<1x10x9x4xf32>
  %k = stablehlo.reshape %k0 : (tensor<1x10x12xf32>) -> tensor<1x10x3x4xf32>
  %v = stablehlo.reshape %v0 : (tensor<1x10x12xf32>) -> tensor<1x10x3x4xf32>
  %pos = stablehlo.iota dim = 0 : tensor<10xi32>
  %o, %l = tsp.sdpa %q, %k, %v positions(%pos, %pos : tensor<10xi32>, tensor<10xi32>) {scale = 0.5, causal} : (tensor<1x10x9x4xf32>, tensor<1x10x3x4xf32>, tensor<1x10x3x4xf32>) -> (tensor<1x10x9x4xf32>, tensor<1x10x9xf32>)
  %o1 = stablehlo.reshape %o : (tensor<1x10x9x4xf32>) -> tensor<1x10x36xf32>
  %y = stablehlo.dot_general %o1, %wo, contracting_dims = [2] x [0] : (tensor<1x10x36xf32>, tensor<36x6xf32>) -> tensor<1x10x6xf32>
  return %y, %k : tensor<1x10x6xf32>, tensor<1x10x3x4xf32>
}
}

// -----

// Tied embedding: a lookup moves ids and rows, never the table; the head folds
// over the vocabulary into slices of the logits.

// TSP-LABEL: func.func public @embed_head(
// TSP: %[[IDS:.*]] = tsp.all_gather %{{.*}} {axis = "t", dim = 0 : i64, total = 8 : i64}
// TSP: "stablehlo.gather"{{.*}} (tensor<5x6xf32>, tensor<8x1xi32>) -> tensor<8x6xf32>
// TSP: %[[X:.*]] = tsp.reduce_scatter %{{.*}} {axis = "t", dim = 0 : i64, total = 8 : i64} : (tensor<8x6xf32>) -> tensor<2x6xf32>
// TSP: %[[L:.*]] = tsp.fold(%{{.*}}) attributes {axis = "t", combines = [#tsp.concat<1>]{{.*}} -> tensor<2x20xf32>
// TSP: return %[[L]]

// TP-LABEL: func.func public @embed_head(
// TP: tsp.all_reduce {{.*}} : (tensor<8x6xf32>) -> tensor<8x6xf32>
// TP: return %{{.*}} : tensor<8x5xf32>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func public @embed_head(%table: tensor<20x6xf32> {tsp.kind = "parameter"}, %ids: tensor<8x1xi32> {tsp.kind = "input"}) -> tensor<8x20xf32> {
  %x = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>, indices_are_sorted = false}> : (tensor<20x6xf32>, tensor<8x1xi32>) -> tensor<8x6xf32>
  %l = stablehlo.dot_general %x, %table, contracting_dims = [1] x [1] : (tensor<8x6xf32>, tensor<20x6xf32>) -> tensor<8x20xf32>
  return %l : tensor<8x20xf32>
}
}

// -----

// A decode step under tsp: one token is no shard, so the same stored weights
// work column-parallel; the cache stays sharded by tokens, the rank that holds
// the place writes it, and partial attentions merge by log-sum-exp.

// TSP-LABEL: func.func public @decode(
// TSP-SAME: tensor<1x4x3x4xf32> {{.*}}tsp.kind = "state"
// TSP: tsp.all_gather {{.*}} (tensor<1x1x9xf32>) -> tensor<1x1x36xf32>
// TSP: %[[HELD:.*]] = stablehlo.compare EQ
// TSP: %[[CACHE:.*]] = stablehlo.dynamic_update_slice {{.*}} : (tensor<1x4x3x4xf32>, tensor<1x1x3x4xf32>
// TSP: %[[O:.*]], %[[LSE:.*]] = tsp.sdpa %{{.*}}, %[[CACHE]], %[[CACHE]]
// TSP: tsp.all_reduce %[[LSE]] {axis = "t", combine = #tsp.combine<max>}
// TSP: return %{{.*}}, %[[CACHE]]
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func public @decode(%x: tensor<1x1x6xf32> {tsp.kind = "input"}, %p: tensor<i32> {tsp.kind = "input"}, %wq: tensor<6x36xf32> {tsp.kind = "parameter"}, %wk: tensor<6x12xf32> {tsp.kind = "parameter"}, %wo: tensor<36x6xf32> {tsp.kind = "parameter"}, %cache: tensor<1x16x3x4xf32> {tsp.kind = "state", tsp.alias = 1 : i64}) -> (tensor<1x1x6xf32>, tensor<1x16x3x4xf32>) {
  %q0 = stablehlo.dot_general %x, %wq, contracting_dims = [2] x [0] : (tensor<1x1x6xf32>, tensor<6x36xf32>) -> tensor<1x1x36xf32>
  %k0 = stablehlo.dot_general %x, %wk, contracting_dims = [2] x [0] : (tensor<1x1x6xf32>, tensor<6x12xf32>) -> tensor<1x1x12xf32>
  %q = stablehlo.reshape %q0 : (tensor<1x1x36xf32>) -> tensor<1x1x9x4xf32>
  %k = stablehlo.reshape %k0 : (tensor<1x1x12xf32>) -> tensor<1x1x3x4xf32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %kc = stablehlo.dynamic_update_slice %cache, %k, %c0, %p, %c0, %c0 : (tensor<1x16x3x4xf32>, tensor<1x1x3x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x3x4xf32>
  %pos = stablehlo.iota dim = 0 : tensor<16xi32>
  %qp = stablehlo.reshape %p : (tensor<i32>) -> tensor<1xi32>
  %o, %l = tsp.sdpa %q, %kc, %kc positions(%qp, %pos : tensor<1xi32>, tensor<16xi32>) {scale = 0.5, causal} : (tensor<1x1x9x4xf32>, tensor<1x16x3x4xf32>, tensor<1x16x3x4xf32>) -> (tensor<1x1x9x4xf32>, tensor<1x1x9xf32>)
  %o1 = stablehlo.reshape %o : (tensor<1x1x9x4xf32>) -> tensor<1x1x36xf32>
  %y = stablehlo.dot_general %o1, %wo, contracting_dims = [2] x [0] : (tensor<1x1x36xf32>, tensor<36x6xf32>) -> tensor<1x1x6xf32>
  return %y, %kc : tensor<1x1x6xf32>, tensor<1x16x3x4xf32>
}
}

// -----

// Tokens that a reshape puts behind the batch and that the ranks do not divide
// are gathered first: padding would lie in the middle of the dim.

// TSP-LABEL: func.func public @flattened(
// TSP-SAME: tensor<2x5x6xf32>
// TSP: tsp.sdpa
// TSP: %[[X:.*]] = tsp.all_gather %{{.*}} {axis = "t", dim = 1 : i64, total = 17 : i64} : (tensor<2x5x2x3xf32>) -> tensor<2x17x2x3xf32>
// TSP: stablehlo.reshape %[[X]] : (tensor<2x17x2x3xf32>) -> tensor<34x6xf32>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func public @flattened(%x: tensor<2x17x6xf32> {tsp.kind = "input"}, %w: tensor<6x6xf32> {tsp.kind = "input"}) -> tensor<34x6xf32> {
  %q = stablehlo.reshape %x : (tensor<2x17x6xf32>) -> tensor<2x17x2x3xf32>
  %o, %l = tsp.sdpa %q, %q, %q {scale = 0.5} : (tensor<2x17x2x3xf32>, tensor<2x17x2x3xf32>, tensor<2x17x2x3xf32>) -> (tensor<2x17x2x3xf32>, tensor<2x17x2xf32>)
  %f = stablehlo.reshape %o : (tensor<2x17x2x3xf32>) -> tensor<34x6xf32>
  return %f : tensor<34x6xf32>
}
}
