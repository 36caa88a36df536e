// Complex numbers are read: what JAX prints is printed again, from both forms.
// RUN: grep -v '^//' %s > %t.jax
// RUN: tsp-opt %s | grep . | diff %t.jax -
// RUN: tsp-opt %s -mlir-print-op-generic | tsp-opt | grep . | diff %t.jax -
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x6xf32>) -> (tensor<4x6xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.complex %arg0, %arg0 : tensor<4x6xcomplex<f32>>
    %1 = stablehlo.real %0 : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xf32>
    return %1 : tensor<4x6xf32>
  }
}
