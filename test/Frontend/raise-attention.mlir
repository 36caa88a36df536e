// RUN: tsp-opt %s -split-input-file --tsp-raise-attention --canonicalize --cse | FileCheck %s

// Forms of the products, the softmax and the scale.
// Programs of JAX (test/Python/attention_variants.py), imported.

// jax.nn.dot_product_attention with grouped heads: the product of values comes first.
// CHECK-LABEL: func.func @dpa_cross(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] {scale = 0.44721359014511108 : f64} : (tensor<2x7x6x5xf32>, tensor<2x11x3x5xf32>, tensor<2x11x3x5xf32>) -> (tensor<2x7x6x5xf32>, tensor<2x7x6xf32>)
// CHECK: return %[[O]] : tensor<2x7x6x5xf32>
func.func @dpa_cross(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x11x3x5xf32>, %arg2: tensor<2x11x3x5xf32>) -> tensor<2x7x6x5xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %0 = stablehlo.reshape %arg0 : (tensor<2x7x6x5xf32>) -> tensor<2x7x3x2x5xf32>
  %1 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3] : (tensor<2x7x3x2x5xf32>, tensor<2x11x3x5xf32>) -> tensor<2x3x7x2x11xf32>
  %2 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x7x2x11xf32>
  %3 = stablehlo.multiply %1, %2 : tensor<2x3x7x2x11xf32>
  %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<2x3x7x2x11xf32>, tensor<f32>) -> tensor<2x3x7x2xf32>
  %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3x7x2xf32>
  %6 = stablehlo.maximum %5, %4 : tensor<2x3x7x2xf32>
  %7 = stablehlo.transpose %6, dims = [3, 0, 1, 2] : (tensor<2x3x7x2xf32>) -> tensor<2x2x3x7xf32>
  %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2, 3] : (tensor<2x2x3x7xf32>) -> tensor<2x2x3x7x1xf32>
  %9 = stablehlo.transpose %3, dims = [3, 0, 1, 2, 4] : (tensor<2x3x7x2x11xf32>) -> tensor<2x2x3x7x11xf32>
  %10 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3, 4] : (tensor<2x2x3x7x1xf32>) -> tensor<2x2x3x7x11xf32>
  %11 = stablehlo.subtract %9, %10 : tensor<2x2x3x7x11xf32>
  %12 = stablehlo.exponential %11 : tensor<2x2x3x7x11xf32>
  %13 = stablehlo.reduce(%12 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<2x2x3x7x11xf32>, tensor<f32>) -> tensor<2x2x3x7xf32>
  %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<2x2x3x7xf32>) -> tensor<2x2x3x7x1xf32>
  %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3, 4] : (tensor<2x2x3x7x1xf32>) -> tensor<2x2x3x7x11xf32>
  %16 = stablehlo.divide %12, %15 : tensor<2x2x3x7x11xf32>
  %17 = stablehlo.dot_general %arg2, %16, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4] : (tensor<2x11x3x5xf32>, tensor<2x2x3x7x11xf32>) -> tensor<2x3x5x2x7xf32>
  %18 = stablehlo.transpose %17, dims = [3, 0, 4, 1, 2] : (tensor<2x3x5x2x7xf32>) -> tensor<2x2x7x3x5xf32>
  %19 = stablehlo.transpose %18, dims = [1, 2, 3, 0, 4] : (tensor<2x2x7x3x5xf32>) -> tensor<2x7x3x2x5xf32>
  %20 = stablehlo.reshape %19 : (tensor<2x7x3x2x5xf32>) -> tensor<2x7x6x5xf32>
  return %20 : tensor<2x7x6x5xf32>
}

// -----

// An einsum over groups: no repeat of keys, operands swapped.
// CHECK-LABEL: func.func @einsum_gqa(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.iota dim = 0 : tensor<7xi32>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] positions(%[[V0]], %[[V0]] : tensor<7xi32>, tensor<7xi32>) {causal, empty = #tsp.empty_rows<mean>, scale = 0.44721359014511108 : f64} : (tensor<2x7x6x5xf32>, tensor<2x7x3x5xf32>, tensor<2x7x3x13xf32>) -> (tensor<2x7x6x13xf32>, tensor<2x7x6xf32>)
// CHECK: %[[V1:.*]] = stablehlo.reshape %[[O]] : (tensor<2x7x6x13xf32>) -> tensor<2x7x78xf32>
// CHECK: return %[[V1]] : tensor<2x7x78xf32>
func.func @einsum_gqa(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x3x5xf32>, %arg2: tensor<2x7x3x13xf32>) -> tensor<2x7x78xf32> {
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
  %8 = stablehlo.reshape %arg0 : (tensor<2x7x6x5xf32>) -> tensor<2x7x3x2x5xf32>
  %9 = stablehlo.dot_general %arg1, %8, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [4] : (tensor<2x7x3x5xf32>, tensor<2x7x3x2x5xf32>) -> tensor<2x3x7x7x2xf32>
  %10 = stablehlo.transpose %9, dims = [0, 1, 4, 3, 2] : (tensor<2x3x7x7x2xf32>) -> tensor<2x3x2x7x7xf32>
  %11 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3x2x7x7xf32>
  %12 = stablehlo.multiply %10, %11 : tensor<2x3x2x7x7xf32>
  %13 = stablehlo.convert %cst_1 : tensor<f32>
  %14 = stablehlo.broadcast_in_dim %7, dims = [3, 4] : (tensor<7x7xi1>) -> tensor<2x3x2x7x7xi1>
  %15 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<2x3x2x7x7xf32>
  %16 = stablehlo.select %14, %12, %15 : tensor<2x3x2x7x7xi1>, tensor<2x3x2x7x7xf32>
  %17 = stablehlo.reduce(%16 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<2x3x2x7x7xf32>, tensor<f32>) -> tensor<2x3x2x7xf32>
  %18 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3x2x7xf32>
  %19 = stablehlo.maximum %18, %17 : tensor<2x3x2x7xf32>
  %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<2x3x2x7xf32>) -> tensor<2x3x2x7x1xf32>
  %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2, 3, 4] : (tensor<2x3x2x7x1xf32>) -> tensor<2x3x2x7x7xf32>
  %22 = stablehlo.subtract %16, %21 : tensor<2x3x2x7x7xf32>
  %23 = stablehlo.exponential %22 : tensor<2x3x2x7x7xf32>
  %24 = stablehlo.reduce(%23 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<2x3x2x7x7xf32>, tensor<f32>) -> tensor<2x3x2x7xf32>
  %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3] : (tensor<2x3x2x7xf32>) -> tensor<2x3x2x7x1xf32>
  %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3, 4] : (tensor<2x3x2x7x1xf32>) -> tensor<2x3x2x7x7xf32>
  %27 = stablehlo.divide %23, %26 : tensor<2x3x2x7x7xf32>
  %28 = stablehlo.dot_general %arg2, %27, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [4] : (tensor<2x7x3x13xf32>, tensor<2x3x2x7x7xf32>) -> tensor<2x3x13x2x7xf32>
  %29 = stablehlo.transpose %28, dims = [0, 4, 1, 3, 2] : (tensor<2x3x13x2x7xf32>) -> tensor<2x7x3x2x13xf32>
  %30 = stablehlo.reshape %29 : (tensor<2x7x3x2x13xf32>) -> tensor<2x7x78xf32>
  return %30 : tensor<2x7x78xf32>
}

// -----

// Heads before the sequence, keys and values repeated, the scale a square root.
// CHECK-LABEL: func.func @gpt2(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.iota dim = 0 : tensor<7xi32>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] positions(%[[V0]], %[[V0]] : tensor<7xi32>, tensor<7xi32>) {causal, empty = #tsp.empty_rows<mean>, scale = 0.44721359549995793 : f64} : (tensor<2x7x6x5xf32>, tensor<2x7x3x5xf32>, tensor<2x7x3x13xf32>) -> (tensor<2x7x6x13xf32>, tensor<2x7x6xf32>)
// CHECK: return %[[O]] : tensor<2x7x6x13xf32>
func.func @gpt2(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x3x5xf32>, %arg2: tensor<2x7x3x13xf32>) -> tensor<2x7x6x13xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<-1.000000e+10> : tensor<f32>
  %cst_2 = stablehlo.constant dense<5.000000e+00> : tensor<f32>
  %c = stablehlo.constant dense<false> : tensor<i1>
  %c_3 = stablehlo.constant dense<0> : tensor<i32>
  %c_4 = stablehlo.constant dense<true> : tensor<i1>
  %0 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i1>) -> tensor<7x7xi1>
  %1 = stablehlo.iota dim = 0 : tensor<7x7xi32>
  %2 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<7x7xi32>
  %3 = stablehlo.add %1, %2 : tensor<7x7xi32>
  %4 = stablehlo.iota dim = 1 : tensor<7x7xi32>
  %5 = stablehlo.compare GE, %3, %4, SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
  %6 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<7x7xi1>
  %7 = stablehlo.select %5, %0, %6 : tensor<7x7xi1>, tensor<7x7xi1>
  %8 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1, 2, 4] : (tensor<2x7x3x5xf32>) -> tensor<2x7x3x2x5xf32>
  %9 = stablehlo.reshape %8 : (tensor<2x7x3x2x5xf32>) -> tensor<2x7x6x5xf32>
  %10 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2, 4] : (tensor<2x7x3x13xf32>) -> tensor<2x7x3x2x13xf32>
  %11 = stablehlo.reshape %10 : (tensor<2x7x3x2x13xf32>) -> tensor<2x7x6x13xf32>
  %12 = stablehlo.transpose %arg0, dims = [0, 2, 1, 3] : (tensor<2x7x6x5xf32>) -> tensor<2x6x7x5xf32>
  %13 = stablehlo.transpose %9, dims = [0, 2, 1, 3] : (tensor<2x7x6x5xf32>) -> tensor<2x6x7x5xf32>
  %14 = stablehlo.transpose %11, dims = [0, 2, 1, 3] : (tensor<2x7x6x13xf32>) -> tensor<2x6x7x13xf32>
  %15 = stablehlo.transpose %13, dims = [0, 1, 3, 2] : (tensor<2x6x7x5xf32>) -> tensor<2x6x5x7xf32>
  %16 = stablehlo.dot_general %12, %15, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x6x7x5xf32>, tensor<2x6x5x7xf32>) -> tensor<2x6x7x7xf32>
  %17 = stablehlo.sqrt %cst_2 : tensor<f32>
  %18 = stablehlo.broadcast_in_dim %17, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %19 = stablehlo.divide %16, %18 : tensor<2x6x7x7xf32>
  %20 = stablehlo.convert %cst_1 : tensor<f32>
  %21 = stablehlo.broadcast_in_dim %7, dims = [2, 3] : (tensor<7x7xi1>) -> tensor<2x6x7x7xi1>
  %22 = stablehlo.broadcast_in_dim %20, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %23 = stablehlo.select %21, %19, %22 : tensor<2x6x7x7xi1>, tensor<2x6x7x7xf32>
  %24 = stablehlo.reduce(%23 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %25 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x6x7xf32>
  %26 = stablehlo.maximum %25, %24 : tensor<2x6x7xf32>
  %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %29 = stablehlo.subtract %23, %28 : tensor<2x6x7x7xf32>
  %30 = stablehlo.exponential %29 : tensor<2x6x7x7xf32>
  %31 = stablehlo.reduce(%30 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %34 = stablehlo.divide %30, %33 : tensor<2x6x7x7xf32>
  %35 = stablehlo.dot_general %34, %14, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x6x7x7xf32>, tensor<2x6x7x13xf32>) -> tensor<2x6x7x13xf32>
  %36 = stablehlo.transpose %35, dims = [0, 2, 1, 3] : (tensor<2x6x7x13xf32>) -> tensor<2x7x6x13xf32>
  return %36 : tensor<2x7x6x13xf32>
}

// -----

// The division comes after the product with the values.
// CHECK-LABEL: func.func @divide_after(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.iota dim = 0 : tensor<7xi32>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] positions(%[[V0]], %[[V0]] : tensor<7xi32>, tensor<7xi32>) {causal, scale = 0.44721359014511108 : f64} : (tensor<2x7x6x5xf32>, tensor<2x7x6x5xf32>, tensor<2x7x6x13xf32>) -> (tensor<2x7x6x13xf32>, tensor<2x7x6xf32>)
// CHECK: return %[[O]] : tensor<2x7x6x13xf32>
func.func @divide_after(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x6x5xf32>, %arg2: tensor<2x7x6x13xf32>) -> tensor<2x7x6x13xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %cst_1 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x7x6x5xf32>, tensor<2x7x6x5xf32>) -> tensor<2x6x7x7xf32>
  %1 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<2x6x7x7xf32>
  %3 = stablehlo.iota dim = 0 : tensor<7xi32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
  %5 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<7xi32>) -> tensor<7x1xi32>
  %6 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<7x1xi32>
  %7 = stablehlo.add %5, %6 : tensor<7x1xi32>
  %8 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<1x7xi32>) -> tensor<7x7xi32>
  %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<7x1xi32>) -> tensor<7x7xi32>
  %10 = stablehlo.compare LE, %8, %9, SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
  %11 = stablehlo.convert %cst_0 : tensor<f32>
  %12 = stablehlo.broadcast_in_dim %10, dims = [2, 3] : (tensor<7x7xi1>) -> tensor<2x6x7x7xi1>
  %13 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %14 = stablehlo.select %12, %2, %13 : tensor<2x6x7x7xi1>, tensor<2x6x7x7xf32>
  %15 = stablehlo.reduce(%14 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %18 = stablehlo.subtract %14, %17 : tensor<2x6x7x7xf32>
  %19 = stablehlo.exponential %18 : tensor<2x6x7x7xf32>
  %20 = stablehlo.dot_general %arg2, %19, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x7x6x13xf32>, tensor<2x6x7x7xf32>) -> tensor<2x6x13x7xf32>
  %21 = stablehlo.transpose %20, dims = [0, 3, 1, 2] : (tensor<2x6x13x7xf32>) -> tensor<2x7x6x13xf32>
  %22 = stablehlo.reduce(%19 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %23 = stablehlo.transpose %22, dims = [0, 2, 1] : (tensor<2x6x7xf32>) -> tensor<2x7x6xf32>
  %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2] : (tensor<2x7x6xf32>) -> tensor<2x7x6x1xf32>
  %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3] : (tensor<2x7x6x1xf32>) -> tensor<2x7x6x13xf32>
  %26 = stablehlo.divide %21, %25 : tensor<2x7x6x13xf32>
  return %26 : tensor<2x7x6x13xf32>
}

// -----

// Both sides scaled, -inf added, rows without keys replaced by 0.
// CHECK-LABEL: func.func @torch_style(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.iota dim = 0 : tensor<7xi32>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] positions(%[[V0]], %[[V0]] : tensor<7xi32>, tensor<7xi32>) {causal, empty = #tsp.empty_rows<zero>, scale = 0.44721359549995793 : f64} : (tensor<2x7x6x5xf32>, tensor<2x7x3x5xf32>, tensor<2x7x3x13xf32>) -> (tensor<2x7x6x13xf32>, tensor<2x7x6xf32>)
// CHECK: return %[[O]] : tensor<2x7x6x13xf32>
func.func @torch_style(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x3x5xf32>, %arg2: tensor<2x7x3x13xf32>) -> tensor<2x7x6x13xf32> {
  %c = stablehlo.constant dense<false> : tensor<i1>
  %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %c_1 = stablehlo.constant dense<0> : tensor<i32>
  %cst_2 = stablehlo.constant dense<5.000000e+00> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1, 2, 4] : (tensor<2x7x3x5xf32>) -> tensor<2x7x3x2x5xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x7x3x2x5xf32>) -> tensor<2x7x6x5xf32>
  %2 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2, 4] : (tensor<2x7x3x13xf32>) -> tensor<2x7x3x2x13xf32>
  %3 = stablehlo.reshape %2 : (tensor<2x7x3x2x13xf32>) -> tensor<2x7x6x13xf32>
  %4 = stablehlo.transpose %arg0, dims = [0, 2, 1, 3] : (tensor<2x7x6x5xf32>) -> tensor<2x6x7x5xf32>
  %5 = stablehlo.transpose %1, dims = [0, 2, 1, 3] : (tensor<2x7x6x5xf32>) -> tensor<2x6x7x5xf32>
  %6 = stablehlo.transpose %3, dims = [0, 2, 1, 3] : (tensor<2x7x6x13xf32>) -> tensor<2x6x7x13xf32>
  %7 = stablehlo.sqrt %cst_2 : tensor<f32>
  %8 = stablehlo.sqrt %7 : tensor<f32>
  %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<2x6x7x5xf32>
  %10 = stablehlo.divide %4, %9 : tensor<2x6x7x5xf32>
  %11 = stablehlo.divide %5, %9 : tensor<2x6x7x5xf32>
  %12 = stablehlo.transpose %11, dims = [0, 1, 3, 2] : (tensor<2x6x7x5xf32>) -> tensor<2x6x5x7xf32>
  %13 = stablehlo.dot_general %10, %12, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x6x7x5xf32>, tensor<2x6x5x7xf32>) -> tensor<2x6x7x7xf32>
  %14 = stablehlo.iota dim = 0 : tensor<7xi32>
  %15 = stablehlo.broadcast_in_dim %14, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
  %16 = stablehlo.broadcast_in_dim %14, dims = [0] : (tensor<7xi32>) -> tensor<7x1xi32>
  %17 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<7x1xi32>
  %18 = stablehlo.add %16, %17 : tensor<7x1xi32>
  %19 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<1x7xi32>) -> tensor<7x7xi32>
  %20 = stablehlo.broadcast_in_dim %18, dims = [0, 1] : (tensor<7x1xi32>) -> tensor<7x7xi32>
  %21 = stablehlo.compare LE, %19, %20, SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
  %22 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<7x7xf32>
  %23 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<7x7xf32>
  %24 = stablehlo.select %21, %22, %23 : tensor<7x7xi1>, tensor<7x7xf32>
  %25 = stablehlo.convert %24 : tensor<7x7xf32>
  %26 = stablehlo.broadcast_in_dim %25, dims = [2, 3] : (tensor<7x7xf32>) -> tensor<1x1x7x7xf32>
  %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2, 3] : (tensor<1x1x7x7xf32>) -> tensor<2x6x7x7xf32>
  %28 = stablehlo.add %13, %27 : tensor<2x6x7x7xf32>
  %29 = stablehlo.reduce(%28 init: %cst) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %30 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x6x7xf32>
  %31 = stablehlo.maximum %30, %29 : tensor<2x6x7xf32>
  %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %34 = stablehlo.subtract %28, %33 : tensor<2x6x7x7xf32>
  %35 = stablehlo.exponential %34 : tensor<2x6x7x7xf32>
  %36 = stablehlo.reduce(%35 init: %cst_0) applies stablehlo.add across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %38 = stablehlo.broadcast_in_dim %37, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %39 = stablehlo.divide %35, %38 : tensor<2x6x7x7xf32>
  %40 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %41 = stablehlo.compare EQ, %28, %40, FLOAT : (tensor<2x6x7x7xf32>, tensor<2x6x7x7xf32>) -> tensor<2x6x7x7xi1>
  %42 = stablehlo.not %41 : tensor<2x6x7x7xi1>
  %43 = stablehlo.reduce(%42 init: %c) applies stablehlo.or across dimensions = [3] : (tensor<2x6x7x7xi1>, tensor<i1>) -> tensor<2x6x7xi1>
  %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1, 2] : (tensor<2x6x7xi1>) -> tensor<2x6x7x1xi1>
  %45 = stablehlo.not %44 : tensor<2x6x7x1xi1>
  %46 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %47 = stablehlo.broadcast_in_dim %45, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xi1>) -> tensor<2x6x7x7xi1>
  %48 = stablehlo.select %47, %46, %39 : tensor<2x6x7x7xi1>, tensor<2x6x7x7xf32>
  %49 = stablehlo.dot_general %48, %6, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x6x7x7xf32>, tensor<2x6x7x13xf32>) -> tensor<2x6x7x13xf32>
  %50 = stablehlo.transpose %49, dims = [0, 2, 1, 3] : (tensor<2x6x7x13xf32>) -> tensor<2x7x6x13xf32>
  return %50 : tensor<2x7x6x13xf32>
}

// -----

// f32 scores and softmax between bf16 products.
// CHECK-LABEL: func.func @bf16_f32_softmax(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.iota dim = 0 : tensor<7xi32>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] positions(%[[V0]], %[[V0]] : tensor<7xi32>, tensor<7xi32>) {causal, empty = #tsp.empty_rows<mean>, scale = 0.44721359014511108 : f64} : (tensor<2x7x6x5xbf16>, tensor<2x7x3x5xbf16>, tensor<2x7x3x13xbf16>) -> (tensor<2x7x6x13xbf16>, tensor<2x7x6xf32>)
// CHECK: %[[V1:.*]] = stablehlo.reshape %[[O]] : (tensor<2x7x6x13xbf16>) -> tensor<2x7x3x2x13xbf16>
// CHECK: return %[[V1]] : tensor<2x7x3x2x13xbf16>
func.func @bf16_f32_softmax(%arg0: tensor<2x7x6x5xbf16>, %arg1: tensor<2x7x3x5xbf16>, %arg2: tensor<2x7x3x13xbf16>) -> tensor<2x7x3x2x13xbf16> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %cst_2 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %0 = stablehlo.reshape %arg0 : (tensor<2x7x6x5xbf16>) -> tensor<2x7x3x2x5xbf16>
  %1 = stablehlo.dot_general %arg1, %0, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [4] : (tensor<2x7x3x5xbf16>, tensor<2x7x3x2x5xbf16>) -> tensor<2x3x7x7x2xf32>
  %2 = stablehlo.transpose %1, dims = [0, 1, 4, 3, 2] : (tensor<2x3x7x7x2xf32>) -> tensor<2x3x2x7x7xf32>
  %3 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3x2x7x7xf32>
  %4 = stablehlo.multiply %2, %3 : tensor<2x3x2x7x7xf32>
  %5 = stablehlo.iota dim = 0 : tensor<7xi32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
  %7 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<7xi32>) -> tensor<7x1xi32>
  %8 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<7x1xi32>
  %9 = stablehlo.add %7, %8 : tensor<7x1xi32>
  %10 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<1x7xi32>) -> tensor<7x7xi32>
  %11 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<7x1xi32>) -> tensor<7x7xi32>
  %12 = stablehlo.compare LE, %10, %11, SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
  %13 = stablehlo.convert %cst_1 : tensor<f32>
  %14 = stablehlo.broadcast_in_dim %12, dims = [3, 4] : (tensor<7x7xi1>) -> tensor<2x3x2x7x7xi1>
  %15 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<2x3x2x7x7xf32>
  %16 = stablehlo.select %14, %4, %15 : tensor<2x3x2x7x7xi1>, tensor<2x3x2x7x7xf32>
  %17 = stablehlo.reduce(%16 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<2x3x2x7x7xf32>, tensor<f32>) -> tensor<2x3x2x7xf32>
  %18 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3x2x7xf32>
  %19 = stablehlo.maximum %18, %17 : tensor<2x3x2x7xf32>
  %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<2x3x2x7xf32>) -> tensor<2x3x2x7x1xf32>
  %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2, 3, 4] : (tensor<2x3x2x7x1xf32>) -> tensor<2x3x2x7x7xf32>
  %22 = stablehlo.subtract %16, %21 : tensor<2x3x2x7x7xf32>
  %23 = stablehlo.exponential %22 : tensor<2x3x2x7x7xf32>
  %24 = stablehlo.reduce(%23 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<2x3x2x7x7xf32>, tensor<f32>) -> tensor<2x3x2x7xf32>
  %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3] : (tensor<2x3x2x7xf32>) -> tensor<2x3x2x7x1xf32>
  %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3, 4] : (tensor<2x3x2x7x1xf32>) -> tensor<2x3x2x7x7xf32>
  %27 = stablehlo.divide %23, %26 : tensor<2x3x2x7x7xf32>
  %28 = stablehlo.convert %27 : (tensor<2x3x2x7x7xf32>) -> tensor<2x3x2x7x7xbf16>
  %29 = stablehlo.dot_general %arg2, %28, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [4] : (tensor<2x7x3x13xbf16>, tensor<2x3x2x7x7xbf16>) -> tensor<2x3x13x2x7xbf16>
  %30 = stablehlo.transpose %29, dims = [0, 4, 1, 3, 2] : (tensor<2x3x13x2x7xbf16>) -> tensor<2x7x3x2x13xbf16>
  return %30 : tensor<2x7x3x2x13xbf16>
}

// -----

// Scale on the queries, softcap, window.
// CHECK-LABEL: func.func @gemma(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.iota dim = 0 : tensor<7xi32>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] positions(%[[V0]], %[[V0]] : tensor<7xi32>, tensor<7xi32>) {causal, empty = #tsp.empty_rows<mean>, scale = 0.30000001192092896 : f64, softcap = 2.000000e+00 : f64, window = 4 : i64} : (tensor<2x7x6x5xf32>, tensor<2x7x3x5xf32>, tensor<2x7x3x13xf32>) -> (tensor<2x7x6x13xf32>, tensor<2x7x6xf32>)
// CHECK: %[[V1:.*]] = stablehlo.reshape %[[O]] : (tensor<2x7x6x13xf32>) -> tensor<2x7x3x2x13xf32>
// CHECK: return %[[V1]] : tensor<2x7x3x2x13xf32>
func.func @gemma(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x3x5xf32>, %arg2: tensor<2x7x3x13xf32>) -> tensor<2x7x3x2x13xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<-2.38197633E+38> : tensor<f32>
  %c = stablehlo.constant dense<4> : tensor<i32>
  %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
  %cst_3 = stablehlo.constant dense<3.000000e-01> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x7x6x5xf32>
  %1 = stablehlo.multiply %arg0, %0 : tensor<2x7x6x5xf32>
  %2 = stablehlo.reshape %1 : (tensor<2x7x6x5xf32>) -> tensor<2x7x3x2x5xf32>
  %3 = stablehlo.dot_general %arg1, %2, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [4] : (tensor<2x7x3x5xf32>, tensor<2x7x3x2x5xf32>) -> tensor<2x3x7x7x2xf32>
  %4 = stablehlo.transpose %3, dims = [0, 1, 4, 3, 2] : (tensor<2x3x7x7x2xf32>) -> tensor<2x3x2x7x7xf32>
  %5 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3x2x7x7xf32>
  %6 = stablehlo.divide %4, %5 : tensor<2x3x2x7x7xf32>
  %7 = stablehlo.tanh %6 : tensor<2x3x2x7x7xf32>
  %8 = stablehlo.multiply %7, %5 : tensor<2x3x2x7x7xf32>
  %9 = stablehlo.iota dim = 0 : tensor<7xi32>
  %10 = stablehlo.broadcast_in_dim %9, dims = [0] : (tensor<7xi32>) -> tensor<7x1xi32>
  %11 = stablehlo.broadcast_in_dim %9, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
  %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<1x7xi32>) -> tensor<7x7xi32>
  %13 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<7x1xi32>) -> tensor<7x7xi32>
  %14 = stablehlo.compare LE, %12, %13, SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
  %15 = stablehlo.subtract %13, %12 : tensor<7x7xi32>
  %16 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<7x7xi32>
  %17 = stablehlo.compare LT, %15, %16, SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
  %18 = stablehlo.and %14, %17 : tensor<7x7xi1>
  %19 = stablehlo.convert %cst_1 : tensor<f32>
  %20 = stablehlo.broadcast_in_dim %18, dims = [3, 4] : (tensor<7x7xi1>) -> tensor<2x3x2x7x7xi1>
  %21 = stablehlo.broadcast_in_dim %19, dims = [] : (tensor<f32>) -> tensor<2x3x2x7x7xf32>
  %22 = stablehlo.select %20, %8, %21 : tensor<2x3x2x7x7xi1>, tensor<2x3x2x7x7xf32>
  %23 = stablehlo.reduce(%22 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<2x3x2x7x7xf32>, tensor<f32>) -> tensor<2x3x2x7xf32>
  %24 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3x2x7xf32>
  %25 = stablehlo.maximum %24, %23 : tensor<2x3x2x7xf32>
  %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3] : (tensor<2x3x2x7xf32>) -> tensor<2x3x2x7x1xf32>
  %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2, 3, 4] : (tensor<2x3x2x7x1xf32>) -> tensor<2x3x2x7x7xf32>
  %28 = stablehlo.subtract %22, %27 : tensor<2x3x2x7x7xf32>
  %29 = stablehlo.exponential %28 : tensor<2x3x2x7x7xf32>
  %30 = stablehlo.reduce(%29 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<2x3x2x7x7xf32>, tensor<f32>) -> tensor<2x3x2x7xf32>
  %31 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 2, 3] : (tensor<2x3x2x7xf32>) -> tensor<2x3x2x7x1xf32>
  %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2, 3, 4] : (tensor<2x3x2x7x1xf32>) -> tensor<2x3x2x7x7xf32>
  %33 = stablehlo.divide %29, %32 : tensor<2x3x2x7x7xf32>
  %34 = stablehlo.dot_general %arg2, %33, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [4] : (tensor<2x7x3x13xf32>, tensor<2x3x2x7x7xf32>) -> tensor<2x3x13x2x7xf32>
  %35 = stablehlo.transpose %34, dims = [0, 4, 1, 3, 2] : (tensor<2x3x13x2x7xf32>) -> tensor<2x7x3x2x13xf32>
  return %35 : tensor<2x7x3x2x13xf32>
}

// -----

// [S,B,H,E].
// CHECK-LABEL: func.func @sq_first(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] {scale = 0.44721359014511108 : f64} : (tensor<2x7x6x5xf32>, tensor<2x7x6x5xf32>, tensor<2x7x6x13xf32>) -> (tensor<2x7x6x13xf32>, tensor<2x7x6xf32>)
// CHECK: %[[V0:.*]] = stablehlo.transpose %[[O]], dims = [1, 0, 2, 3] : (tensor<2x7x6x13xf32>) -> tensor<7x2x6x13xf32>
// CHECK: return %[[V0]] : tensor<7x2x6x13xf32>
func.func @sq_first(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x6x5xf32>, %arg2: tensor<2x7x6x13xf32>) -> tensor<7x2x6x13xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %0 = stablehlo.transpose %arg0, dims = [1, 0, 2, 3] : (tensor<2x7x6x5xf32>) -> tensor<7x2x6x5xf32>
  %1 = stablehlo.transpose %arg1, dims = [1, 0, 2, 3] : (tensor<2x7x6x5xf32>) -> tensor<7x2x6x5xf32>
  %2 = stablehlo.transpose %arg2, dims = [1, 0, 2, 3] : (tensor<2x7x6x13xf32>) -> tensor<7x2x6x13xf32>
  %3 = stablehlo.dot_general %0, %1, batching_dims = [1, 2] x [1, 2], contracting_dims = [3] x [3] : (tensor<7x2x6x5xf32>, tensor<7x2x6x5xf32>) -> tensor<2x6x7x7xf32>
  %4 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %5 = stablehlo.multiply %3, %4 : tensor<2x6x7x7xf32>
  %6 = stablehlo.reduce(%5 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %7 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x6x7xf32>
  %8 = stablehlo.maximum %7, %6 : tensor<2x6x7xf32>
  %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %11 = stablehlo.subtract %5, %10 : tensor<2x6x7x7xf32>
  %12 = stablehlo.exponential %11 : tensor<2x6x7x7xf32>
  %13 = stablehlo.reduce(%12 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %16 = stablehlo.divide %12, %15 : tensor<2x6x7x7xf32>
  %17 = stablehlo.dot_general %2, %16, batching_dims = [1, 2] x [0, 1], contracting_dims = [0] x [3] : (tensor<7x2x6x13xf32>, tensor<2x6x7x7xf32>) -> tensor<2x6x13x7xf32>
  %18 = stablehlo.transpose %17, dims = [3, 0, 1, 2] : (tensor<2x6x13x7xf32>) -> tensor<7x2x6x13xf32>
  return %18 : tensor<7x2x6x13xf32>
}

// -----

// One head of keys that has no dim.
// CHECK-LABEL: func.func @mqa(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] {scale = 0.44721359014511108 : f64} : (tensor<2x7x6x5xf32>, tensor<2x7x1x5xf32>, tensor<2x7x1x13xf32>) -> (tensor<2x7x6x13xf32>, tensor<2x7x6xf32>)
// CHECK: return %[[O]] : tensor<2x7x6x13xf32>
func.func @mqa(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x1x5xf32>, %arg2: tensor<2x7x1x13xf32>) -> tensor<2x7x6x13xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %0 = stablehlo.reshape %arg1 : (tensor<2x7x1x5xf32>) -> tensor<2x7x5xf32>
  %1 = stablehlo.dot_general %0, %arg0, batching_dims = [0] x [0], contracting_dims = [2] x [3] : (tensor<2x7x5xf32>, tensor<2x7x6x5xf32>) -> tensor<2x7x7x6xf32>
  %2 = stablehlo.transpose %1, dims = [0, 3, 2, 1] : (tensor<2x7x7x6xf32>) -> tensor<2x6x7x7xf32>
  %3 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %4 = stablehlo.multiply %2, %3 : tensor<2x6x7x7xf32>
  %5 = stablehlo.reduce(%4 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x6x7xf32>
  %7 = stablehlo.maximum %6, %5 : tensor<2x6x7xf32>
  %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %10 = stablehlo.subtract %4, %9 : tensor<2x6x7x7xf32>
  %11 = stablehlo.exponential %10 : tensor<2x6x7x7xf32>
  %12 = stablehlo.reduce(%11 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %15 = stablehlo.divide %11, %14 : tensor<2x6x7x7xf32>
  %16 = stablehlo.reshape %arg2 : (tensor<2x7x1x13xf32>) -> tensor<2x7x13xf32>
  %17 = stablehlo.dot_general %16, %15, batching_dims = [0] x [0], contracting_dims = [1] x [3] : (tensor<2x7x13xf32>, tensor<2x6x7x7xf32>) -> tensor<2x13x6x7xf32>
  %18 = stablehlo.transpose %17, dims = [0, 3, 2, 1] : (tensor<2x13x6x7xf32>) -> tensor<2x7x6x13xf32>
  return %18 : tensor<2x7x6x13xf32>
}
