// RUN: tsp-opt %s -tsp-gpu-lower-fused-kernels -canonicalize -cse | FileCheck %s
// RUN: tsp-opt %s -tsp-gpu-kernel-pipeline -o /dev/null

// Each thread applies all updates to its own elements: no atomics.

// CHECK-LABEL: gpu.func @scatter(
// CHECK-NOT:     atomic
// CHECK:         scf.for
// CHECK:           memref.store
// CHECK:         scf.for
// CHECK:           arith.cmpi ult
// CHECK:           scf.if
// CHECK:             arith.andi
// CHECK:             arith.cmpi eq
// CHECK:             scf.if
// CHECK:               arith.addf
// CHECK:               memref.store
// CHECK-NOT:     atomic
// CHECK:         gpu.return
func.func private @scatter(%x: tensor<1000x480xf32>, %i: tensor<30x1xi32>, %u: tensor<30x480xf32>)
    -> tensor<1000x480xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{
      scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
          inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
      indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) : (tensor<1000x480xf32>, tensor<30x1xi32>, tensor<30x480xf32>) -> tensor<1000x480xf32>
  return %0 : tensor<1000x480xf32>
}

// A network in shared memory; elements keep their places, so that it is stable.

// CHECK-LABEL: gpu.func @sort(
// CHECK:         memref.store %{{.*}} : memref<{{.*}}xi32, #gpu.address_space<workgroup>>
// CHECK:         gpu.barrier
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             arith.xori
// CHECK:             scf.if
// CHECK:             gpu.barrier
// CHECK:         gpu.return
func.func private @sort(%x: tensor<6x100xf32>) -> tensor<6x100xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }) : (tensor<6x100xf32>) -> tensor<6x100xf32>
  return %0 : tensor<6x100xf32>
}

// Threads have parts of a row, and start from the sums of the parts before.

// CHECK-LABEL: gpu.func @cumsum(
// CHECK:         scf.for
// CHECK:         memref.store %{{.*}} : memref<{{.*}}xf32, #gpu.address_space<workgroup>>
// CHECK:         gpu.barrier
// CHECK:         %[[BEFORE:.*]] = scf.for
// CHECK:           memref.load %{{.*}} : memref<{{.*}}xf32, #gpu.address_space<workgroup>>
// CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %[[BEFORE]])
// CHECK:           memref.store
// CHECK:         gpu.return
func.func private @cumsum(%x: tensor<4x200xf32>) -> tensor<4x200xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{
      window_dimensions = array<i64: 1, 200>, padding = dense<[[0, 0], [199, 0]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) : (tensor<4x200xf32>, tensor<f32>) -> tensor<4x200xf32>
  return %0 : tensor<4x200xf32>
}
