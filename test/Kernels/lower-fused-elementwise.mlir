// RUN: tsp-opt %s -tsp-lower-fused-kernels | FileCheck %s

// One loop over all elements, whatever the rank; a unit of the grid is a block.

// CHECK-LABEL: func.func private @flat(
// CHECK-SAME:    %[[A:.*]]: memref<64x1024xf32>, %[[OUT:.*]]: memref<64x1024xf32>,
// CHECK-SAME:    %[[BEGIN:.*]]: index, %[[END:.*]]: index, %{{.*}}: memref<0xi8>)
// CHECK-SAME:    tsp.grid = 4 : i64, tsp.kernel, tsp.scratch = 0 : i64
// CHECK:         scf.for %[[BLOCK:.*]] =
// CHECK:           scf.for %[[I:.*]] =
// CHECK:             %[[X:.*]] = memref.load %{{.*}}[%[[I]]] : memref<65536xf32>
// CHECK:             arith.mulf %[[X]], %[[X]]
// CHECK:             memref.store %{{.*}}, %{{.*}}[%[[I]]] : memref<65536xf32>
// CHECK-NOT:       scf.for
// CHECK:         return
func.func private @flat(%a: tensor<64x1024xf32>) -> tensor<64x1024xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: 0>} {
  %0 = stablehlo.multiply %a, %a : tensor<64x1024xf32>
  return %0 : tensor<64x1024xf32>
}

// bf16 is computed in f32 and rounded after every op, by integer arithmetic.

// CHECK-LABEL: func.func private @bf16_rounds_twice(
// CHECK:         arith.addf %{{.*}} : f32
// CHECK:         arith.andi %{{.*}} : i32
// CHECK:         arith.mulf %{{.*}} : f32
// CHECK:         arith.bitcast %{{.*}} : i16 to bf16
// CHECK:         memref.store %{{.*}} : memref<8xbf16>
func.func private @bf16_rounds_twice(%a: tensor<8xbf16>, %b: tensor<8xbf16>)
    -> tensor<8xbf16> attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = stablehlo.add %a, %b : tensor<8xbf16>
  %1 = stablehlo.multiply %0, %b : tensor<8xbf16>
  return %1 : tensor<8xbf16>
}

// Booleans are bytes; unsigned types choose the op and disappear.

// CHECK-LABEL: func.func private @unsigned_and_bool(
// CHECK-SAME:    memref<8xi32>, %{{.*}}: memref<8xi32>, %{{.*}}: memref<8xi8>
// CHECK:         arith.cmpi ult
// CHECK:         arith.extui %{{.*}} : i1 to i8
func.func private @unsigned_and_bool(%a: tensor<8xui32>, %b: tensor<8xui32>)
    -> tensor<8xi1> attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = stablehlo.compare LT, %a, %b : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xi1>
  return %0 : tensor<8xi1>
}

// No integer division traps.

// CHECK-LABEL: func.func private @divide(
// CHECK:         %[[ZERO:.*]] = arith.cmpi eq
// CHECK:         %[[SAFE:.*]] = arith.select
// CHECK:         arith.divsi %{{.*}}, %[[SAFE]]
func.func private @divide(%a: tensor<8xi32>, %b: tensor<8xi32>) -> tensor<8xi32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = stablehlo.divide %a, %b : tensor<8xi32>
  return %0 : tensor<8xi32>
}

// Floats saturate and NaN becomes 0.

// CHECK-LABEL: func.func private @to_integer(
// CHECK:         llvm.call_intrinsic "llvm.fptosi.sat.i8.f32"
func.func private @to_integer(%a: tensor<8xf32>) -> tensor<8xi8>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = stablehlo.convert %a : (tensor<8xf32>) -> tensor<8xi8>
  return %0 : tensor<8xi8>
}

// f32 functions are formulas that vectorise, f64 goes by libm.

// CHECK-LABEL: func.func private @exp_f32(
// CHECK-NOT:     math.exp
// CHECK:         return
func.func private @exp_f32(%a: tensor<8xf32>) -> tensor<8xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: 0>} {
  %0 = stablehlo.exponential %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func private @exp_f64(
// CHECK:         math.exp %{{.*}} : f64
func.func private @exp_f64(%a: tensor<8xf64>) -> tensor<8xf64>
    attributes {tsp.kernel, tsp.tied = array<i64: 0>} {
  %0 = stablehlo.exponential %a : tensor<8xf64>
  return %0 : tensor<8xf64>
}

// Results of different shapes share the grid, one after the other.

// CHECK-LABEL: func.func private @two_shapes(
// CHECK-SAME:    tsp.grid = 2 : i64
// CHECK:         arith.maxsi
// CHECK:         arith.minsi
func.func private @two_shapes(%a: tensor<8xf32>, %b: tensor<4xf32>)
    -> (tensor<8xf32>, tensor<4xf32>)
    attributes {tsp.kernel, tsp.tied = array<i64: -1, -1>} {
  %0 = stablehlo.negate %a : tensor<8xf32>
  %1 = stablehlo.negate %b : tensor<4xf32>
  return %0, %1 : tensor<8xf32>, tensor<4xf32>
}
