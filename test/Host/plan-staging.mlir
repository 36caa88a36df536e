// RUN: tsp-opt %s --tsp-plan-buffers | FileCheck %s

// Columns of two rows are not one piece of the target: 3 parts are packed. The
// all_reduce in flight beside it takes the same bytes (3 x 256), a later
// reduce_scatter by rows (3 parts of 64 bytes, nothing to send is packed) others.
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [3]>} {
func.func private @use(tensor<2x48xf32>, tensor<64xf32>) -> tensor<48xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>}
// CHECK-LABEL: func.func @together
// CHECK-SAME: {buffer = "staging of transfers", bytes = 768 : i64}{{.*}} staging_bytes = 768
// CHECK: tsp.buffer.all_gather {{.*}} tsp.staging = array<i64: [[AT:[0-9]+]], 768>
// CHECK: tsp.buffer.all_reduce {{.*}} tsp.staging = array<i64: [[AT]], 768>
// CHECK: tsp.buffer.reduce_scatter {{.*}} tsp.staging = array<i64: {{[0-9]+}}, 192>
func.func @together(%x: tensor<2x16xf32>, %y: tensor<64xf32>) -> tensor<16xf32> {
  %f = tsp.all_gather %x {axis = "t", dim = 1 : i64, total = 48 : i64} : (tensor<2x16xf32>) -> !tsp.future<tensor<2x48xf32>>
  %g = tsp.all_reduce %y {axis = "t"} : (tensor<64xf32>) -> !tsp.future<tensor<64xf32>>
  %0 = tsp.wait %f : !tsp.future<tensor<2x48xf32>> -> tensor<2x48xf32>
  %1 = tsp.wait %g : !tsp.future<tensor<64xf32>> -> tensor<64xf32>
  %2 = tsp.launch @use(%0, %1) : (tensor<2x48xf32>, tensor<64xf32>) -> tensor<48xf32>
  %3 = tsp.reduce_scatter %2 {axis = "t", dim = 0 : i64, total = 48 : i64} : (tensor<48xf32>) -> tensor<16xf32>
  return %3 : tensor<16xf32>
}
}
