// RUN: tsp-opt %s --tsp-form-kernels --split-input-file | FileCheck %s

// What stays with the host: loops, collectives, views, data, returned arguments.

// The accumulator of a fold is the buffer that its product adds to.
// CHECK-LABEL: func.func public @fold
// CHECK-NEXT: %[[INIT:.*]] = tsp.launch @k_constant_0()
// CHECK-NEXT: tsp.fold_loop
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %[[W:.*]]: tensor<4x6xf32>, %[[ACC:.*]]: tensor<8x6xf32>):
// CHECK-NEXT: %[[NEXT:.*]] = tsp.launch @k_dot_general_1(%[[ACC]], %arg0, %[[W]])
// CHECK-NEXT: tsp.yield %[[NEXT]]
// CHECK: func.func private @k_dot_general_1
// CHECK-SAME: tsp.tied = array<i64: 0>
func.func public @fold(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> tensor<8x6xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<8x6xf32>
  %y = tsp.fold_loop (%w : tensor<4x6xf32>) iter(%zero : tensor<8x6xf32>) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 0>, part_sizes = array<i64: 4>, part_starts = array<i64: 0>, part_totals = array<i64: 8>, schedule = #tsp.schedule<broadcast>} -> tensor<8x6xf32> {
  ^bb0(%g: tensor<i32>, %part: tensor<4x6xf32>, %acc: tensor<8x6xf32>):
    %d = stablehlo.dot_general %x, %part, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %s = stablehlo.add %acc, %d : tensor<8x6xf32>
    tsp.yield %s : tensor<8x6xf32>
  }
  return %y : tensor<8x6xf32>
}

// -----

// Constants from outside are computed in the kernels of a loop; scalars that the
// host reads or passes on are data.
// CHECK-LABEL: func.func public @loop
// CHECK-DAG: %[[ZERO:.*]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: stablehlo.while
// CHECK: tsp.launch @k_compare_0(%{{.*}}) : (tensor<i32>) -> tensor<i1>
// CHECK: tsp.launch @k_add_1(%{{.*}}) : (tensor<i32>) -> tensor<i32>
// CHECK: tsp.launch @k_multiply_2(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32>
func.func public @loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<4xf32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %ten, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %w = stablehlo.multiply %v, %half : tensor<4xf32>
    stablehlo.return %j, %w : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func public @data
// CHECK-NEXT: %[[TABLE:.*]] = stablehlo.constant dense<[1.0{{.*}}, 2.0{{.*}}]>
// CHECK-NEXT: %[[Y:.*]] = tsp.launch @k_add_0(%arg0, %[[TABLE]])
// CHECK-NEXT: %[[ONES:.*]] = tsp.launch @k_constant_1()
// CHECK-NEXT: return %[[Y]], %arg0, %[[Y]], %[[ONES]]
func.func public @data(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<8xf32>) {
  %table = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = stablehlo.add %x, %table : tensor<2xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<8xf32>
  return %y, %x, %y, %ones : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<8xf32>
}

// -----

// The update is computed in place; the cache is updated where it is.
// CHECK-LABEL: func.func public @cache
// CHECK-NEXT: tsp.launch @k_dynamic_update_slice_0(%arg0, %arg1, %arg2)
// CHECK: func.func private @k_dynamic_update_slice_0
// CHECK-SAME: tsp.must_tie, tsp.tied = array<i64: 0>
func.func public @cache(%cache: tensor<16x4xf32>, %new: tensor<1x4xf32>, %at: tensor<i32>) -> tensor<16x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2.0> : tensor<1x4xf32>
  %scaled = stablehlo.multiply %new, %two : tensor<1x4xf32>
  %r = stablehlo.dynamic_update_slice %cache, %scaled, %at, %zero : (tensor<16x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}

// -----

// Collectives read buffers, and what follows them is a kernel of its own.
// CHECK-LABEL: func.func public @collective
// CHECK-NEXT: %[[Y:.*]] = tsp.launch @k_multiply_0(%arg0)
// CHECK-NEXT: %[[ALL:.*]] = tsp.all_gather %[[Y]]
// CHECK-NEXT: %[[Z:.*]] = tsp.launch @k_negate_1(%[[ALL]])
// CHECK-NEXT: return %[[Z]]
func.func public @collective(%x: tensor<2x3xf32>) -> tensor<2x6xf32> {
  %two = stablehlo.constant dense<2.0> : tensor<2x3xf32>
  %y = stablehlo.multiply %x, %two : tensor<2x3xf32>
  %all = tsp.all_gather %y {axis = "t", dim = 1 : i64, total = 6 : i64} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  %z = stablehlo.negate %all : tensor<2x6xf32>
  return %z : tensor<2x6xf32>
}

// -----

// What does not depend on the step is computed once.
// CHECK-LABEL: func.func public @invariant
// CHECK-NEXT: %[[T:.*]] = tsp.launch @k_tanh_0(%arg0)
// CHECK-NEXT: tsp.fold_loop
// CHECK-NEXT: ^bb0
// CHECK-NEXT: %[[D:.*]] = tsp.launch @k_dot_general_1(%{{.*}}, %[[T]], %{{.*}})
// CHECK-NEXT: tsp.yield %[[D]]
func.func public @invariant(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>, %init: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %y = tsp.fold_loop (%w : tensor<4x6xf32>) iter(%init : tensor<8x6xf32>) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 0>, part_sizes = array<i64: 4>, part_starts = array<i64: 0>, part_totals = array<i64: 8>, schedule = #tsp.schedule<broadcast>} -> tensor<8x6xf32> {
  ^bb0(%g: tensor<i32>, %part: tensor<4x6xf32>, %acc: tensor<8x6xf32>):
    %t = stablehlo.tanh %x : tensor<8x4xf32>
    %d = stablehlo.dot_general %t, %part, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    %s = stablehlo.add %acc, %d : tensor<8x6xf32>
    tsp.yield %s : tensor<8x6xf32>
  }
  return %y : tensor<8x6xf32>
}
