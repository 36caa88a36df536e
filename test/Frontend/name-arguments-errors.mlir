// RUN: tsp-opt %s --tsp-name-arguments -split-input-file -verify-diagnostics

// expected-error @below {{arguments 0 and 1 have the same tsp.name "x"}}
func.func public @twice(%arg0: tensor<f32> {tsp.name = "x"}, %arg1: tensor<f32> {tsp.name = "x"}) {
  return
}

// -----

// expected-error @below {{expected a string as tsp.name of argument 0, found 3 : i64}}
func.func public @no_string(%arg0: tensor<f32> {tsp.name = 3 : i64}) {
  return
}

// -----

// expected-error @below {{expected "parameter", "input" or "state" as tsp.kind of argument 0, found "weight"}}
func.func public @kind(%arg0: tensor<f32> {tsp.kind = "weight"}) {
  return
}

// -----

// expected-error @below {{argument 0 of type 'tensor<f32>' is donated to result 0, which is not there or has another type}}
func.func public @donated(%arg0: tensor<f32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<4xf32>) -> tensor<4xf32> {
  return %arg1 : tensor<4xf32>
}
