// RUN: tsp-opt %s -tsp-lower-fused-kernels -canonicalize -cse | FileCheck %s

// A sum along memory is a scalar of the row; its order is LLVM's to choose.

// CHECK-LABEL: func.func private @row_sum(
// CHECK:         scf.for %[[ROW:.*]] =
// CHECK:           %[[SUM:.*]] = scf.for %{{.*}} = %c0 to %c64 {{.*}} iter_args(
// CHECK:             arith.addf %{{.*}} fastmath<reassoc,contract> : f32
// CHECK:           memref.store %[[SUM]], %{{.*}}[%[[ROW]]]
func.func private @row_sum(%x: tensor<8x64xf32>, %z: tensor<f32>) -> tensor<8xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<8x64xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A sum across memory adds whole rows to accumulators of a block.

// CHECK-LABEL: func.func private @column_sum(
// CHECK:         memref.view %{{.*}} to memref<64xf32>
// CHECK:         scf.for
// CHECK:           scf.for %{{.*}} = %c0 to %c128
// CHECK:             scf.for
// CHECK:               arith.addf
// CHECK:               memref.store
func.func private @column_sum(%x: tensor<128x64xf32>, %z: tensor<f32>) -> tensor<64xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<128x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// Both reductions of a softmax, then its results, in every row.

// CHECK-LABEL: func.func private @softmax(
// CHECK-SAME:    tsp.scratch = 0 : i64
// CHECK:         scf.for
// CHECK:           %[[MAX:.*]] = scf.for {{.*}} iter_args
// CHECK:             arith.maximumf
// CHECK:           %[[SUM:.*]] = scf.for {{.*}} iter_args
// CHECK:             arith.subf %{{.*}}, %[[MAX]]
// CHECK:           scf.for
// CHECK:             arith.divf %{{.*}}, %[[SUM]]
// CHECK:             memref.store
// CHECK-NOT:     scf.for
// CHECK:         return
func.func private @softmax(%x: tensor<8x64xf32>) -> tensor<8x64xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<8x64xf32>, tensor<f32>) -> tensor<8xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<8xf32>) -> tensor<8x64xf32>
  %d = stablehlo.subtract %x, %mb : tensor<8x64xf32>
  %e = stablehlo.exponential %d : tensor<8x64xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x64xf32>, tensor<f32>) -> tensor<8xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<8xf32>) -> tensor<8x64xf32>
  %r = stablehlo.divide %e, %sb : tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}

// A reduction that is a result of its own is stored from the row.

// CHECK-LABEL: func.func private @sum_and_rest(
// CHECK:         scf.for
// CHECK:           %[[SUM:.*]] = scf.for {{.*}} iter_args
// CHECK:           memref.store %[[SUM]], %{{.*}} : memref<8xf32>
// CHECK:           scf.for
// CHECK:             arith.subf %{{.*}}, %[[SUM]]
// CHECK-NOT:     scf.for
// CHECK:         return
func.func private @sum_and_rest(%x: tensor<8x64xf32>, %z: tensor<f32>)
    -> (tensor<8xf32>, tensor<8x64xf32>)
    attributes {tsp.kernel, tsp.tied = array<i64: -1, -1>} {
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<8x64xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<8xf32>) -> tensor<8x64xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<8x64xf32>
  return %0, %2 : tensor<8xf32>, tensor<8x64xf32>
}

// bf16 is summed in f32 and rounded once.

// CHECK-LABEL: func.func private @bf16_sum(
// CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (f32)
// CHECK-NOT:       arith.bitcast %{{.*}} : f32 to i32
// CHECK:           scf.yield
func.func private @bf16_sum(%x: tensor<8x64xbf16>, %z: tensor<bf16>) -> tensor<8xbf16>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<8x64xbf16>, tensor<bf16>) -> tensor<8xbf16>
  return %0 : tensor<8xbf16>
}

// What no row can hold is computed first, in one unit.

// CHECK-LABEL: func.func private @in_order(
// CHECK-SAME:    tsp.grid = 1 : i64
func.func private @in_order(%x: tensor<8x8xf32>, %z: tensor<f32>) -> tensor<7xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.slice %0 [0:7] : (tensor<8xf32>) -> tensor<7xf32>
  %2 = stablehlo.slice %0 [1:8] : (tensor<8xf32>) -> tensor<7xf32>
  %3 = stablehlo.multiply %1, %2 : tensor<7xf32>
  return %3 : tensor<7xf32>
}
