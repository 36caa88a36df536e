// RUN: tsp-opt %s -split-input-file -verify-diagnostics

func.func @all_gather(%a: tensor<4x6xf32>) {
  // expected-error @below {{expected result 0 of type 'tensor<8x6xf32>', found 'tensor<4x12xf32>'}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x6xf32>) -> tensor<4x12xf32>
  return
}

// -----

func.func @groups(%a: tensor<4x6xf32>) {
  // expected-error @below {{device 1 is twice in replica_groups}}
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[1, 1]]> : tensor<1x2xi64>}> : (tensor<4x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

func.func @reduce_scatter(%a: tensor<5x6xf32>) {
  // expected-error @below {{dim 0 of size 5 does not divide into groups of 2}}
  %0 = "stablehlo.reduce_scatter"(%a) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<5x6xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @all_to_all(%a: tensor<4x6xf32>) {
  // expected-error @below {{expected split_count to be the size of a group, 2, found 4}}
  %0 = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x6xf32>) -> tensor<1x24xf32>
  return
}

// -----

func.func @permute(%a: tensor<4xf32>) {
  // expected-error @below {{device 0 is twice a source}}
  %0 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}
