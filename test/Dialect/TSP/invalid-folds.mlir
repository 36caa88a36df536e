// RUN: tsp-opt %s -split-input-file -verify-diagnostics

func.func @fold_c1(%x: tensor<2x6xf32>, %w: tensor<6x3xf32>) {
  // expected-error@+1 {{'tsp.fold' op (fold_c1) expected a dim, size, start and total for each of 1 parts, found 2}}
  %0 = tsp.fold(%w) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 3, 3>,
      part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [#tsp.combine<sum>]} : (tensor<6x3xf32>) -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>):
    tsp.yield %x : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_c2_shards(%x: tensor<2x6xf32>, %w: tensor<6x3xf32>) {
  // expected-error@+1 {{'tsp.fold' op (fold_c2) schedule ring needs steps that are whole shards: part 0 has 3 elements of dim 1 in a shard and 2 in a step}}
  %0 = tsp.fold(%w) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 2>,
      part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [#tsp.combine<sum>], schedule = #tsp.schedule<ring>} : (tensor<6x3xf32>) -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x2xf32>):
    tsp.yield %x : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_c2_collective(%x: tensor<2x6xf32>, %w: tensor<6x3xf32>) {
  // expected-error@+1 {{'tsp.fold' op (fold_c2) under schedule ring ranks run different parts, so the body may not hold a collective over axis "t"}}
  %0 = tsp.fold(%w) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 3>,
      part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [#tsp.combine<sum>], schedule = #tsp.schedule<ring>} : (tensor<6x3xf32>) -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>):
    // expected-note@+1 {{the collective is here}}
    %y = tsp.all_reduce %x {axis = "t"} : (tensor<2x6xf32>) -> tensor<2x6xf32>
    tsp.yield %x : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_c3_combines(%x: tensor<2x6xf32>, %w: tensor<6x3xf32>) {
  // expected-error@+1 {{'tsp.fold' op (fold_c3) expected a combine for each of 1 results, found 2}}
  %0 = tsp.fold(%w) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 3>,
      part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [#tsp.combine<sum>, #tsp.combine<sum>]} : (tensor<6x3xf32>) -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>):
    tsp.yield %x : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_c3_yield(%x: tensor<2x6xf32>, %w: tensor<6x3xf32>) {
  // expected-error@+1 {{'tsp.fold' op (fold_c3) expected 1 yielded values, found 2}}
  %0 = tsp.fold(%w) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 3>,
      part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [#tsp.combine<sum>]} : (tensor<6x3xf32>) -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>):
    tsp.yield %x, %x : tensor<2x6xf32>, tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_c3_kind(%x: tensor<2x6xf32>, %w: tensor<6x3xf32>) {
  // expected-error@+1 {{'tsp.fold' op (fold_c3) expected #tsp.combine or #tsp.concat, found 3 : i64}}
  %0 = tsp.fold(%w) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 3>,
      part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [3]} : (tensor<6x3xf32>) -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>):
    tsp.yield %x : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_c3_shape(%x: tensor<2x6xf32>, %w: tensor<6x3xf32>) {
  // expected-error@+1 {{'tsp.fold' op (fold_c3) expected a result of shape 'tensor<2x24xf32>', found 'tensor<2x6xf32>'}}
  %0 = tsp.fold(%w) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 3>,
      part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [#tsp.concat<1>]} : (tensor<6x3xf32>) -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>):
    tsp.yield %x : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_c3_concat_dim(%x: tensor<2x6xf32>, %w: tensor<6x3xf32>) {
  // expected-error@+1 {{'tsp.fold' op expected the dim of #tsp.concat in [0, 2), found 2}}
  %0 = tsp.fold(%w) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 3>,
      part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [#tsp.concat<2>]} : (tensor<6x3xf32>) -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>):
    tsp.yield %x : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_c4_steps(%x: tensor<2x6xf32>, %w: tensor<6x3xf32>) {
  // expected-error@+1 {{'tsp.fold' op (fold_c4) expected at least one step and a prefetch of 0 or more, found 0 and 1}}
  %0 = tsp.fold(%w) attributes {axis = "t", steps = 0 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 3>,
      part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [#tsp.combine<sum>]} : (tensor<6x3xf32>) -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>):
    tsp.yield %x : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_c4_prefetch(%x: tensor<2x6xf32>, %w: tensor<6x3xf32>) {
  // expected-error@+1 {{'tsp.fold' op (fold_c4) expected at least one step and a prefetch of 0 or more, found 4 and -1}}
  %0 = tsp.fold(%w) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 3>,
      part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [#tsp.combine<sum>], prefetch = -1 : i64} : (tensor<6x3xf32>) -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>):
    tsp.yield %x : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_c5_too_few(%x: tensor<2x6xf32>, %w: tensor<6x3xf32>) {
  // expected-error@+1 {{'tsp.fold' op (fold_c5) expected a block argument for the part number and for each of 1 parts, found 1}}
  %0 = tsp.fold(%w) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 3>,
      part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [#tsp.combine<sum>]} : (tensor<6x3xf32>) -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>):
    tsp.yield %x : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_c5_too_many(%x: tensor<2x6xf32>, %w: tensor<6x3xf32>) {
  // expected-error@+1 {{'tsp.fold' op (fold_c5) expected 2 block arguments, found 3}}
  %0 = tsp.fold(%w) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 3>,
      part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [#tsp.combine<sum>]} : (tensor<6x3xf32>) -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>, %b: tensor<6x3xf32>):
    tsp.yield %x : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_c5_number(%x: tensor<2x6xf32>, %w: tensor<6x3xf32>) {
  // expected-error@+1 {{'tsp.fold' op (fold_c5) expected block argument 0 of type 'tensor<i32>', found 'tensor<i64>'}}
  %0 = tsp.fold(%w) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 3>,
      part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [#tsp.combine<sum>]} : (tensor<6x3xf32>) -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i64>, %a: tensor<6x3xf32>):
    tsp.yield %x : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_c5_part(%x: tensor<2x6xf32>, %w: tensor<6x3xf32>) {
  // expected-error@+1 {{'tsp.fold' op (fold_c5) expected block argument 1 of type 'tensor<6x3xf32>', found 'tensor<6x2xf32>'}}
  %0 = tsp.fold(%w) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 3>,
      part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [#tsp.combine<sum>]} : (tensor<6x3xf32>) -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x2xf32>):
    tsp.yield %x : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_c6(%x: tensor<2x6xf32>, %w: tensor<6x3xf32>) {
  // expected-error@+1 {{'tsp.fold' op (fold_c6) expected part 0 to stay inside its 12 elements, found [1, 13)}}
  %0 = tsp.fold(%w) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>, part_sizes = array<i64: 3>,
      part_starts = array<i64: 1>, part_totals = array<i64: 12>, combines = [#tsp.combine<sum>]} : (tensor<6x3xf32>) -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>):
    tsp.yield %x : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_part_dim(%x: tensor<2x6xf32>, %w: tensor<6x3xf32>) {
  // expected-error@+1 {{'tsp.fold' op expected part_dims in [0, 2), found 2}}
  %0 = tsp.fold(%w) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 2>, part_sizes = array<i64: 3>,
      part_starts = array<i64: 0>, part_totals = array<i64: 12>, combines = [#tsp.combine<sum>]} : (tensor<6x3xf32>) -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>):
    tsp.yield %x : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_loop_c1(%x: tensor<2x6xf32>, %w: tensor<6x3xf32>) {
  // expected-error@+1 {{'tsp.fold_loop' op (fold_c6) expected part 0 to stay inside its 12 elements, found [0, 15)}}
  %0 = tsp.fold_loop(%w : tensor<6x3xf32>) iter(%x : tensor<2x6xf32>) attributes {axis = "t", steps = 5 : i64, part_dims = array<i64: 1>,
      part_sizes = array<i64: 3>, part_starts = array<i64: 0>, part_totals = array<i64: 12>, schedule = #tsp.schedule<broadcast>} -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>, %c: tensor<2x6xf32>):
    tsp.yield %c : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_loop_c2(%x: tensor<2x6xf32>, %w: tensor<6x3xf32>) {
  // expected-error@+1 {{'tsp.fold_loop' op (fold_loop_c2) expected inits, carried block arguments, yielded values and results of equal types, found 'tensor<2x6xf32>'; 'tensor<2x6xf32>'; 'tensor<6x3xf32>'; 'tensor<2x6xf32>'}}
  %0 = tsp.fold_loop(%w : tensor<6x3xf32>) iter(%x : tensor<2x6xf32>) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>,
      part_sizes = array<i64: 3>, part_starts = array<i64: 0>, part_totals = array<i64: 12>, schedule = #tsp.schedule<broadcast>} -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>, %c: tensor<2x6xf32>):
    tsp.yield %a : tensor<6x3xf32>
  }
  return
}

// -----

func.func @yield_outside(%x: tensor<2xf32>) {
  // expected-error@+1 {{'tsp.yield' op expects parent op to be one of 'tsp.fold, tsp.fold_loop'}}
  tsp.yield %x : tensor<2xf32>
}

// -----

func.func @launch_c1_absent(%x: tensor<2xf32>) {
  // expected-error@+1 {{'tsp.launch' op (launch_c1) expected a kernel named @k, found nothing}}
  %0 = tsp.launch @k(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func private @k(tensor<2xf32>) -> tensor<2xf32>
func.func @launch_c1_no_kernel(%x: tensor<2xf32>) {
  // expected-error@+1 {{'tsp.launch' op (launch_c1) expected a kernel named @k, found a function that is none}}
  %0 = tsp.launch @k(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func private @k(tensor<2xf32>) -> tensor<2xf32> attributes {tsp.kernel}
func.func @launch_c2(%x: tensor<3xf32>) {
  // expected-error@+1 {{'tsp.launch' op (launch_c2) expected operands and results of the kernel's type '(tensor<2xf32>) -> tensor<2xf32>', found '(tensor<3xf32>) -> tensor<3xf32>'}}
  %0 = tsp.launch @k(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @fold_loop_c3_count(%w: tensor<6x3xf32>, %x: tensor<2x6xf32>) {
  // expected-error@+1 {{'tsp.fold_loop' op (fold_loop_c3) expected ahead to count ops of the body before its end, 0 to 0, found 1}}
  %z = tsp.fold_loop(%w : tensor<6x3xf32>) iter(%x : tensor<2x6xf32>) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>,
      part_sizes = array<i64: 3>, part_starts = array<i64: 0>, part_totals = array<i64: 12>, ahead = 1 : i64,
      schedule = #tsp.schedule<broadcast>} -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>, %c: tensor<2x6xf32>):
    tsp.yield %c : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_loop_c3_prefetch(%w: tensor<6x3xf32>, %x: tensor<2x6xf32>) {
  // expected-error@+1 {{'tsp.fold_loop' op (fold_loop_c3) expected schedule broadcast with a prefetch, or gather, for ops that run ahead, found broadcast with prefetch 0}}
  %z = tsp.fold_loop(%w : tensor<6x3xf32>) iter(%x : tensor<2x6xf32>) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>,
      part_sizes = array<i64: 3>, part_starts = array<i64: 0>, part_totals = array<i64: 12>, ahead = 1 : i64, prefetch = 0 : i64,
      schedule = #tsp.schedule<broadcast>} -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>, %c: tensor<2x6xf32>):
    %n = stablehlo.negate %a : tensor<6x3xf32>
    tsp.yield %c : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_loop_c3_carried(%w: tensor<6x3xf32>, %x: tensor<2x6xf32>) {
  %z = tsp.fold_loop(%w : tensor<6x3xf32>) iter(%x : tensor<2x6xf32>) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>,
      part_sizes = array<i64: 3>, part_starts = array<i64: 0>, part_totals = array<i64: 12>, ahead = 1 : i64,
      schedule = #tsp.schedule<broadcast>} -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>, %c: tensor<2x6xf32>):
    // expected-error@+1 {{'stablehlo.negate' op (fold_loop_c3) runs a step ahead and reads a value that the steps carry}}
    %n = stablehlo.negate %c : tensor<2x6xf32>
    tsp.yield %n : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_loop_c3_part(%w: tensor<6x3xf32>, %x: tensor<2x6xf32>) {
  %z = tsp.fold_loop(%w : tensor<6x3xf32>) iter(%x : tensor<2x6xf32>) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>,
      part_sizes = array<i64: 3>, part_starts = array<i64: 0>, part_totals = array<i64: 12>, ahead = 1 : i64,
      schedule = #tsp.schedule<broadcast>} -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>, %c: tensor<2x6xf32>):
    // expected-error@+1 {{'stablehlo.negate' op (fold_loop_c3) runs a step ahead and reads a part that later ops read too}}
    %n = stablehlo.negate %a : tensor<6x3xf32>
    %m = stablehlo.negate %a : tensor<6x3xf32>
    tsp.yield %c : tensor<2x6xf32>
  }
  return
}

// -----

func.func @fold_loop_c3_wait(%w: tensor<6x3xf32>, %x: tensor<2x6xf32>, %f: !tsp.future<tensor<4xf32>>) {
  %z = tsp.fold_loop(%w : tensor<6x3xf32>) iter(%x : tensor<2x6xf32>) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>,
      part_sizes = array<i64: 3>, part_starts = array<i64: 0>, part_totals = array<i64: 12>, ahead = 1 : i64,
      schedule = #tsp.schedule<broadcast>} -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>, %c: tensor<2x6xf32>):
    // expected-error@+1 {{'tsp.wait' op (fold_loop_c3) runs a step ahead, where nothing may be waited for}}
    %n = tsp.wait %f : !tsp.future<tensor<4xf32>> -> tensor<4xf32>
    tsp.yield %c : tensor<2x6xf32>
  }
  return
}
