// RUN: tsp-opt %s --tsp-gpu-lower-sdpa-kernels --canonicalize --cse | FileCheck %s
// RUN: not tsp-opt %S/../Inputs/sdpa-of-computed.mlir --tsp-gpu-lower-sdpa-kernels 2>&1 | FileCheck %s --check-prefix=ERROR

// Tensor cores: 24 tiles of 64 rows (512 queries of 3 heads), 3 key heads. K and
// V are double-buffered: 2 * 64 keys * (144 + 144) bytes, 9 columns of 16 bytes
// from key to key.
// CHECK-LABEL: gpu.func @causal(
// CHECK-SAME:    kernel attributes {known_block_size = array<i32: 128, 1, 1>}
// The first tile that is not masked, and the start of its copy.
// CHECK:         nvvm.redux.sync  min
// CHECK:         scf.while
// CHECK:         scf.if
// CHECK-COUNT-8:   nvvm.cp.async.shared.global {{.*}}, 16, cache = cg
// CHECK-NEXT:      nvvm.cp.async.commit.group
// CHECK:         scf.while
// CHECK:           nvvm.cp.async.wait.group 0
// CHECK-NEXT:      gpu.barrier
// The next tile is on its way while this one is worked on.
// CHECK:           nvvm.cp.async.commit.group
// CHECK:           nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>
// CHECK:           nvvm.mma.sync {{.*}} multiplicandAPtxType = #nvvm.mma_type<bf16>
// Masks only where a row may not see all of the tile.
// CHECK:           scf.if
// CHECK:           llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"
// CHECK:           nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<col>
// CHECK:           nvvm.mma.sync
// CHECK:         gpu.return
// CHECK-LABEL: gpu.func @wide(
// Q of a head of 256 is read from shared memory for each tile.
// CHECK:         scf.while
// CHECK:           nvvm.cp.async.wait.group 0
// CHECK:           nvvm.ldmatrix
// CHECK-NEXT:      llvm.extractvalue
// CHECK:           nvvm.ldmatrix
// CHECK:           nvvm.mma.sync
// CHECK-LABEL: gpu.func @single(
// f32: two lanes share a row of 64; no tensor cores.
// CHECK-NOT:     nvvm.mma.sync
// CHECK:         llvm.load {{.*}} : !llvm.ptr<3> -> vector<4xf32>
// CHECK:         llvm.intr.fma
// CHECK:         gpu.return

// CHECK: func.func private @causal(memref<1x512x9x64xbf16>,
// CHECK-SAME: tsp.device_block = array<i64: 128, 1, 1>, tsp.device_grid = array<i64: 24, 3, 1>, tsp.device_shared = 36864 : i64
func.func private @causal(%q: tensor<1x512x9x64xbf16>, %k: tensor<1x512x3x64xbf16>, %v: tensor<1x512x3x64xbf16>, %i: tensor<512xi32>)
    -> (tensor<1x512x9x64xbf16>, tensor<1x512x9xf32>) attributes {tsp.kernel} {
  %o, %l = tsp.sdpa %q, %k, %v positions(%i, %i : tensor<512xi32>, tensor<512xi32>) {scale = 0.125 : f64, causal}
    : (tensor<1x512x9x64xbf16>, tensor<1x512x3x64xbf16>, tensor<1x512x3x64xbf16>) -> (tensor<1x512x9x64xbf16>, tensor<1x512x9xf32>)
  return %o, %l : tensor<1x512x9x64xbf16>, tensor<1x512x9xf32>
}

func.func private @wide(%q: tensor<1x64x1x256xf16>, %k: tensor<1x64x1x256xf16>, %v: tensor<1x64x1x256xf16>)
    -> tensor<1x64x1x256xf16> attributes {tsp.kernel} {
  %o, %l = tsp.sdpa %q, %k, %v {scale = 0.0625 : f64}
    : (tensor<1x64x1x256xf16>, tensor<1x64x1x256xf16>, tensor<1x64x1x256xf16>) -> (tensor<1x64x1x256xf16>, tensor<1x64x1xf32>)
  return %o : tensor<1x64x1x256xf16>
}

// CHECK: func.func private @single(
// CHECK-SAME: tsp.device_grid = array<i64: 2, 1, 2>, tsp.device_shared = 16384 : i64
func.func private @single(%q: tensor<2x33x3x64xf32>, %k: tensor<2x47x1x64xf32>, %v: tensor<2x47x1x64xf32>)
    -> tensor<2x33x3x64xf32> attributes {tsp.kernel} {
  %o, %l = tsp.sdpa %q, %k, %v {scale = 0.125 : f64}
    : (tensor<2x33x3x64xf32>, tensor<2x47x1x64xf32>, tensor<2x47x1x64xf32>) -> (tensor<2x33x3x64xf32>, tensor<2x33x3xf32>)
  return %o : tensor<2x33x3x64xf32>
}

// Blocks enough for all processors: a warp has 32 rows.
// CHECK: func.func private @long(
// CHECK-SAME: tsp.device_grid = array<i64: 128, 8, 1>, tsp.device_shared = 36864 : i64
func.func private @long(%q: tensor<1x4096x32x64xbf16>, %k: tensor<1x4096x8x64xbf16>, %v: tensor<1x4096x8x64xbf16>)
    -> tensor<1x4096x32x64xbf16> attributes {tsp.kernel} {
  %o, %l = tsp.sdpa %q, %k, %v {scale = 0.125 : f64}
    : (tensor<1x4096x32x64xbf16>, tensor<1x4096x8x64xbf16>, tensor<1x4096x8x64xbf16>) -> (tensor<1x4096x32x64xbf16>, tensor<1x4096x32xf32>)
  return %o : tensor<1x4096x32x64xbf16>
}

// ERROR: error: 'tsp.sdpa' op operand {{.*}} must be an argument of the kernel, or a view of one
