// RUN: tsp-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @reshape
// CHECK-NEXT: %[[A:.*]] = stablehlo.reshape %arg0 : (tensor<4x6xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: return %[[A]], %arg0
func.func @reshape(%x: tensor<4x6xf32>) -> (tensor<3x8xf32>, tensor<4x6xf32>) {
  %0 = stablehlo.reshape %x : (tensor<4x6xf32>) -> tensor<24xf32>
  %1 = stablehlo.reshape %0 : (tensor<24xf32>) -> tensor<3x8xf32>
  %2 = stablehlo.reshape %0 : (tensor<24xf32>) -> tensor<4x6xf32>
  return %1, %2 : tensor<3x8xf32>, tensor<4x6xf32>
}

// CHECK-LABEL: @transpose
// CHECK-NEXT: %[[A:.*]] = stablehlo.transpose %arg0, dims = [1, 2, 0]
// CHECK-NEXT: %[[B:.*]] = stablehlo.reshape %arg1 : (tensor<1x4x1x6xf32>) -> tensor<4x1x6x1xf32>
// CHECK-NEXT: return %[[A]], %arg0, %[[B]]
func.func @transpose(%x: tensor<2x3x4xf32>, %y: tensor<1x4x1x6xf32>) -> (tensor<3x4x2xf32>, tensor<2x3x4xf32>, tensor<4x1x6x1xf32>) {
  %0 = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = stablehlo.transpose %0, dims = [2, 0, 1] : (tensor<4x2x3xf32>) -> tensor<3x4x2xf32>
  %2 = stablehlo.transpose %0, dims = [1, 2, 0] : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>
  %3 = stablehlo.transpose %y, dims = [1, 2, 3, 0] : (tensor<1x4x1x6xf32>) -> tensor<4x1x6x1xf32>
  return %1, %2, %3 : tensor<3x4x2xf32>, tensor<2x3x4xf32>, tensor<4x1x6x1xf32>
}

// CHECK-LABEL: @broadcast
// CHECK-NEXT: %[[B:.*]] = stablehlo.reshape %arg0 : (tensor<6xf32>) -> tensor<1x6xf32>
// CHECK-NEXT: %[[A:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %[[C:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<6xf32>) -> tensor<2x4x6xf32>
// CHECK-NEXT: %[[D:.*]] = stablehlo.broadcast_in_dim %arg1, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: return %[[A]], %[[B]], %[[C]], %[[D]]
func.func @broadcast(%x: tensor<6xf32>, %y: tensor<3x2xf32>) -> (tensor<4x6xf32>, tensor<1x6xf32>, tensor<2x4x6xf32>, tensor<2x3xf32>) {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<6xf32>) -> tensor<1x6xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x6xf32>) -> tensor<4x6xf32>
  %2 = stablehlo.reshape %x : (tensor<6xf32>) -> tensor<1x1x6xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2] : (tensor<1x1x6xf32>) -> tensor<2x4x6xf32>
  %4 = stablehlo.broadcast_in_dim %y, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  return %1, %0, %3, %4 : tensor<4x6xf32>, tensor<1x6xf32>, tensor<2x4x6xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: @slice
// CHECK-NEXT: %[[A:.*]] = stablehlo.slice %arg0 [3:16:6] : (tensor<20xf32>) -> tensor<3xf32>
// CHECK-NEXT: %[[B:.*]] = stablehlo.slice %arg1 [1:3] : (tensor<4xf32>) -> tensor<2xf32>
// CHECK-NEXT: return %[[A]], %[[B]], %arg0
func.func @slice(%x: tensor<20xf32>, %y: tensor<4xf32>) -> (tensor<3xf32>, tensor<2xf32>, tensor<20xf32>) {
  %0 = stablehlo.slice %x [1:20:2] : (tensor<20xf32>) -> tensor<10xf32>
  %1 = stablehlo.slice %0 [1:8:3] : (tensor<10xf32>) -> tensor<3xf32>
  %2 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<20xf32>, tensor<4xf32>) -> tensor<24xf32>
  %3 = stablehlo.slice %2 [21:23] : (tensor<24xf32>) -> tensor<2xf32>
  %4 = stablehlo.slice %2 [0:20] : (tensor<24xf32>) -> tensor<20xf32>
  return %1, %3, %4 : tensor<3xf32>, tensor<2xf32>, tensor<20xf32>
}

// CHECK-LABEL: @slice_constant
// CHECK-NEXT: %[[A:.*]] = stablehlo.constant dense<{{\[}}[2, 3], [5, 6]]> : tensor<2x2xi32>
// CHECK-NEXT: return %[[A]]
func.func @slice_constant() -> tensor<2x2xi32> {
  %c = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %0 = stablehlo.slice %c [0:2, 1:3] : (tensor<2x3xi32>) -> tensor<2x2xi32>
  return %0 : tensor<2x2xi32>
}

// Starts out of range clamp.
// CHECK-LABEL: @dynamic_slice
// CHECK-NEXT: %[[A:.*]] = stablehlo.slice %arg0 [0:2, 3:6]
// CHECK-NEXT: return %[[A]]
func.func @dynamic_slice(%x: tensor<4x6xf32>) -> tensor<2x3xf32> {
  %c = stablehlo.constant dense<-1> : tensor<i32>
  %d = stablehlo.constant dense<9> : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %c, %d, sizes = [2, 3] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @concatenate
// CHECK-NEXT: %[[A:.*]] = stablehlo.concatenate %arg0, %arg1, %arg0, dim = 0
// CHECK-NEXT: return %[[A]], %arg0
func.func @concatenate(%x: tensor<2xf32>, %y: tensor<3xf32>, %e: tensor<0xf32>) -> (tensor<7xf32>, tensor<2xf32>) {
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  %1 = stablehlo.concatenate %0, %e, %x, dim = 0 : (tensor<5xf32>, tensor<0xf32>, tensor<2xf32>) -> tensor<7xf32>
  %2 = stablehlo.concatenate %x, dim = 0 : (tensor<2xf32>) -> tensor<2xf32>
  return %1, %2 : tensor<7xf32>, tensor<2xf32>
}

// CHECK-LABEL: @reduce_unit
// CHECK-NEXT: %[[A:.*]] = stablehlo.reshape %arg0 : (tensor<4x1xi1>) -> tensor<4xi1>
// CHECK-NEXT: return %[[A]]
func.func @reduce_unit(%x: tensor<4x1xi1>) -> tensor<4xi1> {
  %c = stablehlo.constant dense<true> : tensor<i1>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.and across dimensions = [1] : (tensor<4x1xi1>, tensor<i1>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// CHECK-LABEL: @dot
// CHECK-NEXT: stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4xf32>
func.func @dot(%x: tensor<4x6xf32>, %y: tensor<6xf32>) -> tensor<4xf32> {
  %0 = stablehlo.dot %x, %y : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
