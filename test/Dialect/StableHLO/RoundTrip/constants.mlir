// Literals, splats, hex: what JAX prints is printed again, from both forms.
// RUN: grep -v '^//' %s > %t.jax
// RUN: tsp-opt %s | grep . | diff %t.jax -
// RUN: tsp-opt %s -mlir-print-op-generic | tsp-opt | grep . | diff %t.jax -
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x6xf32>) -> (tensor<4x6xf32> {jax.result_info = "result[0]"}, tensor<4x6xf32> {jax.result_info = "result[1]"}, tensor<4x6xf32> {jax.result_info = "result[2]"}, tensor<4x6xf32> {jax.result_info = "result[3]"}) {
    %cst = stablehlo.constant dense<[[0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00], [6.000000e+00, 7.000000e+00, 8.000000e+00, 9.000000e+00, 1.000000e+01, 1.100000e+01], [1.200000e+01, 1.300000e+01, 1.400000e+01, 1.500000e+01, 1.600000e+01, 1.700000e+01], [1.800000e+01, 1.900000e+01, 2.000000e+01, 2.100000e+01, 2.200000e+01, 2.300000e+01]]> : tensor<4x6xf32>
    %cst_0 = stablehlo.constant dense<[[1.76405239, 0.400157213, 9.787380e-01, 2.24089313, 1.867558, -0.977277874], [0.950088441, -0.151357204, -0.103218853, 0.410598516, 0.144043565, 1.45427346], [0.761037707, 0.121675014, 0.443863243, 0.333674341, 1.49407911, -0.205158263], [0.313067704, -0.854095757, -2.55298972, 0.653618574, 0.864436209, -7.421650e-01]]> : tensor<4x6xf32>
    %0 = stablehlo.add %arg0, %cst : tensor<4x6xf32>
    %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %2 = stablehlo.add %arg0, %1 : tensor<4x6xf32>
    %cst_2 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %4 = stablehlo.subtract %arg0, %3 : tensor<4x6xf32>
    %5 = stablehlo.multiply %arg0, %cst_0 : tensor<4x6xf32>
    return %0, %2, %4, %5 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
  }
}
