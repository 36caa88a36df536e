// RUN: tsp-opt %s -tsp-lower-fused-kernels -canonicalize -cse | FileCheck %s

// Slices, transposes and reshapes are index arithmetic.

// CHECK-LABEL: func.func private @moved(
// CHECK:         scf.for
// CHECK:           scf.for %[[J:.*]] =
// CHECK-COUNT-1:     memref.load
// CHECK-NOT:         arith.divui
// CHECK:             memref.store
func.func private @moved(%a: tensor<16x3x8xf32>) -> tensor<3x64xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = stablehlo.slice %a [0:8, 0:3, 0:8] : (tensor<16x3x8xf32>) -> tensor<8x3x8xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0, 2] : (tensor<8x3x8xf32>) -> tensor<3x8x8xf32>
  %2 = stablehlo.negate %1 : tensor<3x8x8xf32>
  %3 = stablehlo.slice %2 [0:3, 0:8, 0:8] : (tensor<3x8x8xf32>) -> tensor<3x8x8xf32>
  %4 = stablehlo.reshape %3 : (tensor<3x8x8xf32>) -> tensor<3x64xf32>
  return %4 : tensor<3x64xf32>
}

// The innermost loop is divided where the input changes: no branch, no copy.

// CHECK-LABEL: func.func private @rotate_half(
// CHECK:         scf.for %{{.*}} =
// CHECK:           scf.for %{{.*}} = %c0 to %c32
// CHECK:             arith.negf
// CHECK:             memref.store
// CHECK:           scf.for %{{.*}} = %c32 to %c64
// CHECK-NOT:         arith.negf
// CHECK:             memref.store
// CHECK-NOT:     scf.if
// CHECK:         return
func.func private @rotate_half(%x: tensor<128x64xf32>, %s: tensor<128x64xf32>)
    -> tensor<128x64xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = stablehlo.slice %x [0:128, 32:64] : (tensor<128x64xf32>) -> tensor<128x32xf32>
  %1 = stablehlo.slice %x [0:128, 0:32] : (tensor<128x64xf32>) -> tensor<128x32xf32>
  %2 = stablehlo.negate %0 : tensor<128x32xf32>
  %3 = stablehlo.concatenate %2, %1, dim = 1 : (tensor<128x32xf32>, tensor<128x32xf32>) -> tensor<128x64xf32>
  %4 = stablehlo.multiply %3, %s : tensor<128x64xf32>
  return %4 : tensor<128x64xf32>
}

// Along an outer dim the nest is divided, each part with its own units.

// CHECK-LABEL: func.func private @concatenate_rows(
// CHECK-SAME:    tsp.grid = 2 : i64
// CHECK-NOT:     scf.if
// CHECK:         return
func.func private @concatenate_rows(%a: tensor<2x64xf32>, %b: tensor<3x64xf32>)
    -> tensor<5x64xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x64xf32>, tensor<3x64xf32>) -> tensor<5x64xf32>
  return %0 : tensor<5x64xf32>
}

// CHECK-LABEL: func.func private @pad(
// CHECK:         %[[ZERO:.*]] = memref.load %{{.*}}[%c0]
// CHECK:         scf.for %{{.*}} = %c0 to %c2
// CHECK:           memref.store %[[ZERO]]
// CHECK:         scf.for %{{.*}} = %c2 to %c10
// CHECK:         memref.store %[[ZERO]], %{{.*}}[%c10]
func.func private @pad(%a: tensor<8xf32>, %z: tensor<f32>) -> tensor<11xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = stablehlo.pad %a, %z, low = [2], high = [1], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<11xf32>
  return %0 : tensor<11xf32>
}

// Constants that are data become globals.

// CHECK:       memref.global "private" constant @constant.constant1 : memref<2xf32>
// CHECK-LABEL: func.func private @constant(
// CHECK:         memref.get_global @constant.constant1
func.func private @constant(%a: tensor<2xf32>) -> tensor<2xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %c = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = stablehlo.add %a, %c : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// Starts are clamped in their own type.

// CHECK-LABEL: func.func private @dynamic_slice(
// CHECK:         %[[START:.*]] = memref.load %{{.*}}[%c0] : memref<1xi32>
// CHECK:         arith.minsi %[[START]], %c6_i32
// CHECK:         arith.maxsi %{{.*}}, %c0_i32
func.func private @dynamic_slice(%a: tensor<8xf32>, %i: tensor<i32>) -> tensor<2xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = stablehlo.dynamic_slice %a, %i, sizes = [2] : (tensor<8xf32>, tensor<i32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// In place, only the part is written.

// CHECK-LABEL: func.func private @update_in_place(
// CHECK-SAME:    %{{.*}}: memref<1024x64xf32>, %[[U:.*]]: memref<1x64xf32>
// CHECK:         scf.for %{{.*}} = %c0 to %c64
// CHECK-NOT:     memref<1024
// CHECK:           memref.store %{{.*}} : memref<65536xf32>
// CHECK-NOT:     scf.for
// CHECK:         return
func.func private @update_in_place(%a: tensor<1024x64xf32>, %u: tensor<1x64xf32>,
    %i: tensor<i32>) -> tensor<1024x64xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: 0>, tsp.must_tie} {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %a, %u, %i, %c : (tensor<1024x64xf32>, tensor<1x64xf32>, tensor<i32>, tensor<i32>) -> tensor<1024x64xf32>
  return %0 : tensor<1024x64xf32>
}

// An index is read once for a row, and clamped.

// CHECK-LABEL: func.func private @embedding(
// CHECK:         scf.for
// CHECK:           memref.load %{{.*}} : memref<5xi32>
// CHECK:           arith.minsi
// CHECK:           arith.maxsi
// CHECK:           scf.for
// CHECK:             memref.load %{{.*}} : memref<640xf32>
func.func private @embedding(%table: tensor<40x16xf32>, %ids: tensor<5x1xi32>)
    -> tensor<5x16xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<40x16xf32>, tensor<5x1xi32>) -> tensor<5x16xf32>
  return %0 : tensor<5x16xf32>
}
