// RUN: tsp-opt %s --tsp-gpu-add-runtime-kernels --split-input-file --verify-diagnostics

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
func.func @f8(%x: tensor<4xf8E5M2>) -> tensor<4xf8E5M2> {
  // expected-error@+1 {{'tsp.all_reduce' op the cuda target does not combine 'f8E5M2' across ranks; convert to f32 before}}
  %0 = tsp.all_reduce %x {axis = "t"} : (tensor<4xf8E5M2>) -> tensor<4xf8E5M2>
  return %0 : tensor<4xf8E5M2>
}
}
