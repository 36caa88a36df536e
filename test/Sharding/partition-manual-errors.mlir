// RUN: tsp-opt %s -split-input-file --tsp-import-shardings --tsp-partition -verify-diagnostics

// Bodies that are written for one rank: all axes manual, even parts, and the
// sizes of a rank.

sdy.mesh @mesh = <["d"=2, "t"=2]>
func.func public @axis_left(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{expected all mesh axes to be manual, found "d" left to the compiler; give shard_map all axis names}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"t"}]>] out_shardings=[<@mesh, [{"t"}]>] manual_axes={"t"} (%a: tensor<4xf32>) {
    sdy.return %a : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["t"=2]>
func.func public @uneven(%x: tensor<7xf32>) -> tensor<7xf32> {
  // expected-error @+1 {{expected operand 0 to be split evenly, found 7 elements in dim 0 over 2 ranks; pad it in the program}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"t"}]>] out_shardings=[<@mesh, [{"t"}]>] manual_axes={"t"} (%a: tensor<4xf32>) {
    sdy.return %a : tensor<4xf32>
  } : (tensor<7xf32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----

sdy.mesh @mesh = <["t"=2]>
func.func public @operand_of_another_size(%x: tensor<8x3xf32>) -> tensor<8x3xf32> {
  // expected-error @+1 {{expected operand 0 of the body to be 'tensor<4x3xf32>', the part of a rank of 'tensor<8x3xf32>', found 'tensor<2x3xf32>'}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"t"}, {}]>] out_shardings=[<@mesh, [{"t"}, {}]>] manual_axes={"t"} (%a: tensor<2x3xf32>) {
    sdy.return %a : tensor<2x3xf32>
  } : (tensor<8x3xf32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// -----

sdy.mesh @mesh = <["t"=2]>
func.func public @result_of_another_size(%x: tensor<8xf32>) -> tensor<6xf32> {
  // expected-error @+1 {{expected result 0 of the body to be 'tensor<3xf32>', the part of a rank of 'tensor<6xf32>', found 'tensor<4xf32>'}}
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"t"}]>] out_shardings=[<@mesh, [{"t"}]>] manual_axes={"t"} (%a: tensor<4xf32>) {
    sdy.return %a : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
