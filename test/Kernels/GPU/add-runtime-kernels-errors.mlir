// RUN: tsp-opt %s --tsp-gpu-add-runtime-kernels --split-input-file --verify-diagnostics

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
func.func @pairs(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'tsp.all_reduce' op expected single values to be combined by sum, max or min, found lse}}
  %0 = tsp.all_reduce %x {axis = "t", combine = #tsp.combine<lse>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
}

// -----

// The ranks' buffers are parameters of the kernel.
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4094]>} {
func.func @many(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'tsp.all_reduce' op the cuda target combines at most 4093 ranks, found 4094 on axis "t"; reduce over two axes, one by one}}
  %0 = tsp.all_reduce %x {axis = "t"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
}
