// Binary and ternary ops: what JAX prints is printed again, from both forms.
// RUN: grep -v '^//' %s > %t.jax
// RUN: tsp-opt %s | grep . | diff %t.jax -
// RUN: tsp-opt %s -mlir-print-op-generic | tsp-opt | grep . | diff %t.jax -
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32>) -> (tensor<4x6xf32> {jax.result_info = "result[0]"}, tensor<4x6xf32> {jax.result_info = "result[1]"}, tensor<4x6xf32> {jax.result_info = "result[2]"}, tensor<4x6xf32> {jax.result_info = "result[3]"}, tensor<4x6xf32> {jax.result_info = "result[4]"}, tensor<4x6xf32> {jax.result_info = "result[5]"}, tensor<4x6xf32> {jax.result_info = "result[6]"}) {
    %0 = stablehlo.power %arg0, %arg1 : tensor<4x6xf32>
    %1 = stablehlo.atan2 %arg0, %arg1 : tensor<4x6xf32>
    %2 = stablehlo.remainder %arg0, %arg1 : tensor<4x6xf32>
    %3 = chlo.next_after %arg0, %arg1 : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xf32>
    %cst = stablehlo.constant dense<-1.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %6 = stablehlo.clamp %4, %arg0, %5 : tensor<4x6xf32>
    %7 = stablehlo.multiply %arg0, %arg0 : tensor<4x6xf32>
    %8 = stablehlo.multiply %7, %arg0 : tensor<4x6xf32>
    %9 = stablehlo.compare GT, %arg0, %arg1, FLOAT : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
    %10 = stablehlo.select %9, %arg0, %arg1 : tensor<4x6xi1>, tensor<4x6xf32>
    return %0, %1, %2, %3, %6, %8, %10 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
  }
}
