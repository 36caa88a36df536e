// RUN: tsp-opt %s --tsp-gpu-lower-fused-kernels | FileCheck %s

// Places in buffers are 32-bit numbers where all of them are below 2^31, and
// 64-bit ones in others: a block has 2048 elements.
module {
// CHECK-LABEL: gpu.func @small
// CHECK: arith.constant 2048 : i32
// CHECK-NOT: arith.constant 2048 : index
func.func private @small(%x: tensor<1000x1000xbf16>) -> tensor<1000x1000xbf16> attributes {tsp.kernel, tsp.tied = array<i64: 0>} {
  %0 = stablehlo.negate %x : tensor<1000x1000xbf16>
  return %0 : tensor<1000x1000xbf16>
}

// CHECK-LABEL: gpu.func @large
// CHECK-NOT: arith.constant 2048 : i32
// CHECK: arith.constant 2048 : index
// CHECK-NOT: arith.constant 2048 : i32
// CHECK: gpu.return
func.func private @large(%x: tensor<70000x40000xbf16>) -> tensor<70000x40000xbf16> attributes {tsp.kernel, tsp.tied = array<i64: 0>} {
  %0 = stablehlo.negate %x : tensor<70000x40000xbf16>
  return %0 : tensor<70000x40000xbf16>
}
}
