// RUN: tsp-opt %s --tsp-expand-folds --verify-diagnostics

func.func public @lonely_argmax(%l: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'tsp.fold' op expected result 0 to be the first of a pair of results with #tsp.combine<argmax>, found no second one}}
  %y = tsp.fold (%l) attributes {axis = "t", steps = 2 : i64, part_dims = array<i64: 0>, part_sizes = array<i64: 4>, part_starts = array<i64: 0>, part_totals = array<i64: 8>, combines = [#tsp.combine<argmax>]} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<4xf32>):
    tsp.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}
