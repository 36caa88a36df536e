// RUN: tsp-opt %s --tsp-gpu-lower-gemm-kernels --split-input-file | FileCheck %s

// Weights as rows: both sides are read along k, 16 bytes at a time. Few tiles:
// they are small, so that more processors have work.
// CHECK-LABEL: gpu.func @weight_rows
// CHECK-SAME: memref<512x576xbf16>{{.*}}memref<1536x576xbf16>{{.*}}memref<512x1536xbf16>
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
// CHECK: nvvm.cp.async.shared.global {{.*}}, 16, cache = cg
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 3
// CHECK: gpu.barrier
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>
// 18 tiles of k, of which 4 are on their way. A tile is multiplied while the
// fragments of the next one are read, whose memory is then filled.
// CHECK: scf.for %{{.*}} = %c0_i32{{.*}} to %c14_i32
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>
// CHECK: nvvm.cp.async.wait.group 2
// CHECK-NEXT: gpu.barrier
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.mma.sync
// CHECK: scf.for %{{.*}} = %c14_i32{{.*}} to %c17_i32
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: gpu.barrier
// Results are rounded by twos, then turned into runs of 16 bytes.
// CHECK: nvvm.bar.warp.sync
// CHECK: arith.truncf %{{.*}} : vector<2xf32> to vector<2xbf16>
// CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : i32, !llvm.ptr<3>
// CHECK: nvvm.bar.warp.sync
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
// CHECK: func.func private @weight_rows
// CHECK-SAME: tsp.device_block = array<i64: 128, 1, 1>, tsp.device_grid = array<i64: 96, 1, 1>
// CHECK-SAME: tsp.device_workspace = 0
func.func private @weight_rows(%x: tensor<512x576xbf16>, %w: tensor<1536x576xbf16>) -> tensor<512x1536xbf16>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1]
    : (tensor<512x576xbf16>, tensor<1536x576xbf16>) -> tensor<512x1536xbf16>
  return %y : tensor<512x1536xbf16>
}

// -----

// Both sides lie along m and n: ldmatrix turns them.
// CHECK-LABEL: gpu.func @gradient
// CHECK-NOT: layout = #nvvm.mma_layout<row>, num
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>
// CHECK: gpu.return
func.func private @gradient(%x: tensor<576x512xf16>, %w: tensor<576x1536xf16>) -> tensor<512x1536xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [0] x [0]
    : (tensor<576x512xf16>, tensor<576x1536xf16>) -> tensor<512x1536xf32>
  return %y : tensor<512x1536xf32>
}

// -----

// Lines of 43 elements start at odd addresses: they are read one by one, those
// of %w two by two. What is past an edge is zero.
// CHECK-LABEL: gpu.func @odd
// CHECK: nvvm.cp.async.shared.global {{.*}}, 4, cache = ca, %
// CHECK: llvm.load {{.*}} -> bf16
// CHECK: arith.select {{.*}} : bf16
// CHECK: nvvm.mma.sync
// CHECK: gpu.return
func.func private @odd(%x: tensor<67x43xbf16>, %w: tensor<43x102xbf16>) -> tensor<67x102xbf16>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<67x43xbf16>, tensor<43x102xbf16>) -> tensor<67x102xbf16>
  return %y : tensor<67x102xbf16>
}

// -----

// The precision that was asked for: no tensor core.
// CHECK-LABEL: gpu.func @exact
// CHECK-NOT: nvvm.mma
// CHECK: fma{{.*}}f32
// CHECK: gpu.return
func.func private @exact(%x: tensor<67x43xf32>, %w: tensor<43x101xf32>) -> tensor<67x101xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<67x43xf32>, tensor<43x101xf32>) -> tensor<67x101xf32>
  return %y : tensor<67x101xf32>
}

// -----

// One row: warps sum columns of %w, then the bias and the residual follow.
// CHECK-LABEL: gpu.func @decode
// CHECK: scf.for
// CHECK: llvm.load {{.*}} -> vector<8xbf16>
// CHECK: fma
// CHECK: nvvm.shfl.sync bfly
// CHECK: arith.addf
// CHECK: memref.store
// CHECK: func.func private @decode
func.func private @decode(%x: tensor<1x576xbf16>, %w: tensor<1536x576xbf16>, %bias: tensor<1536xbf16>,
                          %r: tensor<1x1536xbf16>) -> tensor<1x1536xbf16>
    attributes {tsp.kernel, tsp.tied = array<i64: 3>} {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1]
    : (tensor<1x576xbf16>, tensor<1536x576xbf16>) -> tensor<1x1536xbf16>
  %b = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<1536xbf16>) -> tensor<1x1536xbf16>
  %s = stablehlo.add %y, %b : tensor<1x1536xbf16>
  %o = stablehlo.add %s, %r : tensor<1x1536xbf16>
  return %o : tensor<1x1536xbf16>
}

// -----

// No product: left to others.
// CHECK-LABEL: func.func private @other
// CHECK: stablehlo.add
func.func private @other(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tsp.kernel, tsp.tied = array<i64: 0>} {
  %y = stablehlo.add %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: gpu.func @tf32
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>
// CHECK: nvvm.convert.float.to.tf32 {{.*}}rna
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>{{.*}}k = 8
// CHECK: gpu.return
func.func private @tf32(%x: tensor<67x43xf32>, %w: tensor<43x101xf32>) -> tensor<67x101xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0],
    algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1,
                 rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>
    : (tensor<67x43xf32>, tensor<43x101xf32>) -> tensor<67x101xf32>
  return %y : tensor<67x101xf32>
}

// -----

// Weights of int8 and a scale for each column: read as 16 of both at the start of
// a step, while cp.async copies the other side; computed, rounded in pairs, and
// written in chunks of 16 bytes at its end.
// CHECK-LABEL: gpu.func @quantised(
// CHECK: scf.for
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<16xi8>
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
// CHECK: nvvm.mma.sync
// CHECK: gpu.barrier
// CHECK: arith.sitofp {{.*}} : i8 to f32
// CHECK: arith.mulf
// CHECK: arith.truncf {{.*}} : vector<2xf32> to vector<2xbf16>
// CHECK: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.mma.sync
// CHECK: gpu.return
func.func private @quantised(%x: tensor<512x576xbf16>, %q: tensor<576x1536xi8>, %s: tensor<1536xbf16>) -> tensor<512x1536xbf16>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %c = stablehlo.convert %q : (tensor<576x1536xi8>) -> tensor<576x1536xbf16>
  %b = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<1536xbf16>) -> tensor<576x1536xbf16>
  %w = stablehlo.multiply %c, %b : tensor<576x1536xbf16>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<512x576xbf16>, tensor<576x1536xbf16>) -> tensor<512x1536xbf16>
  return %y : tensor<512x1536xbf16>
}
