// RUN: tsp-opt %s -tsp-gpu-lower-fused-kernels -canonicalize -cse | FileCheck %s
// RUN: tsp-opt %s -tsp-gpu-kernel-pipeline -o /dev/null

// A thread has as many neighbours as fill 16 bytes, loads all, then stores all.

// CHECK-LABEL: gpu.func @elements(
// CHECK-SAME:    known_block_size = array<i32: 256, 1, 1>
// CHECK:         gpu.thread_id x
// CHECK:         gpu.block_id x
// CHECK-COUNT-8: memref.load
// CHECK-NOT:     memref.load
// CHECK-COUNT-4: memref.store
// CHECK-NOT:     memref.store
// CHECK:         gpu.return
func.func private @elements(%a: tensor<512x1024xf32>, %b: tensor<512x1024xf32>)
    -> tensor<512x1024xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = stablehlo.multiply %a, %b : tensor<512x1024xf32>
  return %0 : tensor<512x1024xf32>
}

// Threads beyond the last element do nothing. Indices take 32 bits.

// CHECK-LABEL: gpu.func @tail(
// CHECK:         scf.if
// CHECK:           arith.addi %{{.*}} : i32
// CHECK:           memref.load
// CHECK:           memref.store
func.func private @tail(%a: tensor<7x11xi32>) -> tensor<11x7xi32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<7x11xi32>) -> tensor<11x7xi32>
  return %0 : tensor<11x7xi32>
}

// A team computes a row: loads are not repeated for the second loop, lanes are
// merged by shuffles, and warps by shared memory.

// CHECK-LABEL: gpu.func @softmax(
// CHECK-SAME:    workgroup(%{{.*}} : memref<128xi8, #gpu.address_space<workgroup>>
// CHECK-COUNT-16: memref.load %{{.*}} : memref<524288xf32>
// CHECK-NOT:     memref<524288xf32>
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK:         scf.if
// CHECK:           memref.store %{{.*}} : memref<8xf32, #gpu.address_space<workgroup>>
// CHECK:         gpu.barrier
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK:         gpu.barrier
// CHECK-COUNT-16: memref.store %{{.*}} : memref<524288xf32>
// CHECK-NOT:     memref.store
// CHECK:         gpu.return
func.func private @softmax(%x: tensor<512x1024xf32>) -> tensor<512x1024xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1]
      : (tensor<512x1024xf32>, tensor<f32>) -> tensor<512xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<512xf32>) -> tensor<512x1024xf32>
  %d = stablehlo.subtract %x, %mb : tensor<512x1024xf32>
  %e = stablehlo.exponential %d : tensor<512x1024xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<512x1024xf32>, tensor<f32>) -> tensor<512xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<512xf32>) -> tensor<512x1024xf32>
  %y = stablehlo.divide %e, %sb : tensor<512x1024xf32>
  return %y : tensor<512x1024xf32>
}

// Columns side by side: a warp reads a line, and the threads of a column meet in
// shared memory. No shuffles.

// CHECK-LABEL: gpu.func @columns(
// CHECK-NOT:     gpu.shuffle
// CHECK:         memref.store %{{.*}} : memref<256xf32, #gpu.address_space<workgroup>>
// CHECK:         gpu.barrier
// CHECK-COUNT-8: memref.load %{{.*}} : memref<256xf32, #gpu.address_space<workgroup>>
// CHECK-NOT:     gpu.shuffle
// CHECK:         gpu.return
func.func private @columns(%x: tensor<512x64xf32>) -> tensor<64xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<512x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %s : tensor<64xf32>
}

// The halves of a concatenation are different blocks.

// CHECK-LABEL: gpu.func @rotate(
// CHECK:         arith.cmpi ult
// CHECK:         scf.if
// CHECK:           arith.negf
// CHECK:         scf.if
// CHECK-NOT:       arith.negf
// CHECK:         gpu.return
func.func private @rotate(%x: tensor<128x64xf32>) -> tensor<128x64xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %a = stablehlo.slice %x [0:128, 0:32] : (tensor<128x64xf32>) -> tensor<128x32xf32>
  %b = stablehlo.slice %x [0:128, 32:64] : (tensor<128x64xf32>) -> tensor<128x32xf32>
  %n = stablehlo.negate %b : tensor<128x32xf32>
  %r = stablehlo.concatenate %n, %a, dim = 1
      : (tensor<128x32xf32>, tensor<128x32xf32>) -> tensor<128x64xf32>
  return %r : tensor<128x64xf32>
}

// A reduction that no row can hold: one block, which has the sums in memory of
// the launch before it goes on.

// CHECK-LABEL: gpu.func @misfit(
// CHECK-SAME:    %[[SPACE:[a-z0-9]+]]: memref<256xi8>)
// CHECK-SAME:    known_block_size = array<i32: 512, 1, 1>
// CHECK:         memref.view %[[SPACE]]
// CHECK:         gpu.barrier
// CHECK:         gpu.barrier
// CHECK:         gpu.return
func.func private @misfit(%x: tensor<8x32xf32>) -> tensor<8xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<8x32xf32>, tensor<f32>) -> tensor<8xf32>
  %r = stablehlo.reverse %s, dims = [0] : tensor<8xf32>
  %y = stablehlo.add %s, %r : tensor<8xf32>
  return %y : tensor<8xf32>
}

// A transpose crosses over in shared memory: rows of the tile are 33 words, so
// that reading along either way meets each bank once.

// CHECK-LABEL: gpu.func @transpose(
// CHECK-SAME:    workgroup(%{{.*}} : memref<4224xi8, #gpu.address_space<workgroup>>
// CHECK-COUNT-4: memref.store %{{.*}} : memref<1056xf32, #gpu.address_space<workgroup>>
// CHECK:         gpu.barrier
// CHECK-COUNT-4: memref.load %{{.*}} : memref<1056xf32, #gpu.address_space<workgroup>>
// CHECK:         gpu.return
func.func private @transpose(%x: tensor<128x96xf32>, %y: tensor<96x128xf32>) -> tensor<96x128xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<128x96xf32>) -> tensor<96x128xf32>
  %0 = stablehlo.add %t, %y : tensor<96x128xf32>
  return %0 : tensor<96x128xf32>
}

// What the host program launches.

// CHECK:       func.func private @misfit
// CHECK-SAME:    tsp.device_block = array<i64: 512, 1, 1>
// CHECK-SAME:    tsp.device_grid = array<i64: 1, 1, 1>
// CHECK-SAME:    tsp.device_workspace = 256 : i64
// CHECK:       func.func private @transpose
// CHECK-SAME:    tsp.device_grid = array<i64: 12, 1, 1>
