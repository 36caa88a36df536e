// RUN: tsp-opt %s -tsp-lower-fused-kernels -verify-diagnostics

func.func private @unknown_op(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  // expected-error@+1 {{'stablehlo.optimization_barrier' op cannot be compiled: no kernel can hold this op; import should have refused or rewritten it}}
  %0 = stablehlo.optimization_barrier %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
