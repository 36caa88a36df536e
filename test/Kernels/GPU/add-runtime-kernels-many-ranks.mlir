// RUN: tsp-compile %s --from=mlir-kernels --target=cuda:sm_80 --emit=ptx -o - | FileCheck %s

// The buffers of 1024 ranks are more parameters than kernels had before PTX 8.1.
// CHECK: .version 8.1
// CHECK: .entry tsp_reduce_max_f32_1024(
// CHECK: tsp_reduce_max_f32_1024_param_1025
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [1024]>} {
func.func @many(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tsp.all_reduce %x {axis = "t", combine = #tsp.combine<max>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
}
