// RUN: tsp-opt %s -split-input-file --tsp-partition -verify-diagnostics

// Plans that were edited by hand and do not fit.

#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
#parts = #tsp.placement<[#tsp.dim<[], fold = "t", steps = 2>, #tsp.dim<[]>]>
#thirds = #tsp.placement<[#tsp.dim<[], fold = "t", steps = 3>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>, tsp.planned} {
// expected-error@+1 {{expected argument 0 to have a tsp.placement; run tsp-plan first}}
func.func public @argument_without_placement(%x: tensor<6x6xf32>) -> tensor<6x6xf32> {
  return {tsp.operand_placements = [#rows]} %x : tensor<6x6xf32>
}
}

// -----

#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
#parts = #tsp.placement<[#tsp.dim<[], fold = "t", steps = 2>, #tsp.dim<[]>]>
#thirds = #tsp.placement<[#tsp.dim<[], fold = "t", steps = 3>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>, tsp.planned} {
func.func public @op_without_plan(%x: tensor<6x6xf32> {tsp.placement = #rows}) -> tensor<6x6xf32> {
  // expected-error@+1 {{expected tsp.operand_placements with 1 placements, found none}}
  %y = stablehlo.tanh %x : tensor<6x6xf32>
  return {tsp.operand_placements = [#rows]} %y : tensor<6x6xf32>
}
}

// -----

#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
#parts = #tsp.placement<[#tsp.dim<[], fold = "t", steps = 2>, #tsp.dim<[]>]>
#thirds = #tsp.placement<[#tsp.dim<[], fold = "t", steps = 3>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>, tsp.planned} {
func.func public @results_that_do_not_fit(%x: tensor<6x6xf32> {tsp.placement = #rows}) -> tensor<6x6xf32> {
  // expected-error@+1 {{expected a placement of result 0 that fits those of the others, found one that shards other dims or other parts of them}}
  %y = stablehlo.tanh %x {tsp.operand_placements = [#rows], tsp.result_placements = [#columns]} : tensor<6x6xf32>
  return {tsp.operand_placements = [#rows]} %y : tensor<6x6xf32>
}
}

// -----

#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
#parts = #tsp.placement<[#tsp.dim<[], fold = "t", steps = 2>, #tsp.dim<[]>]>
#thirds = #tsp.placement<[#tsp.dim<[], fold = "t", steps = 3>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>, tsp.planned} {
func.func public @axis_that_the_mesh_lacks(%x: tensor<6x6xf32> {tsp.placement = #rows}) -> tensor<6x6xf32> {
  // expected-error@+1 {{dim 0 of 'tensor<6x6xf32>' is sharded over "u", which the mesh #tsp.mesh<["t"] sizes[2]> lacks}}
  %y = stablehlo.tanh %x {tsp.operand_placements = [#tsp.placement<[#tsp.dim<["u"]>, #tsp.dim<[]>]>], tsp.result_placements = [#rows]} : tensor<6x6xf32>
  return {tsp.operand_placements = [#rows]} %y : tensor<6x6xf32>
}
}

// -----

#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
#parts = #tsp.placement<[#tsp.dim<[], fold = "t", steps = 2>, #tsp.dim<[]>]>
#thirds = #tsp.placement<[#tsp.dim<[], fold = "t", steps = 3>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>, tsp.planned} {
func.func public @dim_that_must_be_whole(%x: tensor<6x6xf32> {tsp.placement = #rows}) -> tensor<6x6xf32> {
  // expected-error@+1 {{expected a dim of 6 elements to be whole, found it sharded}}
  %y = stablehlo.reverse %x, dims = [0] {tsp.operand_placements = [#rows], tsp.result_placements = [#rows]} : tensor<6x6xf32>
  return {tsp.operand_placements = [#rows]} %y : tensor<6x6xf32>
}
}

// -----

#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
#parts = #tsp.placement<[#tsp.dim<[], fold = "t", steps = 2>, #tsp.dim<[]>]>
#thirds = #tsp.placement<[#tsp.dim<[], fold = "t", steps = 3>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>, tsp.planned} {
func.func public @fold_without_number(%x: tensor<6x6xf32> {tsp.placement = #rows}) -> tensor<6x6xf32> {
  // expected-error@+1 {{expected a number of a fold (tsp.fold) where a dim is folded and only there, found none}}
  %y = stablehlo.tanh %x {tsp.operand_placements = [#parts], tsp.result_placements = [#parts]} : tensor<6x6xf32>
  return {tsp.operand_placements = [#rows]} %y : tensor<6x6xf32>
}
}

// -----

#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
#parts = #tsp.placement<[#tsp.dim<[], fold = "t", steps = 2>, #tsp.dim<[]>]>
#thirds = #tsp.placement<[#tsp.dim<[], fold = "t", steps = 3>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>, tsp.planned} {
func.func public @folds_of_other_steps(%x: tensor<6x6xf32> {tsp.placement = #rows}) -> tensor<6x6xf32> {
  %y = stablehlo.tanh %x {tsp.fold = 0 : i64, tsp.operand_placements = [#parts], tsp.result_placements = [#parts]} : tensor<6x6xf32>
  // expected-error@+1 {{expected fold 0 to be one of 2 steps over axis "t" of 2 units as in the ops before, found 3 steps over "t" of 3 units}}
  %z = stablehlo.tanh %x {tsp.fold = 0 : i64, tsp.operand_placements = [#thirds], tsp.result_placements = [#thirds]} : tensor<6x6xf32>
  return {tsp.operand_placements = [#rows]} %y : tensor<6x6xf32>
}
}
