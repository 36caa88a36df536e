// RUN: tsp-opt %s -split-input-file -verify-diagnostics -tsp-lower-fused-kernels -canonicalize -cse | FileCheck %s

// Bits are a function of key and counter: elements are computed apart.

// CHECK-LABEL: func.func private @philox(
// CHECK:         scf.for
// CHECK:           arith.divui
// CHECK:           arith.extui %{{.*}} : i32 to i64
// CHECK:           memref.store %{{.*}} : memref<64xi32>
func.func private @philox(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<64xui32>)
    attributes {tsp.kernel, tsp.tied = array<i64: -1, -1>} {
  %state, %bits = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<64xui32>)
  return %state, %bits : tensor<2xui64>, tensor<64xui32>
}

// -----

func.func private @long_state(%s: tensor<3xui64>) -> tensor<64xui32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  // expected-error@+1 {{its state has to be a key and a counter, tensor<2xui64>}}
  %state, %bits = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<64xui32>)
  return %bits : tensor<64xui32>
}
