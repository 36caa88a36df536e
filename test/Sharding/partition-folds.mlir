// RUN: tsp-opt %s --split-input-file --pass-pipeline="builtin.module(tsp-plan{strategy=tsp},tsp-partition,canonicalize,cse,tsp-check-placements)" | FileCheck %s

// 17 columns over 2 ranks have no equal steps: one of 9, then one of 8, which starts
// where the first one ends.
// CHECK-LABEL: func.func public @two_sizes
// CHECK: %[[A:.*]] = tsp.fold(%arg1, %arg2) attributes {{.*}} part_sizes = array<i64: 9, 9>, part_starts = array<i64: 0, 0>, part_totals = array<i64: 17, 17>, {{.*}}steps = 1 : i64}
// CHECK: tensor<6x9xf32>
// CHECK: %[[B:.*]] = tsp.fold(%arg1, %arg2) attributes {{.*}} part_sizes = array<i64: 8, 8>, part_starts = array<i64: 9, 9>, part_totals = array<i64: 17, 17>, {{.*}}steps = 1 : i64}
// CHECK: tensor<6x8xf32>
// CHECK: %[[Y:.*]] = stablehlo.add %[[A]], %[[B]]
// CHECK: return %[[Y]]
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
func.func public @two_sizes(%x: tensor<8x6xf32>, %up: tensor<6x17xf32> {tsp.kind = "parameter"}, %down: tensor<17x6xf32> {tsp.kind = "parameter"}) -> tensor<8x6xf32> {
  %h = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x17xf32>) -> tensor<8x17xf32>
  %a = stablehlo.tanh %h : tensor<8x17xf32>
  %y = stablehlo.dot_general %a, %down, contracting_dims = [1] x [0] : (tensor<8x17xf32>, tensor<17x6xf32>) -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}
}

// -----

// Sums of 16 bits stay in f32 until both have been added.
// CHECK-LABEL: func.func public @rounded_once
// CHECK: %[[A:.*]] = tsp.fold{{.*}} -> tensor<4x6xf32>
// CHECK: %[[B:.*]] = tsp.fold{{.*}} -> tensor<4x6xf32>
// CHECK: %[[S:.*]] = stablehlo.add %[[A]], %[[B]] : tensor<4x6xf32>
// CHECK: stablehlo.convert %[[S]] : (tensor<4x6xf32>) -> tensor<4x6xbf16>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
func.func public @rounded_once(%x: tensor<8x6xbf16>, %up: tensor<6x17xbf16> {tsp.kind = "parameter"}, %down: tensor<17x6xbf16> {tsp.kind = "parameter"}) -> tensor<8x6xbf16> {
  %h = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0] : (tensor<8x6xbf16>, tensor<6x17xbf16>) -> tensor<8x17xbf16>
  %a = stablehlo.tanh %h : tensor<8x17xbf16>
  %y = stablehlo.dot_general %a, %down, contracting_dims = [1] x [0] : (tensor<8x17xbf16>, tensor<17x6xbf16>) -> tensor<8x6xbf16>
  return %y : tensor<8x6xbf16>
}
}

// -----

// An argmax folds with its value; a one-hot row is made in the fold, of the part.
// CHECK-LABEL: func.func public @argmax
// CHECK: tsp.fold(%arg1)
// CHECK-SAME: combines = [#tsp.combine<argmax>, #tsp.combine<argmax>, #tsp.combine<sum>]
// CHECK-SAME: steps = 2
// CHECK: stablehlo.iota dim = 1 : tensor<4x8xi32>
// CHECK-NOT: tensor<{{.*}}x16x
// CHECK: return
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
func.func public @argmax(%x: tensor<8x6xf32>, %w: tensor<6x16xf32> {tsp.kind = "parameter"}, %labels: tensor<8xi32>) -> (tensor<8xi32>, tensor<8xf32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x16xf32>) -> tensor<8x16xf32>
  %i = stablehlo.iota dim = 1 : tensor<8x16xi32>
  %r:2 = stablehlo.reduce(%s init: %low), (%i init: %zero) across dimensions = [1] : (tensor<8x16xf32>, tensor<8x16xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
   reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
    %gt = stablehlo.compare GT, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %ne = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %or = stablehlo.or %gt, %ne : tensor<i1>
    %eq = stablehlo.compare EQ, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %lt = stablehlo.compare LT, %b, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %and = stablehlo.and %eq, %lt : tensor<i1>
    %first = stablehlo.or %or, %and : tensor<i1>
    %v = stablehlo.select %or, %a, %c : tensor<i1>, tensor<f32>
    %n = stablehlo.select %first, %b, %d : tensor<i1>, tensor<i32>
    stablehlo.return %v, %n : tensor<f32>, tensor<i32>
  }
  %l = stablehlo.broadcast_in_dim %labels, dims = [0] : (tensor<8xi32>) -> tensor<8x16xi32>
  %h = stablehlo.compare EQ, %l, %i, SIGNED : (tensor<8x16xi32>, tensor<8x16xi32>) -> tensor<8x16xi1>
  %hot = stablehlo.convert %h : (tensor<8x16xi1>) -> tensor<8x16xf32>
  %p = stablehlo.multiply %hot, %s : tensor<8x16xf32>
  %t = stablehlo.reduce(%p init: %none) applies stablehlo.add across dimensions = [1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
  return %r#1, %t : tensor<8xi32>, tensor<8xf32>
}
}

// -----

// More tokens than words: the table is streamed past them, and each rank takes
// the rows of its own tokens.

// CHECK-LABEL: func.func public @few_words
// CHECK-NOT: tsp.all_gather
// CHECK: %[[X:.*]] = tsp.fold(%arg0) attributes {axis = "t", combines = [#tsp.combine<sum>], {{.*}}part_sizes = array<i64: 2>
// CHECK: ^bb0(%[[G:.*]]: tensor<i32>, %[[PART:.*]]: tensor<2x6xf32>):
// CHECK: "stablehlo.gather"(%[[PART]], %{{.*}} -> tensor<3x6xf32>
// CHECK: stablehlo.select
// CHECK: return %[[X]] : tensor<3x6xf32>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func public @few_words(%table: tensor<8x6xf32> {tsp.kind = "parameter"}, %ids: tensor<12x1xi32> {tsp.kind = "input"}) -> tensor<12x6xf32> {
  %x = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>, indices_are_sorted = false}> : (tensor<8x6xf32>, tensor<12x1xi32>) -> tensor<12x6xf32>
  return %x : tensor<12x6xf32>
}
}

// -----

// The rows of all ranks' tokens are 8 MiB: each rank looks up those of an eighth
// of them at a time, in slices of every rank's.

// CHECK-LABEL: func.func public @many_words
// CHECK: %[[X:.*]] = tsp.fold() attributes {axis = "t", combines = [#tsp.concat<0>], {{.*}}steps = 8 : i64} : () -> tensor<1024x256xf32>
// CHECK: ^bb0(%[[G:.*]]: tensor<i32>):
// CHECK: %[[SLICE:.*]] = stablehlo.dynamic_slice %arg1, %{{.*}}, sizes = [128, 1]
// CHECK: %[[IDS:.*]] = tsp.all_gather %[[SLICE]] {axis = "t", dim = 0 : i64, total = 1024 : i64}
// CHECK: "stablehlo.gather"(%arg0, %{{.*}} -> tensor<1024x256xf32>
// CHECK: %[[ROWS:.*]] = tsp.reduce_scatter %{{.*}} {axis = "t", dim = 0 : i64, total = 1024 : i64} : (tensor<1024x256xf32>) -> tensor<128x256xf32>
// CHECK: tsp.yield %[[ROWS]]
// CHECK: return %[[X]]
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [8]>} {
func.func public @many_words(%table: tensor<80000x256xf32> {tsp.kind = "parameter"}, %ids: tensor<8192x1xi32> {tsp.kind = "input"}) -> tensor<8192x256xf32> {
  %x = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 256>, indices_are_sorted = false}> : (tensor<80000x256xf32>, tensor<8192x1xi32>) -> tensor<8192x256xf32>
  return %x : tensor<8192x256xf32>
}
}
