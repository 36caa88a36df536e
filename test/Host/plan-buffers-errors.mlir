// RUN: tsp-opt %s --split-input-file --tsp-plan-buffers --verify-diagnostics

func.func @not_a_host_op(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'stablehlo.negate' op is not part of the host program; it belongs into a kernel (tsp-form-kernels)}}
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{expected arguments and results that are static tensors, found 'tensor<?xf32>'}}
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

module {
func.func @axis(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'tsp.all_reduce' op expected an axis of the mesh #tsp.mesh<[] sizes[]>, found "d"}}
  %0 = tsp.all_reduce %x {axis = "d"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
}

// -----

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
func.func @no_wait(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'tsp.all_reduce' op expected one tsp.wait for the started transfer, in the same block}}
  %0 = tsp.all_reduce %x {axis = "t"} : (tensor<4xf32>) -> !tsp.future<tensor<4xf32>>
  return %x : tensor<4xf32>
}
}
