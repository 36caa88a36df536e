// RUN: tsp-opt %s -split-input-file --tsp-check-placements -verify-diagnostics

#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @nonlinear(%x: tensor<8x3xf32> {tsp.placement = #columns}, %w: tensor<3x6xf32> {tsp.placement = #rows}) -> (tensor<8x6xf32> {tsp.placement = #whole}) {
  // expected-note@+1 {{this operand is partial (sum)}}
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x3xf32>, tensor<3x6xf32>) -> tensor<8x6xf32>
  // expected-error@+1 {{'stablehlo.tanh' op (along mesh axis "t") 'stablehlo.tanh' is not linear, and works on a partial sum}}
  %y = stablehlo.tanh %p : tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}
}

// -----

#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @bias_counted_four_times(%x: tensor<8x3xf32> {tsp.placement = #columns}, %w: tensor<3x6xf32> {tsp.placement = #rows}, %b: tensor<8x6xf32> {tsp.placement = #whole}) -> (tensor<8x6xf32> {tsp.placement = #whole}) {
  // expected-note@+1 {{this operand is partial (sum)}}
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x3xf32>, tensor<3x6xf32>) -> tensor<8x6xf32>
  // expected-error@+1 {{'stablehlo.add' op (along mesh axis "t") adds a value that is equal on all ranks to a partial sum: it would be counted once a rank}}
  %y = stablehlo.add %p, %b : tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}
}

// -----

#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @product_of_partials(%x: tensor<8x3xf32> {tsp.placement = #columns}, %w: tensor<3x6xf32> {tsp.placement = #rows}) -> (tensor<8x6xf32> {tsp.placement = #whole}) {
  // expected-note@+1 {{this operand is partial (sum)}}
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x3xf32>, tensor<3x6xf32>) -> tensor<8x6xf32>
  // expected-error@+1 {{'stablehlo.multiply' op (along mesh axis "t") multiplies two partial sums}}
  %y = stablehlo.multiply %p, %p : tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}
}

// -----

#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @rounded_summands(%x: tensor<8x3xf32> {tsp.placement = #columns}, %w: tensor<3x6xf32> {tsp.placement = #rows}) -> (tensor<8x6xbf16> {tsp.placement = #whole}) {
  // expected-note@+1 {{this operand is partial (sum)}}
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x3xf32>, tensor<3x6xf32>) -> tensor<8x6xf32>
  // expected-error@+1 {{'stablehlo.convert' op (along mesh axis "t") rounds a partial value: the sum would be of rounded summands}}
  %y = stablehlo.convert %p : (tensor<8x6xf32>) -> tensor<8x6xbf16>
  return %y : tensor<8x6xbf16>
}
}

// -----

#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @forgotten_reduction(%x: tensor<8x3xf32> {tsp.placement = #columns}, %w: tensor<3x6xf32> {tsp.placement = #rows}) -> (tensor<8x6xf32> {tsp.placement = #whole}) {
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x3xf32>, tensor<3x6xf32>) -> tensor<8x6xf32>
  // expected-error@+1 {{'func.return' op (along mesh axis "t") expected result 0 to be equal on all ranks, found a value that is partial (sum)}}
  return %p : tensor<8x6xf32>
}
}

// -----

#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @reduced_twice(%b: tensor<8x6xf32> {tsp.placement = #whole}) -> (tensor<8x6xf32> {tsp.placement = #whole}) {
  // expected-error@+1 {{'tsp.all_reduce' op (along mesh axis "t") expected a value that is partial (sum), found one that is equal on all ranks}}
  %y = tsp.all_reduce %b {axis = "t"} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}
}

// -----

#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @gathers_another_dim(%x: tensor<8x3xf32> {tsp.placement = #columns}) -> (tensor<30x3xf32> {tsp.placement = #whole}) {
  // expected-error@+1 {{'tsp.all_gather' op (along mesh axis "t") expected a value that is sharded in dim 0, found one that is sharded in dim 1}}
  %g = tsp.all_gather %x {axis = "t", dim = 0 : i64, total = 30 : i64} : (tensor<8x3xf32>) -> tensor<30x3xf32>
  return %g : tensor<30x3xf32>
}
}

// -----

#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @contracts_with_a_replica(%x: tensor<8x3xf32> {tsp.placement = #columns}, %w: tensor<3x6xf32> {tsp.placement = #whole}) -> (tensor<8x6xf32> {tsp.placement = #whole}) {
  // expected-error@+1 {{'stablehlo.dot_general' op (along mesh axis "t") contracts a sharded dim with a value that is equal on all ranks}}
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x3xf32>, tensor<3x6xf32>) -> tensor<8x6xf32>
  return %p : tensor<8x6xf32>
}
}

// -----

#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @dims_do_not_meet(%x: tensor<8x3xf32> {tsp.placement = #columns}, %w: tensor<3x6xf32> {tsp.placement = #columns}) -> (tensor<8x6xf32> {tsp.placement = #whole}) {
  // expected-error@+1 {{'stablehlo.dot_general' op (along mesh axis "t") contracts values that are sharded in dims that do not meet: sharded in dim 1 and sharded in dim 1}}
  %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x3xf32>, tensor<3x6xf32>) -> tensor<8x6xf32>
  return %p : tensor<8x6xf32>
}
}

// -----

#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @joins_two_dims(%x: tensor<8x6xf32> {tsp.placement = #rows}, %z: tensor<8x6xf32> {tsp.placement = #columns}) -> (tensor<8x6xf32> {tsp.placement = #whole}) {
  // expected-error@+1 {{'stablehlo.add' op (along mesh axis "t") joins values that are sharded in dim 0 and sharded in dim 1}}
  %y = stablehlo.add %x, %z : tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}
}

// -----

#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @positions_of_rank_0(%x: tensor<2x6xf32> {tsp.placement = #rows}) -> (tensor<2x6xf32> {tsp.placement = #rows}) {
  %i = stablehlo.iota dim = 0 : tensor<2x6xf32>
  // expected-error@+1 {{'stablehlo.add' op (along mesh axis "t") joins a value that is sharded in dim 0 with one that varies along the dim and is equal on all ranks}}
  %y = stablehlo.add %x, %i : tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}
}

// -----

#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @replicas_that_differ(%b: tensor<8x6xf32> {tsp.placement = #whole}) -> (tensor<8x6xf32> {tsp.placement = #whole}) {
  %r = tsp.axis_index "t" : tensor<i32>
  %f = stablehlo.convert %r : (tensor<i32>) -> tensor<f32>
  %g = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<8x6xf32>
  %y = stablehlo.add %b, %g : tensor<8x6xf32>
  // expected-error@+1 {{'func.return' op (along mesh axis "t") expected result 0 to be equal on all ranks, found a value that is different from rank to rank}}
  return %y : tensor<8x6xf32>
}
}

// -----

#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @another_dim_than_promised(%x: tensor<8x6xf32> {tsp.placement = #rows}) -> (tensor<8x6xf32> {tsp.placement = #columns}) {
  // expected-error@+1 {{'func.return' op (along mesh axis "t") expected result 0 to be sharded in dim 1, found a value that is sharded in dim 0}}
  return %x : tensor<8x6xf32>
}
}

// -----

#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @ranks_do_not_agree(%x: tensor<8x6xf32> {tsp.placement = #rows}) -> (tensor<f32>) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<8x6xf32>, tensor<f32>) -> tensor<8xf32>
  %one = stablehlo.slice %s [0:1] : (tensor<8xf32>) -> tensor<1xf32>
  %v = stablehlo.reshape %one : (tensor<1xf32>) -> tensor<f32>
  // expected-error@+1 {{'stablehlo.while' op (along mesh axis "t") expected ranks to agree on the way to a collective, found a predicate that is different from rank to rank}}
  %y = stablehlo.while(%i = %v) : tensor<f32>
  cond {
    %p = stablehlo.compare LT, %i, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    // expected-note@+1 {{the collective is here}}
    %n = tsp.send_recv %i {axis = "t", shift = 1 : i64} : (tensor<f32>) -> tensor<f32>
    stablehlo.return %n : tensor<f32>
  }
  return %y : tensor<f32>
}
}

// -----

#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @fold_of_a_replica(%x: tensor<2x6xf32> {tsp.placement = #rows}, %w: tensor<6x3xf32> {tsp.placement = #whole}) -> (tensor<2x6xf32> {tsp.placement = #rows}) {
  // expected-error@+1 {{'tsp.fold' op (along mesh axis "t") expected part 0 to be sharded in contiguous chunks, found it equal on all ranks}}
  %y = tsp.fold(%w) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 3>,
      part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [#tsp.combine<sum>]} : (tensor<6x3xf32>) -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>):
    tsp.yield %x : tensor<2x6xf32>
  }
  return %y : tensor<2x6xf32>
}
}
