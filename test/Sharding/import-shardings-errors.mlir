// RUN: tsp-opt %s -split-input-file --tsp-import-shardings --tsp-partition -verify-diagnostics

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
// expected-error @+1 {{the program's mesh #tsp.mesh<["t"] sizes[4]> is not the mesh #tsp.mesh<["t"] sizes[2]> that was asked for; leave --mesh out, or export the program with that mesh}}
sdy.mesh @mesh = <["t"=4]>
}

// -----

sdy.mesh @mesh = <["d"=2, "t"=4]>
// expected-error @+1 {{dim 0 of 'tensor<8xf32>' is sharded over 2 axes; only one axis a dim is supported: reshape the mesh so that one axis has the product of their sizes}}
func.func public @two_axes(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d", "t"}]>}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["t"=4]>
// expected-error @+1 {{dim 0 is sharded over a part of axis 't'; only whole axes are supported: split the axis in the mesh}}
func.func public @part_of_axis(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"t":(1)2}]>}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
