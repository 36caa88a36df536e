func.func private @k(%q: tensor<1x8x2x32xf32>, %k: tensor<1x8x2x32xf32>) -> tensor<1x8x2x32xf32> attributes {tsp.kernel} {
  %e = stablehlo.exponential %q : tensor<1x8x2x32xf32>
  %o, %l = tsp.sdpa %e, %k, %k {scale = 1.0 : f64}
    : (tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>, tensor<1x8x2x32xf32>) -> (tensor<1x8x2x32xf32>, tensor<1x8x2xf32>)
  return %o : tensor<1x8x2x32xf32>
}
