// RUN: tsp-opt %s -split-input-file --tsp-check-placements | FileCheck %s

// What the partitioner writes passes: a row-parallel product, a fold, an embedding.

#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
// CHECK-LABEL: @row_parallel
func.func @row_parallel(%x: tensor<8x6xf32> {tsp.placement = #whole}, %w: tensor<6x3xf32> {tsp.placement = #columns},
    %u: tensor<3x6xf32> {tsp.placement = #rows}, %b: tensor<8x6xf32> {tsp.placement = #whole}) -> (tensor<8x6xf32> {tsp.placement = #whole}) {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x3xf32>) -> tensor<8x3xf32>
  %a = stablehlo.tanh %h : tensor<8x3xf32>
  %p = stablehlo.dot_general %a, %u, contracting_dims = [1] x [0] : (tensor<8x3xf32>, tensor<3x6xf32>) -> tensor<8x6xf32>
  %y = tsp.all_reduce %p {axis = "t"} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %z = stablehlo.add %y, %b : tensor<8x6xf32>
  return %z : tensor<8x6xf32>
}

// CHECK-LABEL: @fold
func.func @fold(%x: tensor<2x6xf32> {tsp.placement = #rows}, %w: tensor<6x3xf32> {tsp.placement = #columns},
    %u: tensor<3x6xf32> {tsp.placement = #rows}) -> (tensor<2x6xf32> {tsp.placement = #rows}) {
  %y = tsp.fold(%w, %u) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1, 0>, part_sizes = array<i64: 3, 3>,
      part_starts = array<i64: 0, 0>, part_totals = array<i64: 12, 12>, combines = [#tsp.combine<sum>]} : (tensor<6x3xf32>, tensor<3x6xf32>) -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>, %b: tensor<3x6xf32>):
    %h = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] : (tensor<2x6xf32>, tensor<6x3xf32>) -> tensor<2x3xf32>
    %z = stablehlo.dot_general %h, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x6xf32>) -> tensor<2x6xf32>
    tsp.yield %z : tensor<2x6xf32>
  }
  return %y : tensor<2x6xf32>
}

// CHECK-LABEL: @lookup
func.func @lookup(%ids: tensor<8xi32> {tsp.placement = #tsp.placement<[#tsp.dim<[]>]>}, %table: tensor<5x6xf32> {tsp.placement = #rows})
    -> (tensor<2x6xf32> {tsp.placement = #rows}) {
  %r = tsp.axis_index "t" : tensor<i32>
  %c5 = stablehlo.constant dense<5> : tensor<i32>
  %first = stablehlo.multiply %r, %c5 : tensor<i32>
  %firsts = stablehlo.broadcast_in_dim %first, dims = [] : (tensor<i32>) -> tensor<8xi32>
  %own = stablehlo.subtract %ids, %firsts : tensor<8xi32>
  %zero = stablehlo.constant dense<0> : tensor<8xi32>
  %valid = stablehlo.compare GE, %own, %zero, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
  %rows = "stablehlo.gather"(%table, %own) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<5x6xf32>, tensor<8xi32>) -> tensor<8x6xf32>
  %mask = stablehlo.broadcast_in_dim %valid, dims = [0] : (tensor<8xi1>) -> tensor<8x6xi1>
  %none = stablehlo.constant dense<0.0> : tensor<8x6xf32>
  %summands = stablehlo.select %mask, %rows, %none : tensor<8x6xi1>, tensor<8x6xf32>
  %y = tsp.reduce_scatter %summands {axis = "t", dim = 0 : i64, total = 8 : i64} : (tensor<8x6xf32>) -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}
}
