// RUN: tsp-opt %s --tsp-select-schedule=remarks --verify-diagnostics --split-input-file | FileCheck %s
// RUN: tsp-opt %s "--tsp-select-schedule=schedule=broadcast prefetch=0" --split-input-file | FileCheck %s --check-prefix=FORCED

#t = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
  // CHECK-LABEL: module
  // CHECK: schedule = #tsp.schedule<ring>
  // FORCED: prefetch = 0 : i64, schedule = #tsp.schedule<broadcast>
  func.func public @mlp(%x: tensor<512x1024xf32> {tsp.placement = #t}, %w: tensor<1024x1024xf32> {tsp.placement = #t}) -> tensor<512x1024xf32> {
    // expected-remark@+1 {{fold over 't' (mlp, 2 steps of 4194304 bytes): broadcast 43122.4 us, ring 42949.7 us, gather 43122.4 us (above the limit of memory); taken: ring, prefetch 1}}
    %y = tsp.fold (%w) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 0>, part_sizes = array<i64: 1024>, part_starts = array<i64: 0>, part_totals = array<i64: 2048>, combines = [#tsp.combine<sum>]} : (tensor<1024x1024xf32>) -> tensor<512x1024xf32> {
    ^bb0(%g: tensor<i32>, %part: tensor<1024x1024xf32>):
      %d = stablehlo.dot_general %x, %part, contracting_dims = [1] x [0] : (tensor<512x1024xf32>, tensor<1024x1024xf32>) -> tensor<512x1024xf32>
      tsp.yield %d : tensor<512x1024xf32>
    }
    return %y : tensor<512x1024xf32>
  }
}

// -----

#t = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
  // The tokens are the same on all ranks, and so must the sum be.
  // CHECK-LABEL: module
  // CHECK: schedule = #tsp.schedule<broadcast>
  func.func public @replicated(%x: tensor<8x1024xf32>, %w: tensor<1024x1024xf32> {tsp.placement = #t}) -> tensor<8x1024xf32> {
    // expected-remark@+1 {{ring illegal (result 0 must be equal on all ranks, which would sum in different orders)}}
    %y = tsp.fold (%w) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 0>, part_sizes = array<i64: 1024>, part_starts = array<i64: 0>, part_totals = array<i64: 2048>, combines = [#tsp.combine<sum>]} : (tensor<1024x1024xf32>) -> tensor<8x1024xf32> {
    ^bb0(%g: tensor<i32>, %part: tensor<1024x1024xf32>):
      %d = stablehlo.dot_general %x, %part, contracting_dims = [1] x [0] : (tensor<8x1024xf32>, tensor<1024x1024xf32>) -> tensor<8x1024xf32>
      tsp.yield %d : tensor<8x1024xf32>
    }
    return %y : tensor<8x1024xf32>
  }
}

// -----

#t = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
  // CHECK-LABEL: module
  // CHECK: schedule = #tsp.schedule<broadcast>
  func.func public @collective(%x: tensor<512x512xf32> {tsp.placement = #t}, %w: tensor<1024x1024xf32> {tsp.placement = #t}) -> tensor<512x1024xf32> {
    // expected-remark@+1 {{ring illegal (its body holds a collective over the axis, tsp.all_gather)}}
    %y = tsp.fold (%w) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 0>, part_sizes = array<i64: 1024>, part_starts = array<i64: 0>, part_totals = array<i64: 2048>, combines = [#tsp.combine<sum>]} : (tensor<1024x1024xf32>) -> tensor<512x1024xf32> {
    ^bb0(%g: tensor<i32>, %part: tensor<1024x1024xf32>):
      %all = tsp.all_gather %x {axis = "t", dim = 1 : i64, total = 1024 : i64} : (tensor<512x512xf32>) -> tensor<512x1024xf32>
      %d = stablehlo.dot_general %all, %part, contracting_dims = [1] x [0] : (tensor<512x1024xf32>, tensor<1024x1024xf32>) -> tensor<512x1024xf32>
      tsp.yield %d : tensor<512x1024xf32>
    }
    return %y : tensor<512x1024xf32>
  }
}

// -----

#t = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
  // Many steps of few bytes: one transfer beats a latency a step.
  // CHECK-LABEL: module
  // CHECK: prefetch = 0 : i64, schedule = #tsp.schedule<gather>
  func.func public @small(%x: tensor<4x4xf32> {tsp.placement = #t}, %w: tensor<16x4xf32> {tsp.placement = #t}) -> tensor<4x4xf32> {
    // expected-remark@+1 {{ring illegal (it has 8 steps for 2 ranks)}}
    %y = tsp.fold (%w) attributes {axis = "t", steps = 8 : i64, part_dims = array<i64: 0>, part_sizes = array<i64: 4>, part_starts = array<i64: 0>, part_totals = array<i64: 32>, combines = [#tsp.combine<sum>]} : (tensor<16x4xf32>) -> tensor<4x4xf32> {
    ^bb0(%g: tensor<i32>, %part: tensor<4x4xf32>):
      %d = stablehlo.dot_general %x, %part, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      tsp.yield %d : tensor<4x4xf32>
    }
    return %y : tensor<4x4xf32>
  }
}

// -----

#t = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
  func.func public @unaligned(%x: tensor<4x3xf32> {tsp.placement = #t}, %w: tensor<5x4xf32> {tsp.placement = #t}) -> tensor<4x4xf32> {
    // expected-remark@+1 {{ring illegal (part 0 is not one whole shard a step: 3 of 9 elements in a step, 5 in a shard)}}
    %y = tsp.fold (%w) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 0>, part_sizes = array<i64: 3>, part_starts = array<i64: 0>, part_totals = array<i64: 9>, combines = [#tsp.combine<sum>]} : (tensor<5x4xf32>) -> tensor<4x4xf32> {
    ^bb0(%g: tensor<i32>, %part: tensor<3x4xf32>):
      %d = stablehlo.dot_general %x, %part, contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
      tsp.yield %d : tensor<4x4xf32>
    }
    return %y : tensor<4x4xf32>
  }
}
