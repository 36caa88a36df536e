// RUN: tsp-opt %s --tsp-plan=strategy=tsp | tsp-opt | FileCheck %s --check-prefix=TSP
// RUN: tsp-opt %s --tsp-plan=strategy=tp | FileCheck %s --check-prefix=TP
// RUN: tsp-opt %s --tsp-plan=strategy=tsp --tsp-partition | FileCheck %s --check-prefix=LOCAL

// The plan stands beside the program of all ranks, and is gone from that of one.
// A sum over a sharded dim whose result is whole is reduced.

// TSP: module attributes {{.*}}tsp.planned
// TSP-LABEL: func.func public @mlp(
// TSP-SAME: %arg0: tensor<8x6xf32> {tsp.kind = "input", tsp.placement = #tsp.placement<[<["t"]>, <[]>]>}
// TSP-SAME: %arg1: tensor<6x12xf32> {tsp.kind = "parameter", tsp.placement = #tsp.placement<[<[]>, <["t"]>]>}
// TSP: stablehlo.dot_general %arg0, %arg1, {{.*}} {tsp.fold = 0 : i64, tsp.operand_placements = [#tsp.placement<[<["t"]>, <[]>]>, #tsp.placement<[<[]>, <[], fold = "t", steps = 4>]>], tsp.result_placements = [#tsp.placement<[<["t"]>, <[], fold = "t", steps = 4>]>]} : (tensor<8x6xf32>, tensor<6x12xf32>) -> tensor<8x12xf32>
// TSP: stablehlo.tanh %0 {tsp.fold = 0 : i64
// TSP: stablehlo.dot_general {{.*}} {tsp.fold = 0 : i64, {{.*}}tsp.result_placements = [#tsp.placement<[<["t"]>, <[]>]>]}
// TSP: stablehlo.constant dense<1.000000e+00> : tensor<8x6xf32>
// TSP: stablehlo.add {{.*}} {tsp.operand_placements = [#tsp.placement<[<["t"]>, <[]>]>, #tsp.placement<[<["t"]>, <[]>]>]
// TSP: return {tsp.operand_placements = [#tsp.placement<[<["t"]>, <[]>]>]}

// TP-LABEL: func.func public @mlp(
// TP: stablehlo.dot_general {{.*}} {tsp.operand_placements = [#tsp.placement<[<[]>, <["t"]>]>, #tsp.placement<[<["t"]>, <[]>]>], tsp.result_placements = [#tsp.placement<[<[]>, <[]>]>]} : (tensor<8x12xf32>, tensor<12x6xf32>) -> tensor<8x6xf32>

// LOCAL-NOT: tsp.planned
// LOCAL-NOT: tsp.operand_placements
// LOCAL: tsp.fold(
// LOCAL-NOT: tsp.operand_placements
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func public @mlp(%x: tensor<8x6xf32> {tsp.kind = "input"}, %w: tensor<6x12xf32> {tsp.kind = "parameter"}, %u: tensor<12x6xf32> {tsp.kind = "parameter"}) -> tensor<8x6xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x12xf32>) -> tensor<8x12xf32>
  %a = stablehlo.tanh %y : tensor<8x12xf32>
  %z = stablehlo.dot_general %a, %u, contracting_dims = [1] x [0] : (tensor<8x12xf32>, tensor<12x6xf32>) -> tensor<8x6xf32>
  %one = stablehlo.constant dense<1.0> : tensor<8x6xf32>
  %r = stablehlo.add %z, %one : tensor<8x6xf32>
  return %r : tensor<8x6xf32>
}
}
