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
