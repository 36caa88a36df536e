// RUN: tsp-opt %s -split-input-file --tsp-check-placements -verify-diagnostics

// Layouts and nested axes, as the checker knows them.

#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#zigzag = #tsp.placement<[#tsp.dim<["t"], layout = zigzag>, #tsp.dim<[]>]>
#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
func.func @right(%x: tensor<4x6xf32> {tsp.placement = #zigzag}) -> (tensor<8x6xf32> {tsp.placement = #whole}, tensor<2x2x6xf32> {tsp.placement = #tsp.placement<[#tsp.dim<["t"], layout = zigzag>, #tsp.dim<[]>, #tsp.dim<[]>]>}, tensor<8x3xf32> {tsp.placement = #columns}) {
  %r = stablehlo.reshape %x : (tensor<4x6xf32>) -> tensor<2x2x6xf32>
  %g = tsp.all_gather %x {axis = "t", dim = 0 : i64, layout = #tsp.layout<zigzag>, total = 8 : i64} : (tensor<4x6xf32>) -> tensor<8x6xf32>
  %e = tsp.all_to_all %x {axis = "t", split_dim = 1 : i64, split_total = 6 : i64, concat_dim = 0 : i64, concat_total = 8 : i64, concat_layout = #tsp.layout<zigzag>} : (tensor<4x6xf32>) -> tensor<8x3xf32>
  return %g, %r, %e : tensor<8x6xf32>, tensor<2x2x6xf32>, tensor<8x3xf32>
}
}

// -----

#zigzag = #tsp.placement<[#tsp.dim<["t"], layout = zigzag>, #tsp.dim<[]>]>
#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
func.func @gathered_as_contiguous(%x: tensor<4x6xf32> {tsp.placement = #zigzag}) -> (tensor<8x6xf32> {tsp.placement = #whole}) {
  // expected-error@+1 {{expected a value that is sharded in dim 0, found one that is sharded in dim 0 (zigzag)}}
  %g = tsp.all_gather %x {axis = "t", dim = 0 : i64, total = 8 : i64} : (tensor<4x6xf32>) -> tensor<8x6xf32>
  return %g : tensor<8x6xf32>
}
}

// -----

#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#zigzag = #tsp.placement<[#tsp.dim<["t"], layout = zigzag>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
func.func @joins_two_layouts(%x: tensor<4x6xf32> {tsp.placement = #zigzag}, %y: tensor<4x6xf32> {tsp.placement = #rows}) -> (tensor<4x6xf32> {tsp.placement = #rows}) {
  // expected-error@+1 {{joins values that are sharded in dim 0 (zigzag) and sharded in dim 0}}
  %z = stablehlo.add %x, %y : tensor<4x6xf32>
  return %z : tensor<4x6xf32>
}
}

// -----

#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#zigzag = #tsp.placement<[#tsp.dim<["t"], layout = zigzag>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
func.func @another_layout_than_promised(%x: tensor<4x6xf32> {tsp.placement = #zigzag}) -> (tensor<4x6xf32> {tsp.placement = #rows}) {
  // expected-error@+1 {{expected result 0 to be sharded in dim 0, found a value that is sharded in dim 0 (zigzag)}}
  return %x : tensor<4x6xf32>
}
}

// -----

#rows = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["t"], layout = zigzag>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
func.func @contracts_two_layouts(%x: tensor<8x2xf32> {tsp.placement = #columns}, %w: tensor<2x6xf32> {tsp.placement = #rows}) -> (tensor<8x6xf32> {tsp.placement = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>}) {
  // expected-error@+1 {{contracts values that are sharded in dims that do not meet: sharded in dim 1 (zigzag) and sharded in dim 0}}
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x2xf32>, tensor<2x6xf32>) -> tensor<8x6xf32>
  %z = tsp.all_reduce %y {axis = "t"} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %z : tensor<8x6xf32>
}
}

// -----

// Axes that nest: the minor one is gathered first and scattered last.

#nested = #tsp.placement<[#tsp.dim<["d", "t"]>, #tsp.dim<[]>]>
#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["d", "t"] sizes [2, 2]>} {
func.func @minor_first(%x: tensor<2x6xf32> {tsp.placement = #nested}) -> (tensor<8x6xf32> {tsp.placement = #whole}, tensor<2x6xf32> {tsp.placement = #nested}) {
  %t = tsp.all_gather %x {axis = "t", dim = 0 : i64, total = 4 : i64} : (tensor<2x6xf32>) -> tensor<4x6xf32>
  %d = tsp.all_gather %t {axis = "d", dim = 0 : i64, total = 8 : i64} : (tensor<4x6xf32>) -> tensor<8x6xf32>
  %n = stablehlo.negate %x : tensor<2x6xf32>
  return %d, %n : tensor<8x6xf32>, tensor<2x6xf32>
}
}

// -----

#nested = #tsp.placement<[#tsp.dim<["d", "t"]>, #tsp.dim<[]>]>
#whole = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["d", "t"] sizes [2, 2]>} {
func.func @major_first(%x: tensor<2x6xf32> {tsp.placement = #nested}) -> (tensor<8x6xf32> {tsp.placement = #whole}) {
  // expected-error@+1 {{'tsp.all_gather' op (along mesh axis "d") expected a value that is sharded in dim 0, found one that is sharded in dim 0, split further over axis t}}
  %d = tsp.all_gather %x {axis = "d", dim = 0 : i64, total = 4 : i64} : (tensor<2x6xf32>) -> tensor<4x6xf32>
  %t = tsp.all_gather %d {axis = "t", dim = 0 : i64, total = 8 : i64} : (tensor<4x6xf32>) -> tensor<8x6xf32>
  return %t : tensor<8x6xf32>
}
}

// -----

#rows = #tsp.placement<[#tsp.dim<["d", "t"]>, #tsp.dim<[]>]>
#columns = #tsp.placement<[#tsp.dim<[]>, #tsp.dim<["d", "t"]>]>
module attributes {tsp.mesh = #tsp.mesh<["d", "t"] sizes [2, 2]>} {
func.func @scattered_in_another_order(%x: tensor<8x3xf32> {tsp.placement = #columns}, %w: tensor<3x6xf32> {tsp.placement = #rows}) -> (tensor<2x6xf32> {tsp.placement = #rows}) {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x3xf32>, tensor<3x6xf32>) -> tensor<8x6xf32>
  %t = tsp.reduce_scatter %y {axis = "t", dim = 0 : i64, total = 8 : i64} : (tensor<8x6xf32>) -> tensor<4x6xf32>
  %d = tsp.reduce_scatter %t {axis = "d", dim = 0 : i64, total = 4 : i64} : (tensor<4x6xf32>) -> tensor<2x6xf32>
  // expected-error@+1 {{(along mesh axis "d") expected result 0 to be sharded in dim 0, split further over axis t, found a value that is sharded in dim 0}}
  return %d : tensor<2x6xf32>
}
}
