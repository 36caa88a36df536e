// RUN: tsp-opt %s -split-input-file -verify-diagnostics

func.func @while(%a: tensor<i32>) {
  // expected-error @below {{expected result 0 of the condition of type 'tensor<i1>', found 'tensor<i32>'}}
  %0 = stablehlo.while(%iterArg = %a) : tensor<i32>
  cond {
    stablehlo.return %iterArg : tensor<i32>
  } do {
    stablehlo.return %iterArg : tensor<i32>
  }
  return
}

// -----

func.func @while_body(%a: tensor<i32>, %p: tensor<i1>) {
  // expected-error @below {{expected the body to have 1 results, found 2}}
  %0 = stablehlo.while(%iterArg = %a) : tensor<i32>
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %iterArg, %iterArg : tensor<i32>, tensor<i32>
  }
  return
}

// -----

func.func @case(%i: tensor<i32>, %a: tensor<f32>, %b: tensor<4xf32>) {
  // expected-error @below {{expected result 0 of branch 1 of type 'tensor<f32>', found 'tensor<4xf32>'}}
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %a : tensor<f32>
  }, {
    stablehlo.return %b : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<f32>
  return
}

// -----

func.func @case_empty(%i: tensor<i32>) {
  // expected-error @below {{expected at least 1 branch, found 0}}
  "stablehlo.case"(%i) : (tensor<i32>) -> ()
  return
}

// -----

func.func @composite(%a: tensor<f32>) {
  // expected-error @below {{expected a function @nowhere in this module, found none}}
  %0 = stablehlo.composite "my.op" %a {decomposition = @nowhere} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @rng(%s: tensor<4xui32>) {
  // expected-error @below {{expected an initial_state of type tensor<2xui64>, found 'tensor<4xui32>'}}
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<4xui32>) -> (tensor<4xui32>, tensor<8xui32>)
  return
}

// -----

func.func @pretty(%a: tensor<4x4xf32>) {
  // expected-error @below {{is not supported: matrix decompositions are outside the subset}}
  %0 = stablehlo.cholesky %a, lower = true : tensor<4x4xf32>
  return
}
