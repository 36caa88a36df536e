// RUN: tsp-opt %s --tsp-gpu-lower-gemm-kernels=architectures=sm_80,sm_90a --split-input-file | FileCheck %s
// RUN: tsp-opt %s --tsp-gpu-lower-gemm-kernels=architectures=sm_80,sm_90 --split-input-file | FileCheck %s --check-prefix=PLAIN

// PLAIN-NOT: sm_90a

// The variant reads both sides through tensor maps, in boxes of 128 bytes of k.
// One thread fills a ring of four stages; two warpgroups of 64 rows multiply.
// The two blocks of a cluster are below each other: each copies half of B to
// both. 132 blocks have 256 tiles.
// CHECK-LABEL: gpu.func @weight_rows_sm_90a
// CHECK-SAME: memref<2048x576xbf16>{{.*}}memref<4096x576xbf16>{{.*}}memref<2048x4096xbf16>{{.*}}%[[A:.*]]: !llvm.ptr, %[[B:.*]]: !llvm.ptr, %[[C:.*]]: !llvm.ptr)
// CHECK-SAME: known_block_size = array<i32: 384, 1, 1>
// CHECK: scf.if
// CHECK-DAG: nvvm.prefetch tensormap, %[[A]]
// CHECK-DAG: nvvm.prefetch tensormap, %[[B]]
// CHECK-DAG: nvvm.prefetch tensormap, %[[C]]
// CHECK-COUNT-8: nvvm.mbarrier.init
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.cluster.arrive.relaxed
// CHECK: nvvm.cluster.wait

// Consumers. Products of a step start when its stage is full; then those of the
// step before are waited for, and its stage is empty.
// CHECK: nvvm.setmaxregister increase 232
// CHECK: %[[EMPTY:.*]] = nvvm.mapa %
// CHECK: scf.for %{{.*}} = %{{.*}} to %c256_i32{{.*}} step %c132_i32
// CHECK-NOT: nvvm.barrier id
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.wgmma.fence.aligned
// CHECK: nvvm.wgmma.mma_async {{.*}}<m = 64, n = 256, k = 16>, D[<f32>, <zero>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
// CHECK-COUNT-3: nvvm.wgmma.mma_async {{.*}}D[<f32>, <one>]
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: scf.for %{{.*}} = %c1_i32{{.*}} to %c9_i32
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.wgmma.fence.aligned
// CHECK-COUNT-4: nvvm.wgmma.mma_async {{.*}}D[<f32>, <one>]
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: nvvm.wgmma.wait.group.sync.aligned 1
// CHECK: %[[OTHER:.*]] = llvm.getelementptr %[[EMPTY]]
// CHECK: nvvm.mbarrier.arrive %[[OTHER]] : !llvm.ptr<7>
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0

// The last stage is empty too. Results are rounded by twos and leave by copies
// of boxes of 16 x 64, two of which each warp has room for.
// CHECK: nvvm.mbarrier.arrive %{{.*}} : !llvm.ptr<7>
// CHECK: nvvm.cp.async.bulk.wait_group 1 {read}
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-4: arith.truncf %{{.*}} : vector<2xf32> to vector<2xbf16>
// CHECK: nvvm.stmatrix %
// CHECK-COUNT-3: nvvm.stmatrix %
// CHECK: nvvm.fence.proxy
// CHECK: nvvm.bar.warp.sync
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta %[[C]], %{{.*}}, box[%{{[^,]*}}, %{{[^,]*}}]
// CHECK: nvvm.cp.async.bulk.commit.group
// CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK: nvvm.cluster.wait

// The producer: 48 KB a stage.
// CHECK: nvvm.setmaxregister decrease 40
// CHECK: nvvm.elect.sync
// CHECK: scf.for %{{.*}} = %{{.*}} to %c256_i32{{.*}} step %c132_i32
// CHECK: scf.for %{{.*}} = %c0_i32{{.*}} to %c9_i32
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c49152_i32
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[A]], %{{.*}}, box[%{{[^,]*}}, %{{[^,]*}}]
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[B]], %{{.*}}, box[%{{[^,]*}}, %{{[^,]*}}] multicast_mask = %c3_i16
// CHECK: gpu.return

// The general kernel stays for all others.
// CHECK-LABEL: gpu.func @weight_rows(
// CHECK: nvvm.mma.sync
// CHECK: gpu.return

// CHECK-LABEL: func.func private @weight_rows(
// CHECK-SAME: tsp.device_variant = @weight_rows_sm_90a
// CHECK-LABEL: func.func private @weight_rows_sm_90a(
// CHECK-SAME: tsp.device_architecture = "sm_90a", tsp.device_block = array<i64: 384, 1, 1>, tsp.device_cluster = array<i64: 2, 1, 1>, tsp.device_grid = array<i64: 132, 1, 1>
// CHECK-SAME: tsp.device_maps = [
// CHECK-SAME: {box = array<i64: 64, 128>, buffer = 0 : i64, element = bf16, offset = 0 : i64, sizes = array<i64: 576, 2048>, strides = array<i64: 1152>, swizzle = 128 : i64}
// CHECK-SAME: {box = array<i64: 64, 128>, buffer = 1 : i64, element = bf16, offset = 0 : i64, sizes = array<i64: 576, 4096>, strides = array<i64: 1152>, swizzle = 128 : i64}
// CHECK-SAME: {box = array<i64: 64, 16>, buffer = 2 : i64, element = bf16, offset = 0 : i64, sizes = array<i64: 4096, 2048>, strides = array<i64: 8192>, swizzle = 128 : i64}
// CHECK-SAME: tsp.device_shared = 229440 : i64, tsp.device_tiles = 256 : i64
func.func private @weight_rows(%x: tensor<2048x576xbf16>, %w: tensor<4096x576xbf16>) -> tensor<2048x4096xbf16>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1]
    : (tensor<2048x576xbf16>, tensor<4096x576xbf16>) -> tensor<2048x4096xbf16>
  return %y : tensor<2048x4096xbf16>
}

// -----

// Sides along m and n come in boxes of 64 of them; wgmma turns them. Two
// warpgroups have tiles in turns: each waits for the other's products to be
// started, but for the first tile, and tells the other, but for the last one.
// Sums in f32 are staged by threads.
// CHECK-LABEL: gpu.func @gradient_sm_90a
// CHECK: nvvm.setmaxregister increase 232
// CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %{{.*}}
// CHECK: scf.for %{{.*}} to %c80_i32{{.*}} step %c160_i32
// CHECK: nvvm.barrier id = %{{.*}} number_of_threads = %c256_i32
// CHECK: nvvm.wgmma.mma_async {{.*}}A[<f16>, <one>, <col>], B[<f16>, <one>, <row>]
// CHECK: nvvm.barrier.arrive id = %{{.*}} number_of_threads = %c256_i32
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK-NOT: nvvm.stmatrix
// CHECK: memref.store
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[A:.*]], %{{.*}}, box
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[B:.*]], %{{.*}}, box
// CHECK: gpu.return
// CHECK: box = array<i64: 64, 64>, buffer = 0 : i64, element = f16, offset = 0 : i64, sizes = array<i64: 512, 576>, strides = array<i64: 1024>
// CHECK: box = array<i64: 64, 64>, buffer = 1 : i64, element = f16, offset = 0 : i64, sizes = array<i64: 640, 576>, strides = array<i64: 1280>
func.func private @gradient(%x: tensor<576x512xf16>, %w: tensor<576x640xf16>) -> tensor<512x640xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [0] x [0]
    : (tensor<576x512xf16>, tensor<576x640xf16>) -> tensor<512x640xf32>
  return %y : tensor<512x640xf32>
}

// -----

// Outer dims and further contracted ones are dims of the map.
// CHECK-LABEL: gpu.func @heads_sm_90a
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}}box[%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}]
// CHECK: box = array<i64: 64, 64, 1, 1>, buffer = 0 : i64, element = bf16, offset = 0 : i64, sizes = array<i64: 64, 128, 12, 2>, strides = array<i64: 1536, 128, 196608>
func.func private @heads(%x: tensor<2x128x12x64xbf16>, %w: tensor<2x64x12x256xbf16>) -> tensor<2x128x256xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %y = stablehlo.dot_general %x, %w, batching_dims = [0] x [0], contracting_dims = [2, 3] x [2, 1]
    : (tensor<2x128x12x64xbf16>, tensor<2x64x12x256xbf16>) -> tensor<2x128x256xf32>
  return %y : tensor<2x128x256xf32>
}

// -----

// f8 is multiplied as it is, f32 as tf32, which the copies round to.
// CHECK-LABEL: gpu.func @float8_sm_90a
// CHECK: nvvm.wgmma.mma_async {{.*}}k = 32>, {{.*}}A[<e4m3>, <one>, <row>], B[<e5m2>, <one>, <col>]
// CHECK: box = array<i64: 128, 64>, buffer = 0 : i64, element = f8E4M3FN,
func.func private @float8(%x: tensor<512x576xf8E4M3FN>, %w: tensor<640x576xf8E5M2>) -> tensor<512x640xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1]
    : (tensor<512x576xf8E4M3FN>, tensor<640x576xf8E5M2>) -> tensor<512x640xf32>
  return %y : tensor<512x640xf32>
}

// -----

// CHECK-LABEL: gpu.func @rounded_sm_90a
// CHECK: nvvm.wgmma.mma_async {{.*}}k = 8>, {{.*}}A[<tf32>, <one>, <row>], B[<tf32>, <one>, <col>]
// CHECK: box = array<i64: 32, 64>, buffer = 0 : i64, element = tf32,
func.func private @rounded(%x: tensor<512x576xf32>, %w: tensor<640x576xf32>) -> tensor<512x640xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1],
    algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>
    : (tensor<512x576xf32>, tensor<640x576xf32>) -> tensor<512x640xf32>
  return %y : tensor<512x640xf32>
}

// -----

// Exact f32 has no variant, nor have few rows.
// CHECK-LABEL: gpu.func @exact(
// CHECK-NOT: sm_90a
func.func private @exact(%x: tensor<512x576xf32>, %w: tensor<640x576xf32>) -> tensor<512x640xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1]
    : (tensor<512x576xf32>, tensor<640x576xf32>) -> tensor<512x640xf32>
  return %y : tensor<512x640xf32>
}

// -----

// CHECK-LABEL: gpu.func @decode(
// CHECK-NOT: sm_90a
func.func private @decode(%x: tensor<4x576xbf16>, %w: tensor<640x576xbf16>) -> tensor<4x640xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1]
    : (tensor<4x576xbf16>, tensor<640x576xbf16>) -> tensor<4x640xf32>
  return %y : tensor<4x640xf32>
}

// -----

// What tensor maps cannot read keeps the general kernel, which says why.
// CHECK-NOT: gpu.func @{{.*}}_sm_90a
// CHECK: func.func private @odd_lines(
// CHECK-SAME: tsp.device_no_variant = "B has lines 1142 bytes apart, which is no multiple of 16"
func.func private @odd_lines(%x: tensor<512x576xbf16>, %w: tensor<576x571xbf16>) -> tensor<512x571xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<512x576xbf16>, tensor<576x571xbf16>) -> tensor<512x571xf32>
  return %y : tensor<512x571xf32>
}

// -----

// CHECK-NOT: gpu.func @{{.*}}_sm_90a
// CHECK: func.func private @turned_float8(
// CHECK-SAME: tsp.device_no_variant = "B does not run along k, as elements of 8 bits have to"
func.func private @turned_float8(%x: tensor<512x576xf8E4M3FN>, %w: tensor<576x640xf8E4M3FN>) -> tensor<512x640xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<512x576xf8E4M3FN>, tensor<576x640xf8E4M3FN>) -> tensor<512x640xf32>
  return %y : tensor<512x640xf32>
}

// -----

// CHECK-NOT: gpu.func @{{.*}}_sm_90a
// CHECK: func.func private @quantised(
// CHECK-SAME: tsp.device_no_variant = "B is computed by the kernel"
func.func private @quantised(%x: tensor<512x576xbf16>, %q: tensor<576x640xi8>) -> tensor<512x640xbf16>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %w = stablehlo.convert %q : (tensor<576x640xi8>) -> tensor<576x640xbf16>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<512x576xbf16>, tensor<576x640xbf16>) -> tensor<512x640xbf16>
  return %y : tensor<512x640xbf16>
}
