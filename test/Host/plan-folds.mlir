// RUN: tsp-opt %s --split-input-file --tsp-plan-buffers | FileCheck %s

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [3]>} {
func.func private @zero() -> tensor<4xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>}
func.func private @one() -> tensor<4xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>}
func.func private @fma(tensor<4xf32>, tensor<4x2xf32>) -> tensor<4xf32> attributes {tsp.kernel, tsp.tied = array<i64: 0>}

// Two slots; the fetch of step i + 1 starts before step i, the first one at the
// start. The carried value is the result itself.
// CHECK-LABEL: func.func @broadcast
// CHECK: %[[E0:.*]] = tsp.buffer.broadcast %arg0 at %{{.*}} to %{{.*}} {axis = "t", dim = 1 : i64, total = 6 : i64, tsp.staging = array<i64: 128, 32>, unit = 1 : i64} : memref<4x2xf32>, memref<4x2xf32>
// CHECK: tsp.buffer.launch @zero outs(%arg1 : memref<4xf32>)
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[E:.*]] = %[[E0]]) -> (i64)
// CHECK: %[[NEXT:.*]] = scf.if
// CHECK: tsp.buffer.broadcast %arg0
// CHECK: tsp.buffer.wait %[[E]]
// CHECK: tsp.buffer.launch @fma ins(%arg1, %{{.*}}) outs(%arg1
// CHECK: scf.yield %[[NEXT]] : i64
// CHECK-NOT: tsp.buffer.copy
func.func @broadcast(%w: tensor<4x2xf32>) -> tensor<4xf32> {
  %0 = tsp.launch @zero() : () -> tensor<4xf32>
  %r = tsp.fold_loop(%w : tensor<4x2xf32>) iter(%0 : tensor<4xf32>) attributes {axis = "t", steps = 3 : i64,
      part_dims = array<i64: 1>, part_sizes = array<i64: 2>, part_starts = array<i64: 0>,
      part_totals = array<i64: 6>, schedule = #tsp.schedule<broadcast>} -> tensor<4xf32> {
  ^bb0(%g: tensor<i32>, %p: tensor<4x2xf32>, %acc: tensor<4xf32>):
    %1 = tsp.launch @fma(%acc, %p) : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<4xf32>
    tsp.yield %1 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// Step 0 uses the own shard in place, which is under way to the next rank since
// the start of the block; nothing is sent in the last step.
// CHECK-LABEL: func.func @ring
// CHECK: %[[FIRST:.*]] = tsp.buffer.send_recv %arg0 to %{{.*}} {axis = "t", shift = 1 : i64}
// CHECK: %[[RANK:.*]] = tsp.buffer.axis_index "t"
// CHECK: scf.for
// CHECK: %[[PART:.*]] = arith.select %{{.*}}, %arg0, %{{.*}} : memref<4x2xf32>
// CHECK: %[[E:.*]] = scf.if
// CHECK: tsp.buffer.send_recv %[[PART]] to %{{.*}} {axis = "t", shift = 1 : i64}
// CHECK: %[[W:.*]] = arith.select %{{.*}}, %[[FIRST]], %[[E]] : i64
// CHECK: tsp.buffer.launch @fma ins(%arg1, %[[PART]]
// CHECK: scf.if
// CHECK: tsp.buffer.wait %[[W]]
func.func @ring(%w: tensor<4x2xf32>) -> tensor<4xf32> {
  %0 = tsp.launch @zero() : () -> tensor<4xf32>
  %r = tsp.fold_loop(%w : tensor<4x2xf32>) iter(%0 : tensor<4xf32>) attributes {axis = "t", steps = 3 : i64,
      part_dims = array<i64: 1>, part_sizes = array<i64: 2>, part_starts = array<i64: 0>,
      part_totals = array<i64: 6>, schedule = #tsp.schedule<ring>} -> tensor<4xf32> {
  ^bb0(%g: tensor<i32>, %p: tensor<4x2xf32>, %acc: tensor<4xf32>):
    %1 = tsp.launch @fma(%acc, %p) : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<4xf32>
    tsp.yield %1 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// A body's own collective goes first over the link.
// CHECK-LABEL: func.func @behind
// CHECK: scf.for
// CHECK: tsp.buffer.all_reduce
// CHECK: scf.if
// CHECK: tsp.buffer.broadcast %arg0
// CHECK: tsp.buffer.launch @fma
func.func @behind(%w: tensor<4x2xf32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = tsp.fold_loop(%w : tensor<4x2xf32>) iter(%x : tensor<4xf32>) attributes {axis = "t", steps = 3 : i64,
      part_dims = array<i64: 1>, part_sizes = array<i64: 2>, part_starts = array<i64: 0>,
      part_totals = array<i64: 6>, schedule = #tsp.schedule<broadcast>} -> tensor<4xf32> {
  ^bb0(%g: tensor<i32>, %p: tensor<4x2xf32>, %acc: tensor<4xf32>):
    %s = tsp.all_reduce %acc {axis = "t"} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = tsp.launch @fma(%s, %p) : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<4xf32>
    tsp.yield %1 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// Two loops that start from one fill: each fills its own variable.
// CHECK-LABEL: func.func @fills
// CHECK: tsp.buffer.launch @zero outs(%arg1
// CHECK: tsp.buffer.launch @zero outs(%arg2
// CHECK-NOT: tsp.buffer.copy
func.func @fills(%w: tensor<4x2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tsp.launch @zero() : () -> tensor<4xf32>
  %r:2 = tsp.fold_loop(%w : tensor<4x2xf32>) iter(%0, %0 : tensor<4xf32>, tensor<4xf32>) attributes {axis = "t", steps = 3 : i64,
      part_dims = array<i64: 1>, part_sizes = array<i64: 2>, part_starts = array<i64: 0>,
      part_totals = array<i64: 6>, schedule = #tsp.schedule<broadcast>} -> tensor<4xf32>, tensor<4xf32> {
  ^bb0(%g: tensor<i32>, %p: tensor<4x2xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %1 = tsp.launch @fma(%a, %p) : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<4xf32>
    %2 = tsp.launch @fma(%b, %p) : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<4xf32>
    tsp.yield %1, %2 : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// A loop of layers: each fills its sum anew, and what the fold behind the loop
// streams is not fetched before it.
// CHECK-LABEL: func.func @layers
// CHECK-NOT: tsp.buffer.launch @zero
// CHECK: scf.while
// CHECK: do {
// CHECK: tsp.buffer.broadcast %arg0
// CHECK: tsp.buffer.launch @zero outs(%[[SUM:.*]] : memref<4xf32>)
// CHECK: scf.for
// CHECK: tsp.buffer.launch @fma ins(%[[SUM]], %{{.*}}) outs(%[[SUM]]
// CHECK: scf.yield
// CHECK: tsp.buffer.broadcast %arg1
func.func @layers(%w: tensor<4x2xf32>, %v: tensor<4x2xf32>, %n: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tsp.launch @zero() : () -> tensor<4xf32>
  %1 = tsp.launch @one() : () -> tensor<4xf32>
  %x:2 = stablehlo.while(%c = %n, %a = %1) : tensor<i1>, tensor<4xf32>
  cond {
    stablehlo.return %c : tensor<i1>
  } do {
    %r = tsp.fold_loop(%w : tensor<4x2xf32>) iter(%0 : tensor<4xf32>) attributes {axis = "t", steps = 3 : i64,
        part_dims = array<i64: 1>, part_sizes = array<i64: 2>, part_starts = array<i64: 0>,
        part_totals = array<i64: 6>, schedule = #tsp.schedule<broadcast>} -> tensor<4xf32> {
    ^bb0(%g: tensor<i32>, %p: tensor<4x2xf32>, %acc: tensor<4xf32>):
      %2 = tsp.launch @fma(%acc, %p) : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<4xf32>
      tsp.yield %2 : tensor<4xf32>
    }
    stablehlo.return %c, %r : tensor<i1>, tensor<4xf32>
  }
  %y = tsp.fold_loop(%v : tensor<4x2xf32>) iter(%1 : tensor<4xf32>) attributes {axis = "t", steps = 3 : i64,
      part_dims = array<i64: 1>, part_sizes = array<i64: 2>, part_starts = array<i64: 0>,
      part_totals = array<i64: 6>, schedule = #tsp.schedule<broadcast>} -> tensor<4xf32> {
  ^bb0(%g: tensor<i32>, %p: tensor<4x2xf32>, %acc: tensor<4xf32>):
    %2 = tsp.launch @fma(%acc, %p) : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<4xf32>
    tsp.yield %2 : tensor<4xf32>
  }
  return %x#1, %y : tensor<4xf32>, tensor<4xf32>
}

// The first fetch of the second fold starts in the last step of the first one.
// CHECK-LABEL: func.func @two_folds
// CHECK: %[[LOOP:.*]] = scf.for
// CHECK: tsp.buffer.send_recv
// CHECK: %[[FIRST:.*]] = scf.if
// CHECK: tsp.buffer.broadcast %arg1
// CHECK: tsp.buffer.launch @fma
// CHECK: scf.yield %[[FIRST]]
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[LOOP]])
func.func @two_folds(%w: tensor<4x2xf32>, %v: tensor<4x2xf32>) -> tensor<4xf32> {
  %0 = tsp.launch @zero() : () -> tensor<4xf32>
  %r = tsp.fold_loop(%w : tensor<4x2xf32>) iter(%0 : tensor<4xf32>) attributes {axis = "t", steps = 3 : i64,
      part_dims = array<i64: 1>, part_sizes = array<i64: 2>, part_starts = array<i64: 0>,
      part_totals = array<i64: 6>, schedule = #tsp.schedule<ring>} -> tensor<4xf32> {
  ^bb0(%g: tensor<i32>, %p: tensor<4x2xf32>, %acc: tensor<4xf32>):
    %1 = tsp.launch @fma(%acc, %p) : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<4xf32>
    tsp.yield %1 : tensor<4xf32>
  }
  %s = tsp.fold_loop(%v : tensor<4x2xf32>) iter(%r : tensor<4xf32>) attributes {axis = "t", steps = 3 : i64,
      part_dims = array<i64: 1>, part_sizes = array<i64: 2>, part_starts = array<i64: 0>,
      part_totals = array<i64: 6>, schedule = #tsp.schedule<broadcast>} -> tensor<4xf32> {
  ^bb0(%g: tensor<i32>, %p: tensor<4x2xf32>, %acc: tensor<4xf32>):
    %1 = tsp.launch @fma(%acc, %p) : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<4xf32>
    tsp.yield %1 : tensor<4xf32>
  }
  return %s : tensor<4xf32>
}

// A fold that streams on where another ends goes on in its two slots: the last step
// of the first fold uses number 0, so that this one begins with number 1.
// CHECK-LABEL: func.func @steps_of_two_sizes
// CHECK-SAME: at_peak = [{buffer = "slots of a fold's part", bytes = 128 : i64}, {{.*}}{buffer = "value carried
// CHECK: scf.for
// CHECK: scf.if
// CHECK: tsp.buffer.broadcast %arg0
// CHECK: scf.if
// CHECK: tsp.buffer.broadcast %arg0
// CHECK: tsp.buffer.launch @fma
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: %[[ONE:.*]] = arith.constant 1 : index
// CHECK: arith.addi %[[I]], %[[ONE]]
// CHECK: tsp.buffer.launch @fma1
func.func private @fma1(tensor<4xf32>, tensor<4x1xf32>) -> tensor<4xf32> attributes {tsp.kernel, tsp.tied = array<i64: 0>}
func.func @steps_of_two_sizes(%w: tensor<4x3xf32>) -> tensor<4xf32> {
  %0 = tsp.launch @zero() : () -> tensor<4xf32>
  %r = tsp.fold_loop(%w : tensor<4x3xf32>) iter(%0 : tensor<4xf32>) attributes {axis = "t", steps = 3 : i64,
      part_dims = array<i64: 1>, part_sizes = array<i64: 2>, part_starts = array<i64: 0>,
      part_totals = array<i64: 8>, schedule = #tsp.schedule<broadcast>} -> tensor<4xf32> {
  ^bb0(%g: tensor<i32>, %p: tensor<4x2xf32>, %acc: tensor<4xf32>):
    %1 = tsp.launch @fma(%acc, %p) : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<4xf32>
    tsp.yield %1 : tensor<4xf32>
  }
  %s = tsp.fold_loop(%w : tensor<4x3xf32>) iter(%r : tensor<4xf32>) attributes {axis = "t", steps = 2 : i64,
      part_dims = array<i64: 1>, part_sizes = array<i64: 1>, part_starts = array<i64: 6>,
      part_totals = array<i64: 8>, schedule = #tsp.schedule<broadcast>} -> tensor<4xf32> {
  ^bb0(%g: tensor<i32>, %p: tensor<4x1xf32>, %acc: tensor<4xf32>):
    %1 = tsp.launch @fma1(%acc, %p) : (tensor<4xf32>, tensor<4x1xf32>) -> tensor<4xf32>
    tsp.yield %1 : tensor<4xf32>
  }
  return %s : tensor<4xf32>
}
}

// -----

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
func.func private @k(tensor<4xf32>) -> tensor<4xf32> attributes {tsp.kernel, tsp.tied = array<i64: 0>}

// Both buffers of a transfer are busy until its wait.
// CHECK-LABEL: func.func @in_flight
// CHECK-SAME: memref<128xi8>
// CHECK: %[[E:.*]] = tsp.buffer.all_gather
// CHECK: tsp.buffer.launch @k
// CHECK: tsp.buffer.wait %[[E]]
func.func @in_flight(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tsp.launch @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %f = tsp.all_gather %0 {axis = "t", dim = 0 : i64, total = 8 : i64} : (tensor<4xf32>) -> !tsp.future<tensor<8xf32>>
  %1 = tsp.launch @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = tsp.launch @k(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %g = tsp.wait %f : !tsp.future<tensor<8xf32>> -> tensor<8xf32>
  %h = tsp.reduce_scatter %g {axis = "t", dim = 0 : i64, total = 8 : i64} : (tensor<8xf32>) -> tensor<4xf32>
  %3 = tsp.launch @k(%h) : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// An all_reduce works in place when its operand ends there.
// CHECK-LABEL: func.func @all_reduce
// CHECK: tsp.buffer.launch @k ins(%arg0 {{.*}}) outs(%arg1
// CHECK: tsp.buffer.all_reduce %arg1 to %arg1 {axis = "t", combine = #tsp.combine<sum>, tsp.staging = array<i64: 0, 64>}
func.func @all_reduce(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tsp.launch @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tsp.all_reduce %0 {axis = "t"} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
}
