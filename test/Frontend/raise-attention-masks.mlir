// RUN: tsp-opt %s -split-input-file --tsp-raise-attention --canonicalize --cse | FileCheck %s

// Masks and biases that are values.
// Programs of JAX (test/Python/attention_variants.py), imported.

// A mask for each query and a bias for each head.
// CHECK-LABEL: func.func @dpa_mask_bias(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG3:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG4:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] bias(%[[ARG4]] : tensor<1x6x7x11xf32>) mask(%[[ARG3]] : tensor<2x1x7x11xi1>) {empty = #tsp.empty_rows<mean>, scale = 0.44721359014511108 : f64} : (tensor<2x7x6x5xf32>, tensor<2x11x3x5xf32>, tensor<2x11x3x5xf32>) -> (tensor<2x7x6x5xf32>, tensor<2x7x6xf32>)
// CHECK: return %[[O]] : tensor<2x7x6x5xf32>
func.func @dpa_mask_bias(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x11x3x5xf32>, %arg2: tensor<2x11x3x5xf32>, %arg3: tensor<2x1x7x11xi1>, %arg4: tensor<1x6x7x11xf32>) -> tensor<2x7x6x5xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<-2.38197633E+38> : tensor<f32>
  %c = stablehlo.constant dense<true> : tensor<i1>
  %cst_2 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %0 = stablehlo.reshape %arg0 : (tensor<2x7x6x5xf32>) -> tensor<2x7x3x2x5xf32>
  %1 = stablehlo.reshape %arg4 : (tensor<1x6x7x11xf32>) -> tensor<1x3x2x7x11xf32>
  %2 = stablehlo.broadcast_in_dim %arg3, dims = [0, 1, 3, 4] : (tensor<2x1x7x11xi1>) -> tensor<2x1x1x7x11xi1>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2, 3, 4] : (tensor<2x1x1x7x11xi1>) -> tensor<2x1x2x7x11xi1>
  %4 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3] : (tensor<2x7x3x2x5xf32>, tensor<2x11x3x5xf32>) -> tensor<2x3x7x2x11xf32>
  %5 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3x7x2x11xf32>
  %6 = stablehlo.multiply %4, %5 : tensor<2x3x7x2x11xf32>
  %7 = stablehlo.transpose %6, dims = [3, 0, 1, 2, 4] : (tensor<2x3x7x2x11xf32>) -> tensor<2x2x3x7x11xf32>
  %8 = stablehlo.transpose %1, dims = [2, 0, 1, 3, 4] : (tensor<1x3x2x7x11xf32>) -> tensor<2x1x3x7x11xf32>
  %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3, 4] : (tensor<2x1x3x7x11xf32>) -> tensor<2x2x3x7x11xf32>
  %10 = stablehlo.add %7, %9 : tensor<2x2x3x7x11xf32>
  %11 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<2x3x7x11xi1>
  %12 = stablehlo.broadcast_in_dim %11, dims = [1, 2, 3, 4] : (tensor<2x3x7x11xi1>) -> tensor<1x2x3x7x11xi1>
  %13 = stablehlo.transpose %3, dims = [2, 0, 1, 3, 4] : (tensor<2x1x2x7x11xi1>) -> tensor<2x2x1x7x11xi1>
  %14 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x7x11xi1>) -> tensor<2x2x3x7x11xi1>
  %15 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3, 4] : (tensor<2x2x1x7x11xi1>) -> tensor<2x2x3x7x11xi1>
  %16 = stablehlo.and %14, %15 : tensor<2x2x3x7x11xi1>
  %17 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x7x11xf32>
  %18 = stablehlo.broadcast_in_dim %17, dims = [1, 2, 3, 4] : (tensor<2x3x7x11xf32>) -> tensor<2x2x3x7x11xf32>
  %19 = stablehlo.select %16, %10, %18 : tensor<2x2x3x7x11xi1>, tensor<2x2x3x7x11xf32>
  %20 = stablehlo.reduce(%19 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<2x2x3x7x11xf32>, tensor<f32>) -> tensor<2x2x3x7xf32>
  %21 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x2x3x7xf32>
  %22 = stablehlo.maximum %21, %20 : tensor<2x2x3x7xf32>
  %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2, 3] : (tensor<2x2x3x7xf32>) -> tensor<2x2x3x7x1xf32>
  %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2, 3, 4] : (tensor<2x2x3x7x1xf32>) -> tensor<2x2x3x7x11xf32>
  %25 = stablehlo.subtract %19, %24 : tensor<2x2x3x7x11xf32>
  %26 = stablehlo.exponential %25 : tensor<2x2x3x7x11xf32>
  %27 = stablehlo.reduce(%26 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<2x2x3x7x11xf32>, tensor<f32>) -> tensor<2x2x3x7xf32>
  %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2, 3] : (tensor<2x2x3x7xf32>) -> tensor<2x2x3x7x1xf32>
  %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2, 3, 4] : (tensor<2x2x3x7x1xf32>) -> tensor<2x2x3x7x11xf32>
  %30 = stablehlo.divide %26, %29 : tensor<2x2x3x7x11xf32>
  %31 = stablehlo.dot_general %arg2, %30, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4] : (tensor<2x11x3x5xf32>, tensor<2x2x3x7x11xf32>) -> tensor<2x3x5x2x7xf32>
  %32 = stablehlo.transpose %31, dims = [3, 0, 4, 1, 2] : (tensor<2x3x5x2x7xf32>) -> tensor<2x2x7x3x5xf32>
  %33 = stablehlo.transpose %32, dims = [1, 2, 3, 0, 4] : (tensor<2x2x7x3x5xf32>) -> tensor<2x7x3x2x5xf32>
  %34 = stablehlo.reshape %33 : (tensor<2x7x3x2x5xf32>) -> tensor<2x7x6x5xf32>
  return %34 : tensor<2x7x6x5xf32>
}

// -----

// A mask of keys.
// CHECK-LABEL: func.func @dpa_key_mask(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG3:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] mask(%[[ARG3]] : tensor<2x1x1x11xi1>) {empty = #tsp.empty_rows<mean>, scale = 0.44721359014511108 : f64} : (tensor<2x7x6x5xf32>, tensor<2x11x3x5xf32>, tensor<2x11x3x5xf32>) -> (tensor<2x7x6x5xf32>, tensor<2x7x6xf32>)
// CHECK: return %[[O]] : tensor<2x7x6x5xf32>
func.func @dpa_key_mask(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x11x3x5xf32>, %arg2: tensor<2x11x3x5xf32>, %arg3: tensor<2x1x1x11xi1>) -> tensor<2x7x6x5xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<-2.38197633E+38> : tensor<f32>
  %c = stablehlo.constant dense<true> : tensor<i1>
  %cst_2 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %0 = stablehlo.reshape %arg0 : (tensor<2x7x6x5xf32>) -> tensor<2x7x3x2x5xf32>
  %1 = stablehlo.broadcast_in_dim %arg3, dims = [0, 1, 3, 4] : (tensor<2x1x1x11xi1>) -> tensor<2x1x1x1x11xi1>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2, 3, 4] : (tensor<2x1x1x1x11xi1>) -> tensor<2x1x2x1x11xi1>
  %3 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3] : (tensor<2x7x3x2x5xf32>, tensor<2x11x3x5xf32>) -> tensor<2x3x7x2x11xf32>
  %4 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3x7x2x11xf32>
  %5 = stablehlo.multiply %3, %4 : tensor<2x3x7x2x11xf32>
  %6 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<2x3x7x11xi1>
  %7 = stablehlo.broadcast_in_dim %6, dims = [1, 2, 3, 4] : (tensor<2x3x7x11xi1>) -> tensor<1x2x3x7x11xi1>
  %8 = stablehlo.transpose %2, dims = [2, 0, 1, 3, 4] : (tensor<2x1x2x1x11xi1>) -> tensor<2x2x1x1x11xi1>
  %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x7x11xi1>) -> tensor<2x2x3x7x11xi1>
  %10 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3, 4] : (tensor<2x2x1x1x11xi1>) -> tensor<2x2x3x7x11xi1>
  %11 = stablehlo.and %9, %10 : tensor<2x2x3x7x11xi1>
  %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x7x11xf32>
  %13 = stablehlo.broadcast_in_dim %12, dims = [1, 2, 3, 4] : (tensor<2x3x7x11xf32>) -> tensor<2x2x3x7x11xf32>
  %14 = stablehlo.transpose %5, dims = [3, 0, 1, 2, 4] : (tensor<2x3x7x2x11xf32>) -> tensor<2x2x3x7x11xf32>
  %15 = stablehlo.select %11, %14, %13 : tensor<2x2x3x7x11xi1>, tensor<2x2x3x7x11xf32>
  %16 = stablehlo.reduce(%15 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<2x2x3x7x11xf32>, tensor<f32>) -> tensor<2x2x3x7xf32>
  %17 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x2x3x7xf32>
  %18 = stablehlo.maximum %17, %16 : tensor<2x2x3x7xf32>
  %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<2x2x3x7xf32>) -> tensor<2x2x3x7x1xf32>
  %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3, 4] : (tensor<2x2x3x7x1xf32>) -> tensor<2x2x3x7x11xf32>
  %21 = stablehlo.subtract %15, %20 : tensor<2x2x3x7x11xf32>
  %22 = stablehlo.exponential %21 : tensor<2x2x3x7x11xf32>
  %23 = stablehlo.reduce(%22 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<2x2x3x7x11xf32>, tensor<f32>) -> tensor<2x2x3x7xf32>
  %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2, 3] : (tensor<2x2x3x7xf32>) -> tensor<2x2x3x7x1xf32>
  %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3, 4] : (tensor<2x2x3x7x1xf32>) -> tensor<2x2x3x7x11xf32>
  %26 = stablehlo.divide %22, %25 : tensor<2x2x3x7x11xf32>
  %27 = stablehlo.dot_general %arg2, %26, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4] : (tensor<2x11x3x5xf32>, tensor<2x2x3x7x11xf32>) -> tensor<2x3x5x2x7xf32>
  %28 = stablehlo.transpose %27, dims = [3, 0, 4, 1, 2] : (tensor<2x3x5x2x7xf32>) -> tensor<2x2x7x3x5xf32>
  %29 = stablehlo.transpose %28, dims = [1, 2, 3, 0, 4] : (tensor<2x2x7x3x5xf32>) -> tensor<2x7x3x2x5xf32>
  %30 = stablehlo.reshape %29 : (tensor<2x7x3x2x5xf32>) -> tensor<2x7x6x5xf32>
  return %30 : tensor<2x7x6x5xf32>
}

// -----

// Padding as an added lowest number.
// CHECK-LABEL: func.func @bert(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG3:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG4:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.dot_general %[[ARG0]], %[[ARG1]], contracting_dims = [2] x [0] : (tensor<2x7x17xf32>, tensor<17x30xf32>) -> tensor<2x7x30xf32>
// CHECK: %[[V1:.*]] = stablehlo.dot_general %[[ARG0]], %[[ARG2]], contracting_dims = [2] x [0] : (tensor<2x7x17xf32>, tensor<17x30xf32>) -> tensor<2x7x30xf32>
// CHECK: %[[V2:.*]] = stablehlo.dot_general %[[ARG0]], %[[ARG3]], contracting_dims = [2] x [0] : (tensor<2x7x17xf32>, tensor<17x30xf32>) -> tensor<2x7x30xf32>
// CHECK: %[[V3:.*]] = stablehlo.reshape %[[V0]] : (tensor<2x7x30xf32>) -> tensor<2x7x6x5xf32>
// CHECK: %[[V4:.*]] = stablehlo.reshape %[[V1]] : (tensor<2x7x30xf32>) -> tensor<2x7x6x5xf32>
// CHECK: %[[V5:.*]] = stablehlo.reshape %[[V2]] : (tensor<2x7x30xf32>) -> tensor<2x7x6x5xf32>
// CHECK: %[[V6:.*]] = stablehlo.reshape %[[ARG4]] : (tensor<2x7xi1>) -> tensor<2x1x1x7xi1>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[V3]], %[[V4]], %[[V5]] mask(%[[V6]] : tensor<2x1x1x7xi1>) {empty = #tsp.empty_rows<mean>, scale = 0.44721358893387592 : f64} : (tensor<2x7x6x5xf32>, tensor<2x7x6x5xf32>, tensor<2x7x6x5xf32>) -> (tensor<2x7x6x5xf32>, tensor<2x7x6xf32>)
// CHECK: %[[V7:.*]] = stablehlo.reshape %[[O]] : (tensor<2x7x6x5xf32>) -> tensor<2x7x30xf32>
// CHECK: return %[[V7]] : tensor<2x7x30xf32>
func.func @bert(%arg0: tensor<2x7x17xf32>, %arg1: tensor<17x30xf32>, %arg2: tensor<17x30xf32>, %arg3: tensor<17x30xf32>, %arg4: tensor<2x7xi1>) -> tensor<2x7x30xf32> {
  %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_0 = stablehlo.constant dense<-3.40282347E+38> : tensor<f32>
  %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_2 = stablehlo.constant dense<2.23606801> : tensor<f32>
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [2] x [0] : (tensor<2x7x17xf32>, tensor<17x30xf32>) -> tensor<2x7x30xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x7x30xf32>) -> tensor<2x7x6x5xf32>
  %2 = stablehlo.transpose %1, dims = [0, 2, 1, 3] : (tensor<2x7x6x5xf32>) -> tensor<2x6x7x5xf32>
  %3 = stablehlo.dot_general %arg0, %arg2, contracting_dims = [2] x [0] : (tensor<2x7x17xf32>, tensor<17x30xf32>) -> tensor<2x7x30xf32>
  %4 = stablehlo.reshape %3 : (tensor<2x7x30xf32>) -> tensor<2x7x6x5xf32>
  %5 = stablehlo.transpose %4, dims = [0, 2, 1, 3] : (tensor<2x7x6x5xf32>) -> tensor<2x6x7x5xf32>
  %6 = stablehlo.dot_general %arg0, %arg3, contracting_dims = [2] x [0] : (tensor<2x7x17xf32>, tensor<17x30xf32>) -> tensor<2x7x30xf32>
  %7 = stablehlo.reshape %6 : (tensor<2x7x30xf32>) -> tensor<2x7x6x5xf32>
  %8 = stablehlo.transpose %7, dims = [0, 2, 1, 3] : (tensor<2x7x6x5xf32>) -> tensor<2x6x7x5xf32>
  %9 = stablehlo.transpose %5, dims = [0, 1, 3, 2] : (tensor<2x6x7x5xf32>) -> tensor<2x6x5x7xf32>
  %10 = stablehlo.dot_general %2, %9, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x6x7x5xf32>, tensor<2x6x5x7xf32>) -> tensor<2x6x7x7xf32>
  %11 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %12 = stablehlo.divide %10, %11 : tensor<2x6x7x7xf32>
  %13 = stablehlo.broadcast_in_dim %arg4, dims = [0, 3] : (tensor<2x7xi1>) -> tensor<2x1x1x7xi1>
  %14 = stablehlo.convert %cst_1 : tensor<f32>
  %15 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f32>) -> tensor<2x1x1x7xf32>
  %16 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x1x1x7xf32>
  %17 = stablehlo.select %13, %15, %16 : tensor<2x1x1x7xi1>, tensor<2x1x1x7xf32>
  %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<2x1x1x7xf32>) -> tensor<2x6x7x7xf32>
  %19 = stablehlo.add %12, %18 : tensor<2x6x7x7xf32>
  %20 = stablehlo.reduce(%19 init: %cst) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %21 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x6x7xf32>
  %22 = stablehlo.maximum %21, %20 : tensor<2x6x7xf32>
  %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %25 = stablehlo.subtract %19, %24 : tensor<2x6x7x7xf32>
  %26 = stablehlo.exponential %25 : tensor<2x6x7x7xf32>
  %27 = stablehlo.reduce(%26 init: %cst_1) applies stablehlo.add across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %30 = stablehlo.divide %26, %29 : tensor<2x6x7x7xf32>
  %31 = stablehlo.dot_general %30, %8, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x6x7x7xf32>, tensor<2x6x7x5xf32>) -> tensor<2x6x7x5xf32>
  %32 = stablehlo.transpose %31, dims = [0, 2, 1, 3] : (tensor<2x6x7x5xf32>) -> tensor<2x7x6x5xf32>
  %33 = stablehlo.reshape %32 : (tensor<2x7x6x5xf32>) -> tensor<2x7x30xf32>
  return %33 : tensor<2x7x30xf32>
}

// -----

// Padding as an added -inf.
// CHECK-LABEL: func.func @additive_inf(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG3:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.reshape %[[ARG3]] : (tensor<2x7xi1>) -> tensor<2x1x1x7xi1>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] mask(%[[V0]] : tensor<2x1x1x7xi1>) {scale = 0.44721359014511108 : f64} : (tensor<2x7x6x5xf32>, tensor<2x7x6x5xf32>, tensor<2x7x6x13xf32>) -> (tensor<2x7x6x13xf32>, tensor<2x7x6xf32>)
// CHECK: return %[[O]] : tensor<2x7x6x13xf32>
func.func @additive_inf(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x6x5xf32>, %arg2: tensor<2x7x6x13xf32>, %arg3: tensor<2x7xi1>) -> tensor<2x7x6x13xf32> {
  %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_1 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x7x6x5xf32>, tensor<2x7x6x5xf32>) -> tensor<2x6x7x7xf32>
  %1 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<2x6x7x7xf32>
  %3 = stablehlo.broadcast_in_dim %arg3, dims = [0, 3] : (tensor<2x7xi1>) -> tensor<2x1x1x7xi1>
  %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x1x1x7xf32>
  %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x1x1x7xf32>
  %6 = stablehlo.select %3, %4, %5 : tensor<2x1x1x7xi1>, tensor<2x1x1x7xf32>
  %7 = stablehlo.convert %6 : tensor<2x1x1x7xf32>
  %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<2x1x1x7xf32>) -> tensor<2x6x7x7xf32>
  %9 = stablehlo.add %2, %8 : tensor<2x6x7x7xf32>
  %10 = stablehlo.reduce(%9 init: %cst) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x6x7xf32>
  %12 = stablehlo.maximum %11, %10 : tensor<2x6x7xf32>
  %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %15 = stablehlo.subtract %9, %14 : tensor<2x6x7x7xf32>
  %16 = stablehlo.exponential %15 : tensor<2x6x7x7xf32>
  %17 = stablehlo.reduce(%16 init: %cst_0) applies stablehlo.add across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %20 = stablehlo.divide %16, %19 : tensor<2x6x7x7xf32>
  %21 = stablehlo.dot_general %arg2, %20, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x7x6x13xf32>, tensor<2x6x7x7xf32>) -> tensor<2x6x13x7xf32>
  %22 = stablehlo.transpose %21, dims = [0, 3, 1, 2] : (tensor<2x6x13x7xf32>) -> tensor<2x7x6x13xf32>
  return %22 : tensor<2x7x6x13xf32>
}

// -----

// An added number that is not beyond doubt: a bias.
// CHECK-LABEL: func.func @additive_1e9(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG3:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.constant dense<-1.000000e+09> : tensor<2x1x1x7xf32>
// CHECK: %[[V1:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<2x1x1x7xf32>
// CHECK: %[[V2:.*]] = stablehlo.reshape %[[ARG3]] : (tensor<2x7xi1>) -> tensor<2x1x1x7xi1>
// CHECK: %[[V3:.*]] = stablehlo.select %[[V2]], %[[V1]], %[[V0]] : tensor<2x1x1x7xi1>, tensor<2x1x1x7xf32>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] bias(%[[V3]] : tensor<2x1x1x7xf32>) {scale = 0.44721359014511108 : f64} : (tensor<2x7x6x5xf32>, tensor<2x7x6x5xf32>, tensor<2x7x6x13xf32>) -> (tensor<2x7x6x13xf32>, tensor<2x7x6xf32>)
// CHECK: return %[[O]] : tensor<2x7x6x13xf32>
func.func @additive_1e9(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x6x5xf32>, %arg2: tensor<2x7x6x13xf32>, %arg3: tensor<2x7xi1>) -> tensor<2x7x6x13xf32> {
  %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_0 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
  %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_2 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x7x6x5xf32>, tensor<2x7x6x5xf32>) -> tensor<2x6x7x7xf32>
  %1 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<2x6x7x7xf32>
  %3 = stablehlo.broadcast_in_dim %arg3, dims = [0, 3] : (tensor<2x7xi1>) -> tensor<2x1x1x7xi1>
  %4 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x1x1x7xf32>
  %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x1x1x7xf32>
  %6 = stablehlo.select %3, %4, %5 : tensor<2x1x1x7xi1>, tensor<2x1x1x7xf32>
  %7 = stablehlo.convert %6 : tensor<2x1x1x7xf32>
  %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<2x1x1x7xf32>) -> tensor<2x6x7x7xf32>
  %9 = stablehlo.add %2, %8 : tensor<2x6x7x7xf32>
  %10 = stablehlo.reduce(%9 init: %cst) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x6x7xf32>
  %12 = stablehlo.maximum %11, %10 : tensor<2x6x7xf32>
  %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %15 = stablehlo.subtract %9, %14 : tensor<2x6x7x7xf32>
  %16 = stablehlo.exponential %15 : tensor<2x6x7x7xf32>
  %17 = stablehlo.reduce(%16 init: %cst_1) applies stablehlo.add across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %20 = stablehlo.divide %16, %19 : tensor<2x6x7x7xf32>
  %21 = stablehlo.dot_general %arg2, %20, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x7x6x13xf32>, tensor<2x6x7x7xf32>) -> tensor<2x6x13x7xf32>
  %22 = stablehlo.transpose %21, dims = [0, 3, 1, 2] : (tensor<2x6x13x7xf32>) -> tensor<2x7x6x13xf32>
  return %22 : tensor<2x7x6x13xf32>
}

// -----

// A disjunction.
// CHECK-LABEL: func.func @prefix_lm(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG3:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.iota dim = 0 : tensor<7xi32>
// CHECK: %[[V1:.*]] = stablehlo.broadcast_in_dim %[[V0]], dims = [1] : (tensor<7xi32>) -> tensor<7x7xi32>
// CHECK: %[[V2:.*]] = stablehlo.broadcast_in_dim %[[V0]], dims = [0] : (tensor<7xi32>) -> tensor<7x7xi32>
// CHECK: %[[V3:.*]] = stablehlo.compare LE, %[[V1]], %[[V2]], SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
// CHECK: %[[V4:.*]] = stablehlo.broadcast_in_dim %[[V0]], dims = [2] : (tensor<7xi32>) -> tensor<2x1x7xi32>
// CHECK: %[[V5:.*]] = stablehlo.broadcast_in_dim %[[ARG3]], dims = [0] : (tensor<2xi32>) -> tensor<2x1x7xi32>
// CHECK: %[[V6:.*]] = stablehlo.compare LT, %[[V4]], %[[V5]], SIGNED : (tensor<2x1x7xi32>, tensor<2x1x7xi32>) -> tensor<2x1x7xi1>
// CHECK: %[[V7:.*]] = stablehlo.broadcast_in_dim %[[V3]], dims = [1, 2] : (tensor<7x7xi1>) -> tensor<2x7x7xi1>
// CHECK: %[[V8:.*]] = stablehlo.broadcast_in_dim %[[V6]], dims = [0, 1, 2] : (tensor<2x1x7xi1>) -> tensor<2x7x7xi1>
// CHECK: %[[V9:.*]] = stablehlo.or %[[V7]], %[[V8]] : tensor<2x7x7xi1>
// CHECK: %[[V10:.*]] = stablehlo.reshape %[[V9]] : (tensor<2x7x7xi1>) -> tensor<2x1x7x7xi1>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] mask(%[[V10]] : tensor<2x1x7x7xi1>) {empty = #tsp.empty_rows<mean>, scale = 0.44721359014511108 : f64} : (tensor<2x7x6x5xf32>, tensor<2x7x3x5xf32>, tensor<2x7x3x13xf32>) -> (tensor<2x7x6x13xf32>, tensor<2x7x6xf32>)
// CHECK: %[[V11:.*]] = stablehlo.reshape %[[O]] : (tensor<2x7x6x13xf32>) -> tensor<2x7x78xf32>
// CHECK: return %[[V11]] : tensor<2x7x78xf32>
func.func @prefix_lm(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x3x5xf32>, %arg2: tensor<2x7x3x13xf32>, %arg3: tensor<2xi32>) -> tensor<2x7x78xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
  %cst_2 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.iota dim = 0 : tensor<7xi32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
  %2 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<7xi32>) -> tensor<7x1xi32>
  %3 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<7x1xi32>
  %4 = stablehlo.add %2, %3 : tensor<7x1xi32>
  %5 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x7xi32>) -> tensor<7x7xi32>
  %6 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<7x1xi32>) -> tensor<7x7xi32>
  %7 = stablehlo.compare LE, %5, %6, SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
  %8 = stablehlo.broadcast_in_dim %7, dims = [1, 2] : (tensor<7x7xi1>) -> tensor<1x7x7xi1>
  %9 = stablehlo.broadcast_in_dim %0, dims = [2] : (tensor<7xi32>) -> tensor<1x1x7xi32>
  %10 = stablehlo.broadcast_in_dim %arg3, dims = [0] : (tensor<2xi32>) -> tensor<2x1x1xi32>
  %11 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<1x1x7xi32>) -> tensor<2x1x7xi32>
  %12 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<2x1x1xi32>) -> tensor<2x1x7xi32>
  %13 = stablehlo.compare LT, %11, %12, SIGNED : (tensor<2x1x7xi32>, tensor<2x1x7xi32>) -> tensor<2x1x7xi1>
  %14 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<1x7x7xi1>) -> tensor<2x7x7xi1>
  %15 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<2x1x7xi1>) -> tensor<2x7x7xi1>
  %16 = stablehlo.or %14, %15 : tensor<2x7x7xi1>
  %17 = stablehlo.broadcast_in_dim %16, dims = [0, 3, 4] : (tensor<2x7x7xi1>) -> tensor<2x1x1x7x7xi1>
  %18 = stablehlo.reshape %arg0 : (tensor<2x7x6x5xf32>) -> tensor<2x7x3x2x5xf32>
  %19 = stablehlo.dot_general %arg1, %18, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [4] : (tensor<2x7x3x5xf32>, tensor<2x7x3x2x5xf32>) -> tensor<2x3x7x7x2xf32>
  %20 = stablehlo.transpose %19, dims = [0, 1, 4, 3, 2] : (tensor<2x3x7x7x2xf32>) -> tensor<2x3x2x7x7xf32>
  %21 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3x2x7x7xf32>
  %22 = stablehlo.multiply %20, %21 : tensor<2x3x2x7x7xf32>
  %23 = stablehlo.convert %cst_1 : tensor<f32>
  %24 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3, 4] : (tensor<2x1x1x7x7xi1>) -> tensor<2x3x2x7x7xi1>
  %25 = stablehlo.broadcast_in_dim %23, dims = [] : (tensor<f32>) -> tensor<2x3x2x7x7xf32>
  %26 = stablehlo.select %24, %22, %25 : tensor<2x3x2x7x7xi1>, tensor<2x3x2x7x7xf32>
  %27 = stablehlo.reduce(%26 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<2x3x2x7x7xf32>, tensor<f32>) -> tensor<2x3x2x7xf32>
  %28 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3x2x7xf32>
  %29 = stablehlo.maximum %28, %27 : tensor<2x3x2x7xf32>
  %30 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2, 3] : (tensor<2x3x2x7xf32>) -> tensor<2x3x2x7x1xf32>
  %31 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 2, 3, 4] : (tensor<2x3x2x7x1xf32>) -> tensor<2x3x2x7x7xf32>
  %32 = stablehlo.subtract %26, %31 : tensor<2x3x2x7x7xf32>
  %33 = stablehlo.exponential %32 : tensor<2x3x2x7x7xf32>
  %34 = stablehlo.reduce(%33 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<2x3x2x7x7xf32>, tensor<f32>) -> tensor<2x3x2x7xf32>
  %35 = stablehlo.broadcast_in_dim %34, dims = [0, 1, 2, 3] : (tensor<2x3x2x7xf32>) -> tensor<2x3x2x7x1xf32>
  %36 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2, 3, 4] : (tensor<2x3x2x7x1xf32>) -> tensor<2x3x2x7x7xf32>
  %37 = stablehlo.divide %33, %36 : tensor<2x3x2x7x7xf32>
  %38 = stablehlo.dot_general %arg2, %37, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [4] : (tensor<2x7x3x13xf32>, tensor<2x3x2x7x7xf32>) -> tensor<2x3x13x2x7xf32>
  %39 = stablehlo.transpose %38, dims = [0, 4, 1, 3, 2] : (tensor<2x3x13x2x7xf32>) -> tensor<2x7x3x2x13xf32>
  %40 = stablehlo.reshape %39 : (tensor<2x7x3x2x13xf32>) -> tensor<2x7x78xf32>
  return %40 : tensor<2x7x78xf32>
}

// -----

// A bias computed from distances, and a causal mask.
// CHECK-LABEL: func.func @alibi(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG3:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.iota dim = 0 : tensor<7xi32>
// CHECK: %[[V1:.*]] = stablehlo.broadcast_in_dim %[[V0]], dims = [1] : (tensor<7xi32>) -> tensor<7x7xi32>
// CHECK: %[[V2:.*]] = stablehlo.broadcast_in_dim %[[V0]], dims = [0] : (tensor<7xi32>) -> tensor<7x7xi32>
// CHECK: %[[V3:.*]] = stablehlo.subtract %[[V1]], %[[V2]] : tensor<7x7xi32>
// CHECK: %[[V4:.*]] = stablehlo.convert %[[V3]] : (tensor<7x7xi32>) -> tensor<7x7xf32>
// CHECK: %[[V5:.*]] = stablehlo.broadcast_in_dim %[[ARG3]], dims = [0] : (tensor<6xf32>) -> tensor<6x7x7xf32>
// CHECK: %[[V6:.*]] = stablehlo.broadcast_in_dim %[[V4]], dims = [1, 2] : (tensor<7x7xf32>) -> tensor<6x7x7xf32>
// CHECK: %[[V7:.*]] = stablehlo.multiply %[[V5]], %[[V6]] : tensor<6x7x7xf32>
// CHECK: %[[V8:.*]] = stablehlo.reshape %[[V7]] : (tensor<6x7x7xf32>) -> tensor<1x6x7x7xf32>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] bias(%[[V8]] : tensor<1x6x7x7xf32>) positions(%[[V0]], %[[V0]] : tensor<7xi32>, tensor<7xi32>) {causal, scale = 0.44721359549995793 : f64} : (tensor<2x7x6x5xf32>, tensor<2x7x3x5xf32>, tensor<2x7x3x13xf32>) -> (tensor<2x7x6x13xf32>, tensor<2x7x6xf32>)
// CHECK: return %[[O]] : tensor<2x7x6x13xf32>
func.func @alibi(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x3x5xf32>, %arg2: tensor<2x7x3x13xf32>, %arg3: tensor<6xf32>) -> tensor<2x7x6x13xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<5.000000e+00> : tensor<f32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.iota dim = 0 : tensor<7xi32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
  %2 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<7xi32>) -> tensor<7x1xi32>
  %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x7xi32>) -> tensor<7x7xi32>
  %4 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<7x1xi32>) -> tensor<7x7xi32>
  %5 = stablehlo.subtract %3, %4 : tensor<7x7xi32>
  %6 = stablehlo.convert %5 : (tensor<7x7xi32>) -> tensor<7x7xf32>
  %7 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<7x1xi32>
  %8 = stablehlo.add %2, %7 : tensor<7x1xi32>
  %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<7x1xi32>) -> tensor<7x7xi32>
  %10 = stablehlo.compare LE, %3, %9, SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
  %11 = stablehlo.broadcast_in_dim %arg3, dims = [0] : (tensor<6xf32>) -> tensor<6x1x1xf32>
  %12 = stablehlo.broadcast_in_dim %6, dims = [1, 2] : (tensor<7x7xf32>) -> tensor<1x7x7xf32>
  %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<6x1x1xf32>) -> tensor<6x7x7xf32>
  %14 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2] : (tensor<1x7x7xf32>) -> tensor<6x7x7xf32>
  %15 = stablehlo.multiply %13, %14 : tensor<6x7x7xf32>
  %16 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1, 2, 4] : (tensor<2x7x3x5xf32>) -> tensor<2x7x3x2x5xf32>
  %17 = stablehlo.reshape %16 : (tensor<2x7x3x2x5xf32>) -> tensor<2x7x6x5xf32>
  %18 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2, 4] : (tensor<2x7x3x13xf32>) -> tensor<2x7x3x2x13xf32>
  %19 = stablehlo.reshape %18 : (tensor<2x7x3x2x13xf32>) -> tensor<2x7x6x13xf32>
  %20 = stablehlo.transpose %arg0, dims = [0, 2, 1, 3] : (tensor<2x7x6x5xf32>) -> tensor<2x6x7x5xf32>
  %21 = stablehlo.transpose %17, dims = [0, 2, 1, 3] : (tensor<2x7x6x5xf32>) -> tensor<2x6x7x5xf32>
  %22 = stablehlo.transpose %19, dims = [0, 2, 1, 3] : (tensor<2x7x6x13xf32>) -> tensor<2x6x7x13xf32>
  %23 = stablehlo.transpose %21, dims = [0, 1, 3, 2] : (tensor<2x6x7x5xf32>) -> tensor<2x6x5x7xf32>
  %24 = stablehlo.dot_general %20, %23, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x6x7x5xf32>, tensor<2x6x5x7xf32>) -> tensor<2x6x7x7xf32>
  %25 = stablehlo.sqrt %cst_1 : tensor<f32>
  %26 = stablehlo.broadcast_in_dim %25, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %27 = stablehlo.divide %24, %26 : tensor<2x6x7x7xf32>
  %28 = stablehlo.broadcast_in_dim %15, dims = [1, 2, 3] : (tensor<6x7x7xf32>) -> tensor<1x6x7x7xf32>
  %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2, 3] : (tensor<1x6x7x7xf32>) -> tensor<2x6x7x7xf32>
  %30 = stablehlo.add %27, %29 : tensor<2x6x7x7xf32>
  %31 = stablehlo.convert %cst_0 : tensor<f32>
  %32 = stablehlo.broadcast_in_dim %10, dims = [2, 3] : (tensor<7x7xi1>) -> tensor<2x6x7x7xi1>
  %33 = stablehlo.broadcast_in_dim %31, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %34 = stablehlo.select %32, %30, %33 : tensor<2x6x7x7xi1>, tensor<2x6x7x7xf32>
  %35 = stablehlo.reduce(%34 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %36 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x6x7xf32>
  %37 = stablehlo.maximum %36, %35 : tensor<2x6x7xf32>
  %38 = stablehlo.broadcast_in_dim %37, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %39 = stablehlo.broadcast_in_dim %38, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %40 = stablehlo.subtract %34, %39 : tensor<2x6x7x7xf32>
  %41 = stablehlo.exponential %40 : tensor<2x6x7x7xf32>
  %42 = stablehlo.reduce(%41 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %43 = stablehlo.broadcast_in_dim %42, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %45 = stablehlo.divide %41, %44 : tensor<2x6x7x7xf32>
  %46 = stablehlo.dot_general %45, %22, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x6x7x7xf32>, tensor<2x6x7x13xf32>) -> tensor<2x6x7x13xf32>
  %47 = stablehlo.transpose %46, dims = [0, 2, 1, 3] : (tensor<2x6x7x13xf32>) -> tensor<2x7x6x13xf32>
  return %47 : tensor<2x7x6x13xf32>
}
