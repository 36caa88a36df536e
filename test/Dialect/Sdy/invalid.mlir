// RUN: tsp-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{axis "d" appears twice in the mesh}}
sdy.mesh @mesh = <["d"=4, "d"=2]>

// -----

// expected-error @below {{expected a size of 1 to 2^20 for axis "d" and the whole mesh, found 0}}
sdy.mesh @mesh = <["d"=0]>

// -----

func.func @no_mesh(%a: tensor<4xf32>) {
  // expected-error @below {{expected a mesh @mesh in this module, found none}}
  %0 = sdy.sharding_constraint %a <@mesh, [{}]> : tensor<4xf32>
  return
}

// -----

// expected-note @below {{the mesh is declared here}}
sdy.mesh @mesh = <["d"=4]>
func.func @axis(%a: tensor<4xf32>) {
  // expected-error @below {{axis "t" is not in mesh @mesh}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"t"}]> : tensor<4xf32>
  return
}

// -----

sdy.mesh @mesh = <["d"=4]>
func.func @rank(%a: tensor<4xf32>) {
  // expected-error @below {{expected a sharding of 1 dims for 'tensor<4xf32>', found 2}}
  %0 = sdy.sharding_constraint %a <@mesh, [{"d"}, {}]> : tensor<4xf32>
  return
}

// -----

sdy.mesh @mesh = <["d"=4]>
func.func @twice(%a: tensor<4x4xf32>) {
  // expected-error @below {{axis "d" is used twice in one sharding}}
  %0 = sdy.reshard %a <@mesh, [{"d"}, {"d"}]> : tensor<4x4xf32>
  return
}

// -----

sdy.mesh @mesh = <["d"=4]>
func.func @part(%a: tensor<4x4xf32>) {
  // expected-error @below {{part (3)2 of axis "d" does not divide its size 4}}
  %0 = sdy.reshard %a <@mesh, [{"d":(3)2}, {}]> : tensor<4x4xf32>
  return
}

// -----

sdy.mesh @mesh = <["d"=4]>
func.func @manual(%a: tensor<4xf32>) {
  // expected-error @below {{expected 1 in_shardings, found 2}}
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"d"}]>, <@mesh, []>] out_shardings=[<@mesh, [{"d"}]>] manual_axes={"d"} (%arg0: tensor<1xf32>) {
    sdy.return %arg0 : tensor<1xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}
