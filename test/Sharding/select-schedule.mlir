// RUN: tsp-opt %s --tsp-select-schedule=remarks --verify-diagnostics --split-input-file | FileCheck %s
// RUN: tsp-opt %s "--tsp-select-schedule=schedule=broadcast prefetch=0" --split-input-file | FileCheck %s --check-prefix=FORCED
// Another machine: twice the speed of links and of contractions, no latency, memory for all parts.
// RUN: tsp-opt %s "--tsp-select-schedule=remarks link-gbs=50 latency-us=0 gflops=100 gather-limit=10000000" --split-input-file 2>&1 | FileCheck %s --check-prefix=MACHINE
// MACHINE: fold over 't' (mlp, 2 steps of 4194304 bytes): broadcast 21558.7 us, ring 21474.8 us, gather 21558.7 us; taken: ring, prefetch 1

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

// -----

#t = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<[]>]>
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
  // A loop carries what all ranks have beside what they do not, and the last sum becomes one that they do not have.
  func.func public @loop(%n: tensor<i32>, %same: tensor<4x4xf32>, %own: tensor<4x4xf32> {tsp.placement = #t}, %w: tensor<16x4xf32> {tsp.placement = #t}) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %zeros = stablehlo.constant dense<0.0> : tensor<4x4xf32>
    %r:5 = stablehlo.while(%i = %n, %a = %same, %b = %own, %c = %zeros, %d = %zeros) : tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
    cond {
      %p = stablehlo.compare GT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %next = stablehlo.subtract %i, %one : tensor<i32>
      %c1 = stablehlo.add %c, %b : tensor<4x4xf32>
      %d1 = stablehlo.add %d, %c : tensor<4x4xf32>
      stablehlo.return %next, %a, %b, %c1, %d1 : tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
    }
    // expected-remark@+1 {{ring illegal (result 0 must be equal on all ranks, which would sum in different orders)}}
    %y = tsp.fold (%w) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 0>, part_sizes = array<i64: 16>, part_starts = array<i64: 0>, part_totals = array<i64: 32>, combines = [#tsp.combine<sum>]} : (tensor<16x4xf32>) -> tensor<4x4xf32> {
    ^bb0(%g: tensor<i32>, %part: tensor<16x4xf32>):
      %first = stablehlo.slice %part [0:4, 0:4] : (tensor<16x4xf32>) -> tensor<4x4xf32>
      %m = stablehlo.dot_general %r#1, %first, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      tsp.yield %m : tensor<4x4xf32>
    }
    // expected-remark@+1 {{broadcast 10.0 us, ring 5.0 us, gather 5.0 us; taken: ring}}
    %z = tsp.fold (%w) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 0>, part_sizes = array<i64: 16>, part_starts = array<i64: 0>, part_totals = array<i64: 32>, combines = [#tsp.combine<sum>]} : (tensor<16x4xf32>) -> tensor<4x4xf32> {
    ^bb0(%g: tensor<i32>, %part: tensor<16x4xf32>):
      %first = stablehlo.slice %part [0:4, 0:4] : (tensor<16x4xf32>) -> tensor<4x4xf32>
      %m = stablehlo.dot_general %r#4, %first, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      tsp.yield %m : tensor<4x4xf32>
    }
    return %y, %z : tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// A fold without parts moves only what its body does, whatever is asked for.
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
  // CHECK-LABEL: module
  // CHECK: tsp.fold()
  // CHECK-SAME: schedule = #tsp.schedule<broadcast>, steps = 4
  func.func public @slices(%x: tensor<8xf32>) -> tensor<8xf32> {
    %y = tsp.fold () attributes {axis = "t", steps = 4 : i64, part_dims = array<i64>, part_sizes = array<i64>, part_starts = array<i64>, part_totals = array<i64>, combines = [#tsp.concat<0>]} : () -> tensor<8xf32> {
    ^bb0(%g: tensor<i32>):
      %d = stablehlo.dynamic_slice %x, %g, sizes = [2] : (tensor<8xf32>, tensor<i32>) -> tensor<2xf32>
      tsp.yield %d : tensor<2xf32>
    }
    return %y : tensor<8xf32>
  }
}
