// RUN: tsp-opt %s --pass-pipeline="builtin.module(func.func(tsp-pipeline-folds))" | FileCheck %s
// RUN: tsp-opt %s --pass-pipeline="builtin.module(func.func(tsp-pipeline-folds),tsp-plan-buffers)" | FileCheck %s --check-prefix=BUFFERS

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [3]>} {
func.func private @k(tensor<4xf32>, tensor<4x2xf32>) -> tensor<2xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>}
func.func private @q(tensor<4xf32>, tensor<4x2xf32>) -> tensor<2xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>}
func.func private @core(tensor<4xf32>, tensor<2xf32>, tensor<6xf32>) -> tensor<4xf32> attributes {tsp.kernel, tsp.tied = array<i64: 0>}

// What leads to the transfer goes first, whatever stood before it.
// CHECK-LABEL: func.func @exchange
// CHECK: tsp.fold_loop
// CHECK-SAME: ahead = 2 : i64
// CHECK: ^bb0(%{{.*}}: tensor<i32>, %[[WQ:.*]]: tensor<4x2xf32>, %[[WK:.*]]: tensor<4x2xf32>, %[[ACC:.*]]: tensor<4xf32>):
// CHECK-NEXT: %[[K:.*]] = tsp.launch @k(%arg0, %[[WK]])
// CHECK-NEXT: %[[F:.*]] = tsp.all_gather %[[K]]
// CHECK-NEXT: %[[Q:.*]] = tsp.launch @q(%arg0, %[[WQ]])
// CHECK-NEXT: %[[W:.*]] = tsp.wait %[[F]]
// CHECK-NEXT: tsp.launch @core(%[[ACC]], %[[Q]], %[[W]])

// One iteration more than steps. Over the link go the next part of what runs ahead,
// its transfer, the next part of the rest; K and its gathered form have two buffers.
// BUFFERS-LABEL: func.func @exchange
// BUFFERS: %[[Q0:.*]] = tsp.buffer.broadcast %arg1
// BUFFERS: %[[K0:.*]] = tsp.buffer.broadcast %arg2
// BUFFERS: %[[END:.*]] = arith.constant 4 : index
// BUFFERS: scf.for %[[I:.*]] = {{.*}} to %[[END]] {{.*}} iter_args(%[[KE:.*]] = %[[K0]], %[[QE:.*]] = %[[Q0]], %[[T:.*]] = %{{.*}})
// BUFFERS: scf.if
// BUFFERS: tsp.buffer.broadcast %arg2
// BUFFERS: tsp.buffer.wait %[[KE]]
// BUFFERS: arith.remui %[[I]]
// BUFFERS: tsp.buffer.launch @k
// BUFFERS: tsp.buffer.all_gather
// BUFFERS: scf.if
// BUFFERS: %[[BEFORE:.*]] = arith.subi %[[I]]
// BUFFERS: tsp.buffer.broadcast %arg1
// BUFFERS: tsp.buffer.wait %[[QE]]
// BUFFERS: arith.remui %[[BEFORE]]
// BUFFERS: tsp.buffer.launch @q
// BUFFERS: tsp.buffer.wait %[[T]]
// BUFFERS: tsp.buffer.launch @core
func.func @exchange(%x: tensor<4xf32>, %wq: tensor<4x2xf32>, %wk: tensor<4x2xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = tsp.fold_loop(%wq, %wk : tensor<4x2xf32>, tensor<4x2xf32>) iter(%y : tensor<4xf32>) attributes {axis = "t", steps = 3 : i64,
      part_dims = array<i64: 1, 1>, part_sizes = array<i64: 2, 2>, part_starts = array<i64: 0, 0>,
      part_totals = array<i64: 6, 6>, schedule = #tsp.schedule<broadcast>} -> tensor<4xf32> {
  ^bb0(%g: tensor<i32>, %pq: tensor<4x2xf32>, %pk: tensor<4x2xf32>, %acc: tensor<4xf32>):
    %q = tsp.launch @q(%x, %pq) : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<2xf32>
    %k = tsp.launch @k(%x, %pk) : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<2xf32>
    %f = tsp.all_gather %k {axis = "t", dim = 0 : i64, total = 6 : i64} : (tensor<2xf32>) -> !tsp.future<tensor<6xf32>>
    %w = tsp.wait %f : !tsp.future<tensor<6xf32>> -> tensor<6xf32>
    %o = tsp.launch @core(%acc, %q, %w) : (tensor<4xf32>, tensor<2xf32>, tensor<6xf32>) -> tensor<4xf32>
    tsp.yield %o : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// One weight for both: what else reads its part runs ahead too.
// CHECK-LABEL: func.func @shared_part
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %
// CHECK: ahead = 3 : i64
// CHECK: tsp.launch @q
// CHECK-NEXT: tsp.launch @k
// CHECK-NEXT: tsp.all_gather
// CHECK-NEXT: tsp.wait
func.func @shared_part(%x: tensor<4xf32>, %w: tensor<4x2xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = tsp.fold_loop(%w : tensor<4x2xf32>) iter(%y : tensor<4xf32>) attributes {axis = "t", steps = 3 : i64,
      part_dims = array<i64: 1>, part_sizes = array<i64: 2>, part_starts = array<i64: 0>,
      part_totals = array<i64: 6>, schedule = #tsp.schedule<broadcast>} -> tensor<4xf32> {
  ^bb0(%g: tensor<i32>, %p: tensor<4x2xf32>, %acc: tensor<4xf32>):
    %q = tsp.launch @q(%x, %p) : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<2xf32>
    %k = tsp.launch @k(%x, %p) : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<2xf32>
    %f = tsp.all_gather %k {axis = "t", dim = 0 : i64, total = 6 : i64} : (tensor<2xf32>) -> !tsp.future<tensor<6xf32>>
    %g2 = tsp.wait %f : !tsp.future<tensor<6xf32>> -> tensor<6xf32>
    %o = tsp.launch @core(%acc, %q, %g2) : (tensor<4xf32>, tensor<2xf32>, tensor<6xf32>) -> tensor<4xf32>
    tsp.yield %o : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// Without prefetch, and of what the steps carry, nothing runs ahead.
// CHECK-LABEL: func.func @no_prefetch
// CHECK-NOT: ahead =
func.func @no_prefetch(%x: tensor<4xf32>, %w: tensor<4x2xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = tsp.fold_loop(%w : tensor<4x2xf32>) iter(%y : tensor<4xf32>) attributes {axis = "t", steps = 3 : i64,
      part_dims = array<i64: 1>, part_sizes = array<i64: 2>, part_starts = array<i64: 0>, prefetch = 0 : i64,
      part_totals = array<i64: 6>, schedule = #tsp.schedule<broadcast>} -> tensor<4xf32> {
  ^bb0(%g: tensor<i32>, %p: tensor<4x2xf32>, %acc: tensor<4xf32>):
    %k = tsp.launch @k(%x, %p) : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<2xf32>
    %f = tsp.all_gather %k {axis = "t", dim = 0 : i64, total = 6 : i64} : (tensor<2xf32>) -> !tsp.future<tensor<6xf32>>
    %g2 = tsp.wait %f : !tsp.future<tensor<6xf32>> -> tensor<6xf32>
    %o = tsp.launch @core(%acc, %k, %g2) : (tensor<4xf32>, tensor<2xf32>, tensor<6xf32>) -> tensor<4xf32>
    tsp.yield %o : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
// CHECK-LABEL: func.func @carried
// CHECK-NOT: ahead =
func.func @carried(%w: tensor<4x2xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = tsp.fold_loop(%w : tensor<4x2xf32>) iter(%y : tensor<4xf32>) attributes {axis = "t", steps = 3 : i64,
      part_dims = array<i64: 1>, part_sizes = array<i64: 2>, part_starts = array<i64: 0>,
      part_totals = array<i64: 6>, schedule = #tsp.schedule<broadcast>} -> tensor<4xf32> {
  ^bb0(%g: tensor<i32>, %p: tensor<4x2xf32>, %acc: tensor<4xf32>):
    %k = tsp.launch @k(%acc, %p) : (tensor<4xf32>, tensor<4x2xf32>) -> tensor<2xf32>
    %f = tsp.all_gather %k {axis = "t", dim = 0 : i64, total = 6 : i64} : (tensor<2xf32>) -> !tsp.future<tensor<6xf32>>
    %g2 = tsp.wait %f : !tsp.future<tensor<6xf32>> -> tensor<6xf32>
    %o = tsp.launch @core(%acc, %k, %g2) : (tensor<4xf32>, tensor<2xf32>, tensor<6xf32>) -> tensor<4xf32>
    tsp.yield %o : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
}
