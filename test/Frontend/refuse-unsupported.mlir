// RUN: tsp-opt %s --tsp-refuse-unsupported -split-input-file -verify-diagnostics

// expected-error @below {{argument 0 of @dynamic, tensor<?x6xf32>, is not supported: dim 0 has no static size; export with static shapes (tsp.export makes symbolic sizes static)}}
func.func public @dynamic(%arg0: tensor<?x6xf32>) -> tensor<?x6xf32> {
  %0 = stablehlo.negate %arg0 : tensor<?x6xf32>
  return %0 : tensor<?x6xf32>
}

// -----

func.func public @complex(%arg0: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error @below {{result 0 of 'stablehlo.complex', tensor<6xcomplex<f32>>, is not supported: complex numbers are outside the subset; compute with the real and imaginary parts}}
  %0 = stablehlo.complex %arg0, %arg0 : tensor<6xcomplex<f32>>
  %1 = stablehlo.real %0 : (tensor<6xcomplex<f32>>) -> tensor<6xf32>
  return %1 : tensor<6xf32>
}

// -----

func.func public @convolution(%arg0: tensor<1x8x8x3xf32>, %arg1: tensor<3x3x3x4xf32>) -> tensor<1x8x8x4xf32> {
  // expected-error @below {{is not supported: convolutions are outside the subset; write the layer as a matrix product (a patch embedding is a reshape and a dot_general)}}
  %0 = "stablehlo.convolution"(%arg0, %arg1) : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x8x8x4xf32>
  return %0 : tensor<1x8x8x4xf32>
}

// -----

func.func public @custom_call(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{is not supported: the call of @lapack_spotrf_ffi is unknown; compute matrix decompositions before, and pass the result as an argument}}
  %0 = stablehlo.custom_call @lapack_spotrf_ffi(%arg0) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l]) {i=4, j=4, k=4, l=4}, custom>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func public @rng(%arg0: tensor<f32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<4> : tensor<1xi64>
  // expected-error @below {{is not supported: its state is hidden; use jax.random with a key}}
  %0 = stablehlo.rng %arg0, %arg0, %c, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func public @pmap(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{is not supported: devices are only known inside jax.shard_map; use it, or shardings, in place of pmap}}
  %0 = "stablehlo.collective_permute"(%arg0) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func public @dialect(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{is not supported: programs contain ops of stablehlo, chlo, sdy and func, not of arith}}
  %0 = arith.negf %arg0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func public @several(%arg0: tensor<f32>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = stablehlo.constant dense<4> : tensor<1xi64>
  // expected-error @below {{'stablehlo.rng' is not supported: its state is hidden}}
  %0 = stablehlo.rng %arg0, %arg0, %c, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  // expected-note @below {{also: 'chlo.lgamma' is not supported: the function is outside the subset; write it in plain JAX}}
  %1 = chlo.lgamma %arg1 : tensor<4xf32> -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @below {{argument 0 of @large, tensor<4611686018427387904x4xf32>, is not supported: it has more than 2^40 elements}}
func.func public @large(%arg0: tensor<4611686018427387904x4xf32>) {
  return
}
