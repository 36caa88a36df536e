// RUN: tsp-opt %s -split-input-file --tsp-import-shardings --tsp-partition --canonicalize | FileCheck %s

// A program's own shardings, without a strategy: x by rows, a constraint by
// columns, the result by rows again.

// CHECK: module attributes {tsp.mesh = #tsp.mesh<["d", "t"] sizes[2, 4]>}
// CHECK-NOT: sdy
// CHECK-LABEL: func.func public @constraint(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x8xf32>
// CHECK: %[[E:.*]] = stablehlo.exponential %[[X]] : tensor<2x8xf32>
// CHECK: %[[A:.*]] = tsp.all_to_all %[[E]] {axis = "t", concat_dim = 0 : i64, concat_total = 8 : i64, split_dim = 1 : i64, split_total = 8 : i64} : (tensor<2x8xf32>) -> tensor<8x2xf32>
// CHECK: %[[N:.*]] = stablehlo.negate %[[A]] : tensor<8x2xf32>
// CHECK: %[[R:.*]] = tsp.all_to_all %[[N]] {axis = "t", concat_dim = 1 : i64, concat_total = 8 : i64, split_dim = 0 : i64, split_total = 8 : i64} : (tensor<8x2xf32>) -> tensor<2x8xf32>
// CHECK: return %[[R]]
sdy.mesh @mesh = <["d"=2, "t"=4]>
func.func public @constraint(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"t"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"t"}, {}]>}) {
  %0 = stablehlo.exponential %x : tensor<8x8xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{}, {"t"}]> : tensor<8x8xf32>
  %2 = stablehlo.negate %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// Two axes on one dim nest, the first being the major one: the minor one is
// gathered first. From one order to the other everything moves.

// CHECK-LABEL: func.func public @two_axes(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2xf32> {{.*}}tsp.placement = #tsp.placement<[<["d", "t"]>]>}
// CHECK: %[[E:.*]] = stablehlo.exponential %[[X]] : tensor<2xf32>
// CHECK: %[[T:.*]] = tsp.all_gather %[[E]] {axis = "t", dim = 0 : i64, total = 8 : i64} : (tensor<2xf32>) -> tensor<8xf32>
// CHECK: %[[D:.*]] = tsp.all_gather %[[T]] {axis = "d", dim = 0 : i64, total = 13 : i64, unit = 8 : i64} : (tensor<8xf32>) -> tensor<13xf32>
// CHECK: return %[[D]] : tensor<13xf32>
sdy.mesh @mesh = <["d"=2, "t"=4]>
func.func public @two_axes(%x: tensor<13xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d", "t"}]>}) -> (tensor<13xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %0 = stablehlo.exponential %x : tensor<13xf32>
  return %0 : tensor<13xf32>
}

// -----

// The minor axis alone goes to the other dim.

// CHECK-LABEL: func.func public @minor_axis_moves(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x8xf32>
// CHECK: %[[A:.*]] = tsp.all_to_all %[[X]] {axis = "t", concat_dim = 0 : i64, concat_total = 8 : i64, split_dim = 1 : i64, split_total = 8 : i64} : (tensor<2x8xf32>) -> tensor<8x2xf32>
// CHECK: return %[[A]] : tensor<8x2xf32>
sdy.mesh @mesh = <["d"=2, "t"=4]>
func.func public @minor_axis_moves(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d", "t"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}, {"t"}]>}) {
  return %x : tensor<16x8xf32>
}

// -----

// A part of an axis: the mesh gets an axis for each part, and the whole axis
// means all of them.

// CHECK: module attributes {tsp.mesh = #tsp.mesh<["d", "t.0", "t.1"] sizes[2, 2, 4]>}
// CHECK-LABEL: func.func public @parts_of_axis(
// CHECK-SAME: tsp.placement = #tsp.placement<[<["t.0"]>, <["t.1"]>]>}
// CHECK-SAME: tsp.placement = #tsp.placement<[<["d", "t.0", "t.1"]>]>}
sdy.mesh @mesh = <["d"=2, "t"=8]>
func.func public @parts_of_axis(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"t":(1)2}, {"t":(2)4}]>}, %y: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d", "t"}]>}) -> (tensor<8x8xf32>, tensor<16xf32>) {
  return %x, %y : tensor<8x8xf32>, tensor<16xf32>
}
