// RUN: tsp-opt %s --tsp-form-kernels --split-input-file --verify-diagnostics

func.func public @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.optimization_barrier' can be neither computed by a kernel nor run by the host program: it should have been rewritten before kernels are formed}}
  %y = stablehlo.optimization_barrier %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func public @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error@+1 {{'stablehlo.negate' needs a static shape to be computed by a kernel, found 'tensor<?xf32>'}}
  %y = stablehlo.negate %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
