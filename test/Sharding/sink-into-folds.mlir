// RUN: tsp-opt %s --tsp-sink-into-folds --canonicalize --split-input-file | FileCheck %s

// Quantised weights are fetched as they are; a scale for each sharded column is
// fetched too, one for each row is read.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x4xbf16>, %[[Q:[^:]*]]: tensor<4x6xi8>, %[[S:[^:]*]]: tensor<6xbf16>, %[[R:[^:]*]]: tensor<4xbf16>
// CHECK: tsp.fold(%[[Q]], %[[S]])
// CHECK-SAME: part_dims = array<i64: 1, 0>, part_sizes = array<i64: 3, 3>, part_starts = array<i64: 6, 6>, part_totals = array<i64: 12, 12>
// CHECK-SAME: (tensor<4x6xi8>, tensor<6xbf16>)
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<i32>, %[[PART:.*]]: tensor<4x3xi8>, %[[SCALES:.*]]: tensor<3xbf16>):
// CHECK-DAG: %[[ROWS:.*]] = stablehlo.broadcast_in_dim %[[R]], dims = [0] : (tensor<4xbf16>) -> tensor<4x3xbf16>
// CHECK-DAG: %[[WIDE:.*]] = stablehlo.broadcast_in_dim %[[SCALES]], dims = [1] : (tensor<3xbf16>) -> tensor<4x3xbf16>
// CHECK-DAG: %[[C:.*]] = stablehlo.convert %[[PART]] : (tensor<4x3xi8>) -> tensor<4x3xbf16>
// CHECK: %[[T:.*]] = stablehlo.multiply %[[C]], %[[WIDE]]
// CHECK: %[[W:.*]] = stablehlo.multiply %[[T]], %[[ROWS]]
// CHECK: stablehlo.dot_general %[[X]], %[[W]]
func.func @columns(%x: tensor<2x4xbf16>, %q: tensor<4x6xi8>, %s: tensor<6xbf16>, %r: tensor<4xbf16>) -> tensor<2x6xbf16> {
  %c = stablehlo.convert %q : (tensor<4x6xi8>) -> tensor<4x6xbf16>
  %b = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<6xbf16>) -> tensor<4x6xbf16>
  %rows = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<4xbf16>) -> tensor<4x6xbf16>
  %t = stablehlo.multiply %c, %b : tensor<4x6xbf16>
  %w = stablehlo.multiply %t, %rows : tensor<4x6xbf16>
  %y = tsp.fold (%w) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 3>, part_starts = array<i64: 6>, part_totals = array<i64: 12>, combines = [#tsp.concat<1>]} : (tensor<4x6xbf16>) -> tensor<2x6xbf16> {
  ^bb0(%g: tensor<i32>, %part: tensor<4x3xbf16>):
    %d = stablehlo.dot_general %x, %part, contracting_dims = [1] x [0] : (tensor<2x4xbf16>, tensor<4x3xbf16>) -> tensor<2x3xbf16>
    tsp.yield %d : tensor<2x3xbf16>
  }
  return %y : tensor<2x6xbf16>
}

// -----

// Constants shrink with the part; the other part stays.
// CHECK-LABEL: func.func @constant
// CHECK: %[[HALF:.*]] = stablehlo.constant dense<5.000000e-01> : tensor<3x4xf32>
// CHECK: tsp.fold(%arg2, %arg1)
// CHECK-SAME: part_dims = array<i64: 1, 0>
// CHECK: %[[C:.*]] = stablehlo.convert %{{.*}} : (tensor<3x4xf8E4M3FN>) -> tensor<3x4xf32>
// CHECK: stablehlo.multiply %[[C]], %[[HALF]]
func.func @constant(%x: tensor<2x5xf32>, %q: tensor<6x4xf8E4M3FN>, %v: tensor<5x6xf32>) -> tensor<2x4xf32> {
  %half = stablehlo.constant dense<5.0e-01> : tensor<6x4xf32>
  %c = stablehlo.convert %q : (tensor<6x4xf8E4M3FN>) -> tensor<6x4xf32>
  %w = stablehlo.multiply %c, %half : tensor<6x4xf32>
  %y = tsp.fold (%v, %w) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1, 0>, part_sizes = array<i64: 3, 3>, part_starts = array<i64: 0, 0>, part_totals = array<i64: 12, 12>, combines = [#tsp.combine<sum>]} : (tensor<5x6xf32>, tensor<6x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<5x3xf32>, %b: tensor<3x4xf32>):
    %h = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] : (tensor<2x5xf32>, tensor<5x3xf32>) -> tensor<2x3xf32>
    %d = stablehlo.dot_general %h, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    tsp.yield %d : tensor<2x4xf32>
  }
  return %y : tensor<2x4xf32>
}

// -----

// Not what takes as many bytes: weights that are converted to a narrower type are
// converted before.
// CHECK-LABEL: func.func @narrowed
// CHECK: %[[W:.*]] = stablehlo.convert
// CHECK: tsp.fold(%[[W]])
func.func @narrowed(%x: tensor<2x4xbf16>, %m: tensor<4x6xf32>) -> tensor<2x12xbf16> {
  %w = stablehlo.convert %m : (tensor<4x6xf32>) -> tensor<4x6xbf16>
  %y = tsp.fold (%w) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 6>, part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [#tsp.concat<1>]} : (tensor<4x6xbf16>) -> tensor<2x12xbf16> {
  ^bb0(%g: tensor<i32>, %part: tensor<4x6xbf16>):
    %d = stablehlo.dot_general %x, %part, contracting_dims = [1] x [0] : (tensor<2x4xbf16>, tensor<4x6xbf16>) -> tensor<2x6xbf16>
    tsp.yield %d : tensor<2x6xbf16>
  }
  return %y : tensor<2x12xbf16>
}

// -----

// Nor what a rank computes from its own place: the others would take theirs.
// CHECK-LABEL: func.func @place
// CHECK: %[[W:.*]] = stablehlo.multiply
// CHECK: tsp.fold(%[[W]])
func.func @place(%x: tensor<2x4xbf16>, %q: tensor<4x6xi8>) -> tensor<2x12xbf16> {
  %c = stablehlo.convert %q : (tensor<4x6xi8>) -> tensor<4x6xbf16>
  %i = tsp.axis_index "t" : tensor<i32>
  %s = stablehlo.convert %i : (tensor<i32>) -> tensor<bf16>
  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<bf16>) -> tensor<4x6xbf16>
  %w = stablehlo.multiply %c, %b : tensor<4x6xbf16>
  %y = tsp.fold (%w) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 6>, part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [#tsp.concat<1>]} : (tensor<4x6xbf16>) -> tensor<2x12xbf16> {
  ^bb0(%g: tensor<i32>, %part: tensor<4x6xbf16>):
    %d = stablehlo.dot_general %x, %part, contracting_dims = [1] x [0] : (tensor<2x4xbf16>, tensor<4x6xbf16>) -> tensor<2x6xbf16>
    tsp.yield %d : tensor<2x6xbf16>
  }
  return %y : tensor<2x12xbf16>
}
