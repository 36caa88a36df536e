// RUN: tsp-opt %s --tsp-select-schedule=schedule=mlp=ring --split-input-file --verify-diagnostics

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
  func.func public @forced(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
    // expected-error@+1 {{'tsp.fold' op cannot run under schedule ring: result 0 must be equal on all ranks, which would sum in different orders}}
    %y = tsp.fold (%w) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 0>, part_sizes = array<i64: 4>, part_starts = array<i64: 0>, part_totals = array<i64: 8>, combines = [#tsp.combine<sum>]} : (tensor<4x4xf32>) -> tensor<8x4xf32> {
    ^bb0(%g: tensor<i32>, %part: tensor<4x4xf32>):
      %d = stablehlo.dot_general %x, %part, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      tsp.yield %d : tensor<8x4xf32>
    }
    return %y : tensor<8x4xf32>
  }
}

// -----

module attributes {tsp.mesh = #tsp.mesh<["d"] sizes [2]>} {
  func.func public @no_axis(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
    // expected-error@+1 {{'tsp.fold' op expected an axis of the module's tsp.mesh, found 't'}}
    %y = tsp.fold (%w) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 0>, part_sizes = array<i64: 4>, part_starts = array<i64: 0>, part_totals = array<i64: 8>, combines = [#tsp.combine<sum>]} : (tensor<4x4xf32>) -> tensor<8x4xf32> {
    ^bb0(%g: tensor<i32>, %part: tensor<4x4xf32>):
      %d = stablehlo.dot_general %x, %part, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      tsp.yield %d : tensor<8x4xf32>
    }
    return %y : tensor<8x4xf32>
  }
}
