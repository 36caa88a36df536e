// RUN: tsp-opt %s --tsp-expand-blocks -verify-diagnostics

// expected-note@+1 {{the mesh is #tsp.mesh<["t"] sizes[4]>}}
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @no_such_axis(%x: tensor<1x8x16xf32>, %w: tensor<16x16xf32>) -> tensor<1x8x16xf32> {
  // expected-error@+1 {{expected an axis of the mesh, found "u"}}
  %y = tsp.gated_mlp %x, %w, %w, %w over "u" : (tensor<1x8x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<1x8x16xf32>
  return %y : tensor<1x8x16xf32>
}
}
