// RUN: tsp-opt %s --tsp-lower-gemm-kernels --canonicalize --cse | FileCheck %s
// RUN: tsp-opt %s --tsp-lower-gemm-kernels=vector-bits=256 --canonicalize --cse | FileCheck %s --check-prefix=AVX2

// B is copied to scratch as panels when the block's columns change; the
// register tile has 12 rows of two vectors.
// CHECK-LABEL: func.func private @panels(
// CHECK-SAME:    %{{.*}}: memref<480x576xf32>, %{{.*}}: memref<576x1536xf32>,
// CHECK-SAME:    %[[C:.*]]: memref<480x1536xf32>, %[[BEGIN:.*]]: index, %[[END:.*]]: index,
// CHECK-SAME:    %{{.*}}: memref<{{.*}}xi8>) attributes {tsp.grid = {{.*}} : i64, tsp.kernel, tsp.scratch = {{.*}} : i64}
// CHECK:         scf.for %{{.*}} = %[[BEGIN]] to %[[END]] {{.*}} iter_args(%[[LAST:.*]] =
// CHECK:           %[[NEW:.*]] = arith.cmpi ne, %{{.*}}, %[[LAST]]
// CHECK:           scf.if %[[NEW]]
// CHECK:             vector.store
// CHECK:           scf.for
// CHECK-COUNT-24:        vector.fma {{.*}} : vector<16xf32>
// CHECK-NOT:             vector.fma
// CHECK:           vector.store %{{.*}}, %{{.*}} : memref<737280xf32>, vector<16xf32>
// AVX2-LABEL:  func.func private @panels(
// AVX2-COUNT-12:         vector.fma {{.*}} : vector<8xf32>
// AVX2-NOT:              vector.fma
// AVX2-LABEL:  func.func private @weight_rows(
func.func private @panels(%x: tensor<480x576xf32>, %w: tensor<576x1536xf32>) -> tensor<480x1536xf32> attributes {tsp.kernel} {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<480x576xf32>, tensor<576x1536xf32>) -> tensor<480x1536xf32>
  return %0 : tensor<480x1536xf32>
}

// A weight with the contracted dim inside is turned while it is copied.
// CHECK-LABEL: func.func private @weight_rows(
// CHECK:         scf.if
// CHECK-COUNT-64:  vector.shuffle
// CHECK-NOT:       vector.shuffle
// CHECK:         vector.fma
func.func private @weight_rows(%x: tensor<480x576xf32>, %w: tensor<1536x576xf32>) -> tensor<480x1536xf32> attributes {tsp.kernel} {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<480x576xf32>, tensor<1536x576xf32>) -> tensor<480x1536xf32>
  return %0 : tensor<480x1536xf32>
}

// One row: nothing is copied.
// CHECK-LABEL: func.func private @decode(
// CHECK-SAME:    %{{.*}}: memref<1x576xf32>, %[[W:.*]]: memref<576x1536xf32>,
// CHECK:         %[[FLAT:.*]] = memref.collapse_shape %[[W]]
// CHECK:         scf.for
// CHECK-NOT:     scf.if
// CHECK:           vector.load %[[FLAT]]
// CHECK:           vector.fma
func.func private @decode(%x: tensor<1x576xf32>, %w: tensor<576x1536xf32>) -> tensor<1x1536xf32> attributes {tsp.kernel} {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1x576xf32>, tensor<576x1536xf32>) -> tensor<1x1536xf32>
  return %0 : tensor<1x1536xf32>
}

// One row and a weight with the contracted dim inside: dot products, whose
// lanes are added up in 15 pairs of shuffles.
// CHECK-LABEL: func.func private @decode_rows(
// CHECK-COUNT-16:  vector.fma
// CHECK-COUNT-30:  vector.shuffle
// CHECK-NOT:       vector.shuffle
func.func private @decode_rows(%x: tensor<1x576xf32>, %w: tensor<1536x576xf32>) -> tensor<1x1536xf32> attributes {tsp.kernel} {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<1x576xf32>, tensor<1536x576xf32>) -> tensor<1x1536xf32>
  return %0 : tensor<1x1536xf32>
}

// bf16 is widened in copies and rounded in stores; edges are masked.
// CHECK-LABEL: func.func private @ragged_bf16(
// CHECK:         arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK:         vector.fma {{.*}} : vector<16xf32>
// CHECK:         vector.maskedstore {{.*}} : memref<6767xi16>, vector<16xi1>, vector<16xi16>
func.func private @ragged_bf16(%x: tensor<67x43xbf16>, %w: tensor<43x101xbf16>) -> tensor<67x101xbf16> attributes {tsp.kernel} {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<67x43xbf16>, tensor<43x101xbf16>) -> tensor<67x101xbf16>
  return %0 : tensor<67x101xbf16>
}

// What follows elementwise is computed from the finished row of a tile.
// CHECK-LABEL: func.func private @residual(
// CHECK-SAME:    %[[R:[a-z0-9]*]]: memref<480x576xf32>, %[[OUT:[a-z0-9]*]]: memref<480x576xf32>,
// CHECK-DAG:     %[[FLAT:.*]] = memref.reinterpret_cast %[[R]]
// CHECK-DAG:     %[[TO:.*]] = memref.reinterpret_cast %[[OUT]]
// CHECK:         vector.fma
// CHECK:         scf.for %{{.*}} = %c0 to %c32 step %c1
// CHECK:           %[[OLD:.*]] = memref.load %[[FLAT]]
// CHECK:           %[[NEW:.*]] = arith.addf %[[OLD]], %{{.*}} : f32
// CHECK:           memref.store %[[NEW]], %[[TO]]
// CHECK:         } {loop_annotation = #[[LOOP:.*]]}
func.func private @residual(%x: tensor<480x1536xf32>, %w: tensor<1536x576xf32>, %r: tensor<480x576xf32>) -> tensor<480x576xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: 2>} {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<480x1536xf32>, tensor<1536x576xf32>) -> tensor<480x576xf32>
  %1 = stablehlo.add %r, %0 : tensor<480x576xf32>
  return %1 : tensor<480x576xf32>
}

// Products of integers are for the general lowering.
// CHECK-LABEL: func.func private @integers(
// CHECK-SAME:    tensor<4x4xi32>
func.func private @integers(%x: tensor<4x4xi32>, %w: tensor<4x4xi32>) -> tensor<4x4xi32> attributes {tsp.kernel} {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
  return %0 : tensor<4x4xi32>
}

// Computed weights, rows of k in groups of 32 that share a scale: lines of 16
// columns are computed by loops over a group, then turned into a panel.
// CHECK-LABEL: func.func private @groups
// CHECK: scf.for {{.*}} step %c32
// CHECK: scf.for
// CHECK: arith.sitofp {{.*}} : i8 to f32
// CHECK: arith.mulf
// CHECK: memref.store
// CHECK: loop_annotation
// CHECK: vector.shuffle
func.func private @groups(%x: tensor<96x128xf32>, %q: tensor<64x4x32xi8>, %s: tensor<64x4xf32>) -> tensor<96x64xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %c = stablehlo.convert %q : (tensor<64x4x32xi8>) -> tensor<64x4x32xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<64x4xf32>) -> tensor<64x4x32xf32>
  %p = stablehlo.multiply %c, %b : tensor<64x4x32xf32>
  %w = stablehlo.reshape %p : (tensor<64x4x32xf32>) -> tensor<64x128xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<96x128xf32>, tensor<64x128xf32>) -> tensor<96x64xf32>
  return %y : tensor<96x64xf32>
}
