// RUN: tsp-opt %s --tsp-inline-calls -split-input-file -verify-diagnostics

func.func public @recursion(%arg0: tensor<f32>) -> tensor<f32> {
  %0 = call @f(%arg0) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
// expected-error @below {{recursive calls are not supported: @f calls @g calls @f; use lax.while_loop or lax.scan}}
func.func private @f(%arg0: tensor<f32>) -> tensor<f32> {
  %0 = call @g(%arg0) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @g(%arg0: tensor<f32>) -> tensor<f32> {
  %0 = call @f(%arg0) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func private @somewhere_else(tensor<f32>) -> tensor<f32>
func.func public @declaration(%arg0: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{calls @somewhere_else, which has no body in this module; export the whole program}}
  %0 = call @somewhere_else(%arg0) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-note @below {{the function is defined here}}
func.func private @f(%arg0: tensor<f32>) -> tensor<f32> {
  return %arg0 : tensor<f32>
}
func.func public @composite_types(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expected the types of the call to be '(tensor<f32>) -> tensor<f32>'}}
  %0 = stablehlo.composite "my.op" %arg0 {decomposition = @f} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
