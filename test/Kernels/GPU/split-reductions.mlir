// RUN: tsp-opt %s --tsp-gpu-split-reductions --split-input-file | FileCheck %s
// RUN: tsp-opt %s --tsp-gpu-split-reductions --tsp-form-kernels --split-input-file | FileCheck %s --check-prefix=KERNELS

// Parts of the contraction are a batching dim; their sum is rounded once.
// CHECK-LABEL: func.func public @product
// CHECK: %[[A:.*]] = stablehlo.reshape %arg0 : (tensor<16x8192xbf16>) -> tensor<16x[[P:.*]]x[[K:.*]]xbf16>
// CHECK: %[[B:.*]] = stablehlo.reshape %arg1 : (tensor<8192x256xbf16>) -> tensor<[[P]]x[[K]]x256xbf16>
// CHECK: %[[PARTS:.*]] = stablehlo.dot_general %[[A]], %[[B]], batching_dims = [1] x [0], contracting_dims = [2] x [1]
// CHECK-SAME: -> tensor<[[P]]x16x256xf32>
// CHECK: %[[SUM:.*]] = stablehlo.reduce(%[[PARTS]] init: %{{.*}}) applies stablehlo.add across dimensions = [0]
// CHECK: stablehlo.convert %[[SUM]] : (tensor<16x256xf32>) -> tensor<16x256xbf16>

// What follows the product follows the sum, in the second kernel.
// KERNELS-LABEL: func.func public @product
// KERNELS-NEXT: stablehlo.reshape
// KERNELS-NEXT: stablehlo.reshape
// KERNELS-NEXT: %[[PARTS:.*]] = tsp.launch @k_dot_general
// KERNELS-NEXT: %[[Y:.*]] = tsp.launch @{{.*}}(%arg2, %[[PARTS]])
// KERNELS-NEXT: return %[[Y]]
func.func public @product(%x: tensor<16x8192xbf16>, %w: tensor<8192x256xbf16>, %r: tensor<16x256xbf16>) -> tensor<16x256xbf16> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x8192xbf16>, tensor<8192x256xbf16>) -> tensor<16x256xbf16>
  %z = stablehlo.add %r, %y : tensor<16x256xbf16>
  return %z : tensor<16x256xbf16>
}

// -----

// A batching dim stays one, and of two contracted dims the better one is divided.
// CHECK-LABEL: func.func public @weight_gradient
// CHECK: stablehlo.dot_general {{.*}}, batching_dims = [1, 0] x [1, 0], contracting_dims = [2, 3] x [2, 3]
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0]
func.func public @weight_gradient(%x: tensor<2x32x512x16xf32>, %y: tensor<2x32x512x24xf32>) -> tensor<2x16x24xf32> {
  %g = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1, 2] x [1, 2]
    : (tensor<2x32x512x16xf32>, tensor<2x32x512x24xf32>) -> tensor<2x16x24xf32>
  return %g : tensor<2x16x24xf32>
}

// -----

// One row: bound by reading the weights, which a few blocks cannot do at full
// rate. The transpose is still read by strides.
// KERNELS-LABEL: func.func public @one_row
// KERNELS-NEXT: stablehlo.reshape %arg0
// KERNELS-NEXT: tsp.launch @k_dot_general
// KERNELS-NEXT: tsp.launch
// KERNELS-NEXT: return
// KERNELS: func.func private @k_dot_general
// KERNELS: stablehlo.transpose
// KERNELS: stablehlo.dot_general
func.func public @one_row(%x: tensor<1x16384xbf16>, %w: tensor<256x16384xbf16>) -> tensor<1x256xf32> {
  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<256x16384xbf16>) -> tensor<16384x256xbf16>
  %y = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<1x16384xbf16>, tensor<16384x256xbf16>) -> tensor<1x256xf32>
  return %y : tensor<1x256xf32>
}

// -----

// Whole: enough tiles; a short contraction; one that no part divides.
// CHECK-LABEL: func.func public @whole
// CHECK-NOT: reduce
// CHECK: return
func.func public @whole(%a: tensor<4096x4096xbf16>, %b: tensor<4096x4096xbf16>, %c: tensor<16x256xbf16>, %d: tensor<256x256xbf16>,
    %e: tensor<16x8191xbf16>, %f: tensor<8191x256xbf16>) -> (tensor<4096x4096xbf16>, tensor<16x256xbf16>, tensor<16x256xbf16>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  %1 = stablehlo.dot_general %c, %d, contracting_dims = [1] x [0] : (tensor<16x256xbf16>, tensor<256x256xbf16>) -> tensor<16x256xbf16>
  %2 = stablehlo.dot_general %e, %f, contracting_dims = [1] x [0] : (tensor<16x8191xbf16>, tensor<8191x256xbf16>) -> tensor<16x256xbf16>
  return %0, %1, %2 : tensor<4096x4096xbf16>, tensor<16x256xbf16>, tensor<16x256xbf16>
}

// -----

// All of a tensor: reduced dims next to each other are divided as one. The first
// step starts from what changes nothing.
// CHECK-LABEL: func.func public @everything
// CHECK: %[[INIT:.*]] = stablehlo.constant dense<3.0
// CHECK: %[[X:.*]] = stablehlo.reshape %arg0 : (tensor<1024x1000xf32>) -> tensor<[[P:.*]]x[[N:.*]]xf32>
// CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0.0
// CHECK: %[[PARTS:.*]] = stablehlo.reduce(%[[X]] init: %[[ZERO]]) applies stablehlo.add across dimensions = [1]
// CHECK-SAME: -> tensor<[[P]]xf32>
// CHECK: stablehlo.reduce(%[[PARTS]] init: %[[INIT]]) applies stablehlo.add across dimensions = [0]
// CHECK-SAME: -> tensor<f32>
func.func public @everything(%x: tensor<1024x1000xf32>) -> tensor<f32> {
  %init = stablehlo.constant dense<3.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [0, 1] : (tensor<1024x1000xf32>, tensor<f32>) -> tensor<f32>
  return %s : tensor<f32>
}

// -----

// The gradient of a bias: columns side by side; a dim behind them is reduced at once.
// CHECK-LABEL: func.func public @columns
// CHECK: stablehlo.reshape %arg0 : (tensor<8x512x64xf32>) -> tensor<[[P:.*]]x[[N:.*]]x64xf32>
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK-SAME: -> tensor<[[P]]x64xf32>
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0]
// CHECK: stablehlo.reshape %arg1 : (tensor<2048x16x8x4xf32>) -> tensor<[[Q:.*]]x{{.*}}x16x8x4xf32>
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.maximum across dimensions = [1, 3]
// CHECK-SAME: -> tensor<[[Q]]x16x4xf32>
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.maximum across dimensions = [0]
func.func public @columns(%x: tensor<8x512x64xf32>, %y: tensor<2048x16x8x4xf32>) -> (tensor<64xf32>, tensor<16x4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x512x64xf32>, tensor<f32>) -> tensor<64xf32>
  %t = stablehlo.reduce(%y init: %zero) applies stablehlo.maximum across dimensions = [0, 2] : (tensor<2048x16x8x4xf32>, tensor<f32>) -> tensor<16x4xf32>
  return %s, %t : tensor<64xf32>, tensor<16x4xf32>
}

// -----

// Rows of a norm stay in one kernel with what reads them; sums in bf16 would be
// rounded part by part.
// CHECK-LABEL: func.func public @rows
// CHECK-NOT: stablehlo.reshape
// CHECK: return
func.func public @rows(%x: tensor<16x131072xf32>, %y: tensor<1x131072xbf16>) -> (tensor<16xf32>, tensor<1xbf16>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zero_bf16 = stablehlo.constant dense<0.0> : tensor<bf16>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16x131072xf32>, tensor<f32>) -> tensor<16xf32>
  %t = stablehlo.reduce(%y init: %zero_bf16) applies stablehlo.add across dimensions = [1] : (tensor<1x131072xbf16>, tensor<bf16>) -> tensor<1xbf16>
  return %s, %t : tensor<16xf32>, tensor<1xbf16>
}

// -----

// Of each part the k greatest, and of these the first k in a stable order.
// CHECK-LABEL: func.func public @top_k
// CHECK: %[[X:.*]] = stablehlo.reshape %arg0 : (tensor<2x50257xf32>) -> tensor<2x29x1733xf32>
// CHECK: %[[V:.*]], %[[I:.*]] = chlo.top_k(%[[X]], k = 40) : tensor<2x29x1733xf32> -> (tensor<2x29x40xf32>, tensor<2x29x40xi32>)
// CHECK: stablehlo.constant dense<1733>
// CHECK: "stablehlo.sort"(
// CHECK: stablehlo.compare GT, {{.*}}, TOTALORDER
// CHECK: stablehlo.slice {{.*}} [0:2, 0:40] : (tensor<2x1160xf32>) -> tensor<2x40xf32>
// CHECK: stablehlo.slice {{.*}} [0:2, 0:40] : (tensor<2x1160xi32>) -> tensor<2x40xi32>
func.func public @top_k(%x: tensor<2x50257xf32>) -> (tensor<2x40xf32>, tensor<2x40xi32>) {
  %v, %i = chlo.top_k(%x, k = 40) : tensor<2x50257xf32> -> (tensor<2x40xf32>, tensor<2x40xi32>)
  return %v, %i : tensor<2x40xf32>, tensor<2x40xi32>
}
