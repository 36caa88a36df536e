// RUN: tsp-opt %s --tsp-expand-folds --split-input-file | FileCheck %s

// A contraction that goes straight into the sum gives f32; one rounding at the end.
// CHECK-LABEL: func.func public @sum_bf16
// CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<8x6xf32>
// CHECK: %[[R:.*]] = tsp.fold_loop(%arg1 : tensor<4x6xbf16>) iter(%[[ZERO]] : tensor<8x6xf32>)
// CHECK-SAME: schedule = #tsp.schedule<broadcast>
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %[[W:.*]]: tensor<4x6xbf16>, %[[ACC:.*]]: tensor<8x6xf32>):
// CHECK: %[[D:.*]] = stablehlo.dot_general %arg0, %[[W]], {{.*}} -> tensor<8x6xf32>
// CHECK: %[[S:.*]] = stablehlo.add %[[ACC]], %[[D]] : tensor<8x6xf32>
// CHECK: tsp.yield %[[S]]
// CHECK: %[[Y:.*]] = stablehlo.convert %[[R]] : (tensor<8x6xf32>) -> tensor<8x6xbf16>
// CHECK: return %[[Y]]
func.func public @sum_bf16(%x: tensor<8x4xbf16>, %w: tensor<4x6xbf16>) -> tensor<8x6xbf16> {
  %y = tsp.fold (%w) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 0>, part_sizes = array<i64: 4>, part_starts = array<i64: 0>, part_totals = array<i64: 8>, combines = [#tsp.combine<sum>]} : (tensor<4x6xbf16>) -> tensor<8x6xbf16> {
  ^bb0(%g: tensor<i32>, %part: tensor<4x6xbf16>):
    %d = stablehlo.dot_general %x, %part, contracting_dims = [1] x [0] : (tensor<8x4xbf16>, tensor<4x6xbf16>) -> tensor<8x6xbf16>
    tsp.yield %d : tensor<8x6xbf16>
  }
  return %y : tensor<8x6xbf16>
}

// -----

// Another producer is converted; the schedule that was chosen stays.
// CHECK-LABEL: func.func public @sum_converted
// CHECK: tsp.fold_loop
// CHECK-SAME: prefetch = 2
// CHECK-SAME: schedule = #tsp.schedule<ring>
// CHECK: %[[N:.*]] = stablehlo.negate
// CHECK: %[[C:.*]] = stablehlo.convert %[[N]] : (tensor<4x6xbf16>) -> tensor<4x6xf32>
// CHECK: stablehlo.add %{{.*}}, %[[C]]
func.func public @sum_converted(%w: tensor<4x6xbf16>) -> tensor<4x6xbf16> {
  %y = tsp.fold (%w) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 0>, part_sizes = array<i64: 4>, part_starts = array<i64: 0>, part_totals = array<i64: 8>, combines = [#tsp.combine<sum>], schedule = #tsp.schedule<ring>, prefetch = 2 : i64} : (tensor<4x6xbf16>) -> tensor<4x6xbf16> {
  ^bb0(%g: tensor<i32>, %part: tensor<4x6xbf16>):
    %d = stablehlo.negate %part : tensor<4x6xbf16>
    tsp.yield %d : tensor<4x6xbf16>
  }
  return %y : tensor<4x6xbf16>
}

// -----

// CHECK-LABEL: func.func public @max_min_concat
// CHECK-DAG: stablehlo.constant dense<0xFF800000> : tensor<4x6xf32>
// CHECK-DAG: stablehlo.constant dense<2147483647> : tensor<4x6xi32>
// CHECK-DAG: tsp.undefined : tensor<4x12xf32>
// CHECK: ^bb0(%[[G:.*]]: tensor<i32>, %[[P:.*]]: tensor<4x6xf32>, %[[MAX:.*]]: tensor<4x6xf32>, %[[MIN:.*]]: tensor<4x6xi32>, %[[ALL:.*]]: tensor<4x12xf32>):
// CHECK: %[[A:.*]] = stablehlo.maximum %[[MAX]], %[[P]]
// CHECK: %[[B:.*]] = stablehlo.minimum %[[MIN]], %{{.*}}
// CHECK: %[[SIX:.*]] = stablehlo.constant dense<6> : tensor<i32>
// CHECK: %[[AT:.*]] = stablehlo.multiply %[[G]], %[[SIX]]
// CHECK: %[[C:.*]] = stablehlo.dynamic_update_slice %[[ALL]], %[[P]], %{{.*}}, %[[AT]]
// CHECK: tsp.yield %[[A]], %[[B]], %[[C]]
func.func public @max_min_concat(%w: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xi32>, tensor<4x12xf32>) {
  %y:3 = tsp.fold (%w) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 6>, part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [#tsp.combine<max>, #tsp.combine<min>, #tsp.concat<1>]} : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xi32>, tensor<4x12xf32>) {
  ^bb0(%g: tensor<i32>, %part: tensor<4x6xf32>):
    %i = stablehlo.convert %part : (tensor<4x6xf32>) -> tensor<4x6xi32>
    tsp.yield %part, %i, %part : tensor<4x6xf32>, tensor<4x6xi32>, tensor<4x6xf32>
  }
  return %y#0, %y#1, %y#2 : tensor<4x6xf32>, tensor<4x6xi32>, tensor<4x12xf32>
}

// -----

// Pairs: the lowest index wins a tie, and NaN is greatest.
// CHECK-LABEL: func.func public @argmax
// CHECK: stablehlo.compare GT
// CHECK: stablehlo.compare EQ
// CHECK: stablehlo.compare LT
// CHECK: %[[V:.*]] = stablehlo.select
// CHECK: %[[I:.*]] = stablehlo.select
// CHECK: tsp.yield %[[V]], %[[I]]
func.func public @argmax(%w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %y:2 = tsp.fold (%w) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 0>, part_sizes = array<i64: 4>, part_starts = array<i64: 0>, part_totals = array<i64: 8>, combines = [#tsp.combine<argmax>, #tsp.combine<argmax>]} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi32>) {
  ^bb0(%g: tensor<i32>, %part: tensor<4xf32>):
    %i = stablehlo.iota dim = 0 : tensor<4xi32>
    tsp.yield %part, %i : tensor<4xf32>, tensor<4xi32>
  }
  return %y#0, %y#1 : tensor<4xf32>, tensor<4xi32>
}

// -----

// The sum of outputs is in the type of lse.
// CHECK-LABEL: func.func public @lse
// CHECK: iter(%{{.*}}, %{{.*}} : tensor<1x2x4x8xf32>, tensor<1x2x4xf32>)
// CHECK: %[[M:.*]] = stablehlo.maximum
// CHECK: stablehlo.select
// CHECK: stablehlo.exponential
// CHECK: stablehlo.log
// CHECK: tsp.yield
// CHECK: stablehlo.convert %{{.*}} : (tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xbf16>
func.func public @lse(%o: tensor<1x2x4x8xbf16>, %l: tensor<1x2x4xf32>) -> (tensor<1x2x4x8xbf16>, tensor<1x2x4xf32>) {
  %y:2 = tsp.fold (%o, %l) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 1, 1>, part_sizes = array<i64: 2, 2>, part_starts = array<i64: 0, 0>, part_totals = array<i64: 4, 4>, combines = [#tsp.combine<lse>, #tsp.combine<lse>]} : (tensor<1x2x4x8xbf16>, tensor<1x2x4xf32>) -> (tensor<1x2x4x8xbf16>, tensor<1x2x4xf32>) {
  ^bb0(%g: tensor<i32>, %a: tensor<1x2x4x8xbf16>, %b: tensor<1x2x4xf32>):
    tsp.yield %a, %b : tensor<1x2x4x8xbf16>, tensor<1x2x4xf32>
  }
  return %y#0, %y#1 : tensor<1x2x4x8xbf16>, tensor<1x2x4xf32>
}

// -----

// A sum starts from what the program adds to it: a bias that is spread behind the
// fold, then the residual.
// CHECK-LABEL: func.func public @summands
// CHECK: %[[BIAS:.*]] = stablehlo.broadcast_in_dim %arg2
// CHECK: %[[START:.*]] = stablehlo.add %[[BIAS]], %arg0
// CHECK: %[[Y:.*]] = tsp.fold_loop(%arg1 : tensor<4x6xf32>) iter(%[[START]] : tensor<8x6xf32>)
// CHECK: tsp.yield
// CHECK-NOT: stablehlo.add
// CHECK: return %[[Y]]
func.func public @summands(%x: tensor<8x6xf32>, %w: tensor<4x6xf32>, %b: tensor<6xf32>, %a: tensor<8x4xf32>) -> tensor<8x6xf32> {
  %y = tsp.fold (%w) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 0>, part_sizes = array<i64: 4>, part_starts = array<i64: 0>, part_totals = array<i64: 8>, combines = [#tsp.combine<sum>]} : (tensor<4x6xf32>) -> tensor<8x6xf32> {
  ^bb0(%g: tensor<i32>, %part: tensor<4x6xf32>):
    %d = stablehlo.dot_general %a, %part, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    tsp.yield %d : tensor<8x6xf32>
  }
  %bias = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<6xf32>) -> tensor<8x6xf32>
  %1 = stablehlo.add %y, %bias : tensor<8x6xf32>
  %2 = stablehlo.add %x, %1 : tensor<8x6xf32>
  return %2 : tensor<8x6xf32>
}

// -----

// What is made of the fold's other results is not there before it.
// CHECK-LABEL: func.func public @too_late
// CHECK: tsp.fold_loop
// CHECK: %[[N:.*]] = stablehlo.negate
// CHECK: %[[S:.*]] = stablehlo.add %{{.*}}, %[[N]]
// CHECK: return %[[S]]
func.func public @too_late(%w: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %y:2 = tsp.fold (%w) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 0>, part_sizes = array<i64: 4>, part_starts = array<i64: 0>, part_totals = array<i64: 8>, combines = [#tsp.combine<sum>, #tsp.combine<max>]} : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  ^bb0(%g: tensor<i32>, %part: tensor<4x6xf32>):
    tsp.yield %part, %part : tensor<4x6xf32>, tensor<4x6xf32>
  }
  %n = stablehlo.negate %y#1 : tensor<4x6xf32>
  %1 = stablehlo.add %y#0, %n : tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// -----

// A lone lse is a log-sum-exp: m + log(exp(a - m) + exp(b - m)).
// CHECK-LABEL: func.func public @log_sum_exp
// CHECK: iter(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>)
// CHECK: stablehlo.maximum
// CHECK-COUNT-2: stablehlo.exponential
// CHECK: stablehlo.log
// CHECK: stablehlo.maximum
// CHECK: tsp.yield
func.func public @log_sum_exp(%l: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y:2 = tsp.fold (%l) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 0>, part_sizes = array<i64: 4>, part_starts = array<i64: 0>, part_totals = array<i64: 8>, combines = [#tsp.combine<lse>, #tsp.combine<lse>]} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%g: tensor<i32>, %part: tensor<4xf32>):
    %n = stablehlo.negate %part : tensor<4xf32>
    tsp.yield %part, %n : tensor<4xf32>, tensor<4xf32>
  }
  return %y#0, %y#1 : tensor<4xf32>, tensor<4xf32>
}
