// RUN: tsp-opt %s -split-input-file --tsp-import-shardings --tsp-partition -verify-diagnostics

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
// expected-error @+1 {{the program's mesh #tsp.mesh<["t"] sizes[4]> is not the mesh #tsp.mesh<["t"] sizes[2]> that was asked for; leave --mesh out, or export the program with that mesh}}
sdy.mesh @mesh = <["t"=4]>
}

// -----

// expected-error @+1 {{the program uses axis "t" of 24 ranks in parts that end at 2 and 3, which do not divide each other; split the axis in the mesh of the program}}
module {
sdy.mesh @mesh = <["t"=24]>
func.func public @parts_that_overlap(%x: tensor<24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"t":(1)2}]>}, %y: tensor<24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"t":(1)3}]>}) -> tensor<24xf32> {
  return %x : tensor<24xf32>
}
}

// -----

// expected-error @+1 {{the program uses parts of axis "t", one of which would be called "t.1" as another axis of the mesh; rename that one}}
module {
sdy.mesh @mesh = <["t"=4, "t.1"=2]>
func.func public @name_is_taken(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"t":(1)2}]>}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
}
