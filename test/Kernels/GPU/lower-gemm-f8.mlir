// RUN: tsp-opt %s --tsp-gpu-lower-gemm-kernels=architectures=sm_80,sm_89 | FileCheck %s
// RUN: tsp-opt %s --tsp-gpu-lower-gemm-kernels=architectures=sm_89,sm_120 | FileCheck %s --check-prefix=ALL

// RUN: tsp-opt %s --tsp-gpu-lower-gemm-kernels=architectures=sm_80,sm_89,sm_90a,sm_120 | FileCheck %s --check-prefix=MORE

// Each architecture that multiplies f8 has a variant of its own, which leads to
// the next one.
// MORE: gpu.func @along_k_sm_90a(
// MORE-NOT: tsp.device_variant
// MORE: nvvm.wgmma.mma_async {{.*}}A[<e4m3>
// MORE: gpu.func @along_k_sm_89(
// MORE-SAME: tsp.device_variant = @along_k_sm_90a
// MORE: m16n8k32
// MORE: gpu.func @along_k_sm_120(
// MORE-SAME: tsp.device_variant = @along_k_sm_89
// MORE: m16n8k32
// MORE: gpu.func @along_k(
// MORE-SAME: tsp.device_variant = @along_k_sm_120
// MORE-NOT: m16n8k32

// Of an architecture that multiplies f8 and one that does not, the first one has
// a variant; where all do there is none.
// CHECK: gpu.func @along_k_sm_89(
// CHECK-SAME: tsp.device_architecture = "sm_89"
// CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.f32.e4m3.e5m2.f32"
// CHECK: gpu.func @along_k(
// CHECK-SAME: tsp.device_variant = @along_k_sm_89
// CHECK: nvvm.mma.sync {{.*}} : (vector<2xf16>, vector<2xf16>, f32)
// ALL: gpu.func @along_k(
// ALL-NOT: tsp.device_variant
// ALL: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.f32.e4m3.e5m2.f32"
// ALL-NOT: gpu.func @along_k_sm
func.func private @along_k(%x: tensor<64x256xf8E4M3FN>, %w: tensor<128x256xf8E5M2>) -> tensor<64x128xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<64x256xf8E4M3FN>, tensor<128x256xf8E5M2>) -> tensor<64x128xf32>
  return %y : tensor<64x128xf32>
}

// Bytes cannot be turned on their way to registers: f16 holds them.
// CHECK-NOT: gpu.func @across_sm_89(
// CHECK: gpu.func @across(
// CHECK-NOT: m16n8k32
// ALL: gpu.func @across(
// ALL-NOT: m16n8k32
func.func private @across(%x: tensor<64x256xf8E4M3FN>, %w: tensor<256x128xf8E4M3FN>) -> tensor<64x128xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x256xf8E4M3FN>, tensor<256x128xf8E4M3FN>) -> tensor<64x128xf32>
  return %y : tensor<64x128xf32>
}

func.func @main() {
  return
}
