// All element types: what JAX prints is printed again, from both forms.
// RUN: grep -v '^//' %s > %t.jax
// RUN: tsp-opt %s | grep . | diff %t.jax -
// RUN: tsp-opt %s -mlir-print-op-generic | tsp-opt | grep . | diff %t.jax -
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xbf16>, %arg1: tensor<4xf32>, %arg2: tensor<4xi4>, %arg3: tensor<4xui4>) -> (tensor<4xf32> {jax.result_info = "result[0]"}, tensor<4xf8E4M3FN> {jax.result_info = "result[1]"}, tensor<4xf8E5M2> {jax.result_info = "result[2]"}, tensor<4xi32> {jax.result_info = "result[3]"}, tensor<4xui8> {jax.result_info = "result[4]"}, tensor<4xf16> {jax.result_info = "result[5]"}, tensor<4xi1> {jax.result_info = "result[6]"}) {
    %0 = stablehlo.convert %arg0 : (tensor<4xbf16>) -> tensor<4xf32>
    %1 = stablehlo.convert %arg1 : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
    %2 = stablehlo.convert %arg1 : (tensor<4xf32>) -> tensor<4xf8E5M2>
    %3 = stablehlo.convert %arg2 : (tensor<4xi4>) -> tensor<4xi32>
    %4 = stablehlo.convert %arg3 : (tensor<4xui4>) -> tensor<4xui8>
    %5 = stablehlo.convert %arg1 : (tensor<4xf32>) -> tensor<4xf16>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %7 = stablehlo.compare NE, %arg1, %6, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %8 = stablehlo.convert %7 : tensor<4xi1>
    return %0, %1, %2, %3, %4, %5, %8 : tensor<4xf32>, tensor<4xf8E4M3FN>, tensor<4xf8E5M2>, tensor<4xi32>, tensor<4xui8>, tensor<4xf16>, tensor<4xi1>
  }
}
