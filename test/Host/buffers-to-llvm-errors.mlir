// RUN: tsp-opt %s --tsp-plan-buffers --tsp-buffers-to-llvm=device --verify-diagnostics

llvm.func @k(!llvm.ptr, i64, i64, !llvm.ptr) attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.grid = 7 : i64, tsp.scratch = 128 : i64}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'tsp.buffer.launch' op expected kernel @k in device form}}
  %0 = tsp.launch @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
