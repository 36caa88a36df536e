// RUN: tsp-opt %s -split-input-file -verify-diagnostics

func.func @dot_general(%a: tensor<4x6xf32>, %b: tensor<5x3xf32>) {
  // expected-error @below {{expected dim 1 of lhs and dim 0 of rhs to have one size, found 6 and 5}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @dot_general_dims(%a: tensor<2x4x6xf32>, %b: tensor<2x6x3xf32>) {
  // expected-error @below {{dim 0 is twice in batching and contracting dims of lhs}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [0] x [1] : (tensor<2x4x6xf32>, tensor<2x6x3xf32>) -> tensor<2x4x3xf32>
  return
}

// -----

func.func @dot_general_result(%a: tensor<2x4x6xf32>, %b: tensor<2x6x3xf32>) {
  // expected-error @below {{expected result of type 'tensor<2x4x3xf32>', found 'tensor<2x3x4xf32>'}}
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x6xf32>, tensor<2x6x3xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @precision(%a: tensor<4x6xf32>, %b: tensor<6x3xf32>) {
  // expected-error @below {{expected DEFAULT, HIGH or HIGHEST, found 'LOW'}}
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [DEFAULT, LOW] : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @reduce(%a: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error @below {{expected result 0 of type 'tensor<4xf32>', found 'tensor<6xf32>'}}
  %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
  return
}

// -----

func.func @reduce_reducer(%a: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error @below {{expected a binary elementwise op after 'applies', found 'stablehlo.negate'}}
  %0 = stablehlo.reduce(%a init: %c) applies stablehlo.negate across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_body(%a: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error @below {{expected argument 1 of the body of type 'tensor<f32>', found 'tensor<i32>'}}
  %0 = stablehlo.reduce(%a init: %c) across dimensions = [1] : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
   reducer(%x: tensor<f32>, %y: tensor<i32>) {
    stablehlo.return %x : tensor<f32>
  }
  return
}

// -----

func.func @reduce_captures(%a: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-note @below {{required by region isolation constraints}}
  %0 = "stablehlo.reduce"(%a, %c) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    // expected-error @below {{using value defined outside the region}}
    %1 = stablehlo.add %x, %c : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_window(%a: tensor<4x6xf32>, %c: tensor<f32>) {
  // expected-error @below {{expected padding of type tensor<2x2xi64>, found 'tensor<1x2xi64>'}}
  %0 = "stablehlo.reduce_window"(%a, %c) <{window_dimensions = array<i64: 1, 6>, padding = dense<[[0, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x1xf32>
  return
}

// -----

func.func @sort(%a: tensor<4x6xf32>) {
  // expected-error @below {{expected result 0 of the body of type 'tensor<i1>', found 'tensor<f32>'}}
  %0 = "stablehlo.sort"(%a) <{dimension = 1 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @sort_dim(%a: tensor<4x6xf32>) {
  // expected-error @below {{expected dimension to be -2 to 1, found 2}}
  %0 = "stablehlo.sort"(%a) <{dimension = 2 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @top_k(%a: tensor<4x6xf32>) {
  // expected-error @below {{expected k to be 0 to 6, found 7}}
  %v, %i = chlo.top_k(%a, k = 7) : tensor<4x6xf32> -> (tensor<4x7xf32>, tensor<4x7xi32>)
  return
}
