// RUN: tsp-opt %s --tsp-gpu-lower-sdpa-kernels=architectures=sm_90,sm_90a --canonicalize --cse | FileCheck %s
// RUN: not tsp-opt %s --tsp-gpu-lower-sdpa-kernels=architectures=sm_90b 2>&1 | FileCheck %s --check-prefix=ERROR

// A variant beside the general form: 2 warpgroups with 64 rows each (4096
// queries of 4 heads in 128 tiles), and one that copies. 128 keys a tile.
// CHECK-LABEL: gpu.func @causal_sm_90a(
// CHECK-SAME:    %[[MAP_K:[a-z0-9]+]]: !llvm.ptr, %[[MAP_V:[a-z0-9]+]]: !llvm.ptr)
// CHECK-SAME:    known_block_size = array<i32: 384, 1, 1>, tsp.device_architecture = "sm_90a"
// Two rings of two stages: full by one arrival, free by eight warps.
// CHECK-COUNT-4:  nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK:          nvvm.fence.mbarrier.init
// CHECK:          nvvm.prefetch tensormap, %[[MAP_K]]
// CHECK:          gpu.barrier
// CHECK:          nvvm.setmaxregister increase 232
// Q, for bulk products to read.
// CHECK:            nvvm.cp.async.shared.global
// CHECK:            nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>
// The first tile that is not masked: the copying warp says which.
// CHECK:            nvvm.mbarrier.try_wait
// CHECK:            nvvm.redux.sync min
// CHECK:            scf.if
// S of the first tile, in turn.
// CHECK:              nvvm.barrier id = %{{.*}} number_of_threads = %c256_i32
// CHECK:              nvvm.wgmma.fence.aligned
// CHECK-COUNT-8:      nvvm.wgmma.mma_async {{.*}} <m = 64, n = 128, k = 16>
// CHECK:              nvvm.wgmma.commit.group.sync.aligned
// CHECK:              nvvm.barrier.arrive id = %{{.*}} number_of_threads = %c256_i32
// CHECK:              nvvm.wgmma.wait.group.sync.aligned 0
// CHECK:              nvvm.mbarrier.arrive
// Then S of a tile while O of the one before is on its way, and its weights while
// that is waited for.
// CHECK:              scf.while
// CHECK:                scf.condition
// CHECK:                nvvm.wgmma.mma_async
// CHECK:                nvvm.wgmma.commit.group.sync.aligned
// CHECK:                wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// CHECK:                nvvm.wgmma.commit.group.sync.aligned
// CHECK:                nvvm.wgmma.wait.group.sync.aligned 1
// CHECK:                nvvm.mbarrier.arrive
// CHECK:                llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"
// CHECK:                nvvm.wgmma.wait.group.sync.aligned 0
// CHECK:                nvvm.mbarrier.arrive
// CHECK:              wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// The copying warp.
// CHECK:          nvvm.setmaxregister decrease 32
// CHECK:            scf.while
// CHECK:              nvvm.elect.sync
// CHECK:              nvvm.mbarrier.arrive.expect_tx
// CHECK-COUNT-2:      nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}}, %[[MAP_K]],
// CHECK:              nvvm.mbarrier.arrive.expect_tx
// CHECK-COUNT-2:      nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}}, %[[MAP_V]],
// CHECK:            nvvm.mbarrier.arrive.expect_tx
// CHECK:          gpu.return

// The general form stays.
// CHECK: gpu.func @causal(
// CHECK: nvvm.mma.sync

// CHECK: func.func private @causal(
// CHECK-SAME: tsp.device_variant = @causal_sm_90a
// CHECK: func.func private @causal_sm_90a(
// CHECK-SAME: tsp.device_grid = array<i64: 128, 8, 1>
// CHECK-SAME: tsp.device_maps = [{box = array<i64: 64, 128, 1>, buffer = 1 : i64, element = bf16, offset = 0 : i64, sizes = array<i64: 128, 4096, 8>, strides = array<i64: 2048, 256>, swizzle = 128 : i64}, {{.*}}buffer = 2
// CHECK-SAME: tsp.device_shared = 163912 : i64
func.func private @causal(%q: tensor<1x4096x32x128xbf16>, %k: tensor<1x4096x8x128xbf16>, %v: tensor<1x4096x8x128xbf16>, %i: tensor<4096xi32>)
    -> tensor<1x4096x32x128xbf16> attributes {tsp.kernel} {
  %o, %l = tsp.sdpa %q, %k, %v positions(%i, %i : tensor<4096xi32>, tensor<4096xi32>) {scale = 0.125 : f64, causal}
    : (tensor<1x4096x32x128xbf16>, tensor<1x4096x8x128xbf16>, tensor<1x4096x8x128xbf16>) -> (tensor<1x4096x32x128xbf16>, tensor<1x4096x32xf32>)
  return %o : tensor<1x4096x32x128xbf16>
}

// Narrow heads: three warpgroups with rows, where that makes one wave of blocks.
// Boxes of 64 columns, of which 16 are not there.
// CHECK: func.func private @narrow_sm_90a(
// CHECK-SAME: tsp.device_block = array<i64: 512, 1, 1>
// CHECK-SAME: box = array<i64: 64, 128, 1>, {{.*}} sizes = array<i64: 48, 4224, 8>
func.func private @narrow(%q: tensor<1x768x32x48xf16>, %k: tensor<1x4224x8x48xf16>, %v: tensor<1x4224x8x48xf16>)
    -> tensor<1x768x32x48xf16> attributes {tsp.kernel} {
  %o, %l = tsp.sdpa %q, %k, %v {scale = 0.125 : f64}
    : (tensor<1x768x32x48xf16>, tensor<1x4224x8x48xf16>, tensor<1x4224x8x48xf16>) -> (tensor<1x768x32x48xf16>, tensor<1x768x32xf32>)
  return %o : tensor<1x768x32x48xf16>
}

// Bulk copies cannot read keys that are 8 bytes off, or one that is repeated.
// CHECK-NOT: func.func private @{{.*}}_sm_90a
// CHECK: func.func private @offset({{.*}}tsp.device_no_variant = "rows of queries, keys or values are not multiples of 16 bytes apart, or do not start at one"
// CHECK: func.func private @one_key({{.*}}tsp.device_no_variant = "one key or value is repeated, or they are read backwards"
// CHECK-NOT: func.func private @{{.*}}_sm_90a
func.func private @offset(%q: tensor<1x64x1x64xbf16>, %k: tensor<1x64x1x68xbf16>, %v: tensor<1x64x1x64xbf16>)
    -> tensor<1x64x1x64xbf16> attributes {tsp.kernel} {
  %part = stablehlo.slice %k [0:1, 0:64, 0:1, 4:68] : (tensor<1x64x1x68xbf16>) -> tensor<1x64x1x64xbf16>
  %o, %l = tsp.sdpa %q, %part, %v {scale = 0.125 : f64}
    : (tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16>, tensor<1x64x1x64xbf16>) -> (tensor<1x64x1x64xbf16>, tensor<1x64x1xf32>)
  return %o : tensor<1x64x1x64xbf16>
}
func.func private @one_key(%q: tensor<1x64x1x64xbf16>, %k: tensor<1x1x1x64xbf16>, %v: tensor<1x1x1x64xbf16>)
    -> tensor<1x64x1x64xbf16> attributes {tsp.kernel} {
  %o, %l = tsp.sdpa %q, %k, %v {scale = 0.125 : f64}
    : (tensor<1x64x1x64xbf16>, tensor<1x1x1x64xbf16>, tensor<1x1x1x64xbf16>) -> (tensor<1x64x1x64xbf16>, tensor<1x64x1xf32>)
  return %o : tensor<1x64x1x64xbf16>
}

// ERROR: error: no architecture named 'sm_90b'; choose one of sm_80
