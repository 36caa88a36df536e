// RUN: tsp-opt %s --tsp-lower-sdpa-kernels --canonicalize --cse | FileCheck %s
// RUN: not tsp-opt %S/Inputs/sdpa-of-computed.mlir --tsp-lower-sdpa-kernels 2>&1 | FileCheck %s --check-prefix=ERROR

// Units of queries; blocks of 64 keys; panels of 48 rows. A panel's block is
// skipped when its least position is past the greatest of the rows, and masked
// only when its greatest is past their least.
// CHECK-LABEL: func.func private @causal(
// CHECK-SAME:    %[[BEGIN:[a-z0-9]*]]: index, %[[END:[a-z0-9]*]]: index, %{{.*}}: memref<{{.*}}xi8>)
// CHECK-SAME:    tsp.grid = 24 : i64
// CHECK:         scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK:           scf.for %{{.*}} = %c0 to %c512 step %c64
// CHECK:             %[[RANGE:.*]]:2 = scf.for
// CHECK:               arith.minsi
// CHECK:               arith.maxsi
// CHECK:             scf.for
// CHECK:               %[[SOME:.*]] = arith.cmpi sle, %[[RANGE]]#0, %{{.*}} : i32
// CHECK:               %[[ALL:.*]] = arith.cmpi sle, %[[RANGE]]#1, %{{.*}} : i32
// CHECK:               scf.if %[[SOME]]
// The register tile of scores: 8 keys of 3 vectors of rows.
// CHECK-COUNT-24:        vector.fma {{.*}} : vector<16xf32>
// CHECK:                 scf.if %[[ALL]]
// CHECK-NEXT:            } else {
// CHECK:                   arith.cmpi sle, %{{.*}}, %{{.*}} : vector<16xi32>
// CHECK:                 arith.cmpf ogt
// No value of the size of queries times keys.
// CHECK-NOT:     512x512
// CHECK:         return
func.func private @causal(%q: tensor<1x512x9x64xf32>, %k: tensor<1x512x3x64xf32>, %v: tensor<1x512x3x64xf32>, %i: tensor<512xi32>)
    -> (tensor<1x512x9x64xf32>, tensor<1x512x9xf32>) attributes {tsp.kernel} {
  %o, %l = tsp.sdpa %q, %k, %v positions(%i, %i : tensor<512xi32>, tensor<512xi32>) {scale = 0.125 : f64, causal}
    : (tensor<1x512x9x64xf32>, tensor<1x512x3x64xf32>, tensor<1x512x3x64xf32>) -> (tensor<1x512x9x64xf32>, tensor<1x512x9xf32>)
  return %o, %l : tensor<1x512x9x64xf32>, tensor<1x512x9xf32>
}

// bf16 keys and values are widened block by block; nothing is masked.
// CHECK-LABEL: func.func private @bf16(
// CHECK:         scf.for
// CHECK:           arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK-NOT:     scf.if
// CHECK:         return
func.func private @bf16(%q: tensor<2x8x2x32xbf16>, %k: tensor<2x128x2x32xbf16>, %v: tensor<2x128x2x32xbf16>)
    -> tensor<2x8x2x32xbf16> attributes {tsp.kernel} {
  %o, %l = tsp.sdpa %q, %k, %v {scale = 0.125 : f64}
    : (tensor<2x8x2x32xbf16>, tensor<2x128x2x32xbf16>, tensor<2x128x2x32xbf16>) -> (tensor<2x8x2x32xbf16>, tensor<2x8x2xf32>)
  return %o : tensor<2x8x2x32xbf16>
}

// ERROR: error: 'tsp.sdpa' op operand {{.*}} must be an argument of the kernel, or a view of one
