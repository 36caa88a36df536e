// RUN: tsp-opt %s -split-input-file --tsp-raise-attention --canonicalize --cse | FileCheck %s

// Masks that become positions.
// Programs of JAX (test/Python/attention_variants.py), imported.

// tril of ones.
// CHECK-LABEL: func.func @dpa_causal(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.iota dim = 0 : tensor<7xi32>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] positions(%[[V0]], %[[V0]] : tensor<7xi32>, tensor<7xi32>) {causal, empty = #tsp.empty_rows<mean>, scale = 0.44721359014511108 : f64} : (tensor<2x7x6x5xf32>, tensor<2x7x3x5xf32>, tensor<2x7x3x5xf32>) -> (tensor<2x7x6x5xf32>, tensor<2x7x6xf32>)
// CHECK: return %[[O]] : tensor<2x7x6x5xf32>
func.func @dpa_causal(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x3x5xf32>, %arg2: tensor<2x7x3x5xf32>) -> tensor<2x7x6x5xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<-2.38197633E+38> : tensor<f32>
  %c = stablehlo.constant dense<false> : tensor<i1>
  %c_2 = stablehlo.constant dense<0> : tensor<i32>
  %c_3 = stablehlo.constant dense<true> : tensor<i1>
  %cst_4 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %0 = stablehlo.reshape %arg0 : (tensor<2x7x6x5xf32>) -> tensor<2x7x3x2x5xf32>
  %1 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3] : (tensor<2x7x3x2x5xf32>, tensor<2x7x3x5xf32>) -> tensor<2x3x7x2x7xf32>
  %2 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x3x7x2x7xf32>
  %3 = stablehlo.multiply %1, %2 : tensor<2x3x7x2x7xf32>
  %4 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i1>) -> tensor<2x3x7x7xi1>
  %5 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i1>) -> tensor<7x7xi1>
  %6 = stablehlo.iota dim = 0 : tensor<7x7xi32>
  %7 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<7x7xi32>
  %8 = stablehlo.add %6, %7 : tensor<7x7xi32>
  %9 = stablehlo.iota dim = 1 : tensor<7x7xi32>
  %10 = stablehlo.compare GE, %8, %9, SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
  %11 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<7x7xi1>
  %12 = stablehlo.select %10, %5, %11 : tensor<7x7xi1>, tensor<7x7xi1>
  %13 = stablehlo.broadcast_in_dim %12, dims = [2, 3] : (tensor<7x7xi1>) -> tensor<1x1x7x7xi1>
  %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<1x1x7x7xi1>) -> tensor<2x3x7x7xi1>
  %15 = stablehlo.and %4, %14 : tensor<2x3x7x7xi1>
  %16 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x7x7xf32>
  %17 = stablehlo.broadcast_in_dim %15, dims = [1, 2, 3, 4] : (tensor<2x3x7x7xi1>) -> tensor<2x2x3x7x7xi1>
  %18 = stablehlo.broadcast_in_dim %16, dims = [1, 2, 3, 4] : (tensor<2x3x7x7xf32>) -> tensor<2x2x3x7x7xf32>
  %19 = stablehlo.transpose %3, dims = [3, 0, 1, 2, 4] : (tensor<2x3x7x2x7xf32>) -> tensor<2x2x3x7x7xf32>
  %20 = stablehlo.select %17, %19, %18 : tensor<2x2x3x7x7xi1>, tensor<2x2x3x7x7xf32>
  %21 = stablehlo.reduce(%20 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<2x2x3x7x7xf32>, tensor<f32>) -> tensor<2x2x3x7xf32>
  %22 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x2x3x7xf32>
  %23 = stablehlo.maximum %22, %21 : tensor<2x2x3x7xf32>
  %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2, 3] : (tensor<2x2x3x7xf32>) -> tensor<2x2x3x7x1xf32>
  %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3, 4] : (tensor<2x2x3x7x1xf32>) -> tensor<2x2x3x7x7xf32>
  %26 = stablehlo.subtract %20, %25 : tensor<2x2x3x7x7xf32>
  %27 = stablehlo.exponential %26 : tensor<2x2x3x7x7xf32>
  %28 = stablehlo.reduce(%27 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<2x2x3x7x7xf32>, tensor<f32>) -> tensor<2x2x3x7xf32>
  %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2, 3] : (tensor<2x2x3x7xf32>) -> tensor<2x2x3x7x1xf32>
  %30 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2, 3, 4] : (tensor<2x2x3x7x1xf32>) -> tensor<2x2x3x7x7xf32>
  %31 = stablehlo.divide %27, %30 : tensor<2x2x3x7x7xf32>
  %32 = stablehlo.dot_general %arg2, %31, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4] : (tensor<2x7x3x5xf32>, tensor<2x2x3x7x7xf32>) -> tensor<2x3x5x2x7xf32>
  %33 = stablehlo.transpose %32, dims = [3, 0, 4, 1, 2] : (tensor<2x3x5x2x7xf32>) -> tensor<2x2x7x3x5xf32>
  %34 = stablehlo.transpose %33, dims = [1, 2, 3, 0, 4] : (tensor<2x2x7x3x5xf32>) -> tensor<2x7x3x2x5xf32>
  %35 = stablehlo.reshape %34 : (tensor<2x7x3x2x5xf32>) -> tensor<2x7x6x5xf32>
  return %35 : tensor<2x7x6x5xf32>
}

// -----

// Two opposite bounds at a distance: a window.
// CHECK-LABEL: func.func @dpa_window(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.constant dense<1> : tensor<7xi32>
// CHECK: %[[V1:.*]] = stablehlo.iota dim = 0 : tensor<7xi32>
// CHECK: %[[V2:.*]] = stablehlo.add %[[V1]], %[[V0]] : tensor<7xi32>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] positions(%[[V2]], %[[V1]] : tensor<7xi32>, tensor<7xi32>) {causal, empty = #tsp.empty_rows<mean>, scale = 0.44721359014511108 : f64, window = 4 : i64} : (tensor<2x7x6x5xf32>, tensor<2x7x3x5xf32>, tensor<2x7x3x5xf32>) -> (tensor<2x7x6x5xf32>, tensor<2x7x6xf32>)
// CHECK: return %[[O]] : tensor<2x7x6x5xf32>
func.func @dpa_window(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x3x5xf32>, %arg2: tensor<2x7x3x5xf32>) -> tensor<2x7x6x5xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<-2.38197633E+38> : tensor<f32>
  %c = stablehlo.constant dense<1> : tensor<i32>
  %c_2 = stablehlo.constant dense<2> : tensor<i32>
  %c_3 = stablehlo.constant dense<true> : tensor<i1>
  %cst_4 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %c_5 = stablehlo.constant dense<[0, 1, 2, 3, 4, 5, 6]> : tensor<7xi32>
  %0 = stablehlo.reshape %arg0 : (tensor<2x7x6x5xf32>) -> tensor<2x7x3x2x5xf32>
  %1 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3] : (tensor<2x7x3x2x5xf32>, tensor<2x7x3x5xf32>) -> tensor<2x3x7x2x7xf32>
  %2 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x3x7x2x7xf32>
  %3 = stablehlo.multiply %1, %2 : tensor<2x3x7x2x7xf32>
  %4 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i1>) -> tensor<2x3x7x7xi1>
  %5 = stablehlo.broadcast_in_dim %c_5, dims = [0] : (tensor<7xi32>) -> tensor<7x1xi32>
  %6 = stablehlo.broadcast_in_dim %c_5, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
  %7 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<1x7xi32>
  %8 = stablehlo.add %6, %7 : tensor<1x7xi32>
  %9 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<7x1xi32>) -> tensor<7x7xi32>
  %10 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<1x7xi32>) -> tensor<7x7xi32>
  %11 = stablehlo.compare LE, %9, %10, SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
  %12 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1x7xi32>
  %13 = stablehlo.subtract %6, %12 : tensor<1x7xi32>
  %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1] : (tensor<1x7xi32>) -> tensor<7x7xi32>
  %15 = stablehlo.compare GE, %9, %14, SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
  %16 = stablehlo.and %15, %11 : tensor<7x7xi1>
  %17 = stablehlo.broadcast_in_dim %16, dims = [2, 3] : (tensor<7x7xi1>) -> tensor<1x1x7x7xi1>
  %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<1x1x7x7xi1>) -> tensor<2x3x7x7xi1>
  %19 = stablehlo.and %4, %18 : tensor<2x3x7x7xi1>
  %20 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x7x7xf32>
  %21 = stablehlo.broadcast_in_dim %19, dims = [1, 2, 3, 4] : (tensor<2x3x7x7xi1>) -> tensor<2x2x3x7x7xi1>
  %22 = stablehlo.broadcast_in_dim %20, dims = [1, 2, 3, 4] : (tensor<2x3x7x7xf32>) -> tensor<2x2x3x7x7xf32>
  %23 = stablehlo.transpose %3, dims = [3, 0, 1, 2, 4] : (tensor<2x3x7x2x7xf32>) -> tensor<2x2x3x7x7xf32>
  %24 = stablehlo.select %21, %23, %22 : tensor<2x2x3x7x7xi1>, tensor<2x2x3x7x7xf32>
  %25 = stablehlo.reduce(%24 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<2x2x3x7x7xf32>, tensor<f32>) -> tensor<2x2x3x7xf32>
  %26 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x2x3x7xf32>
  %27 = stablehlo.maximum %26, %25 : tensor<2x2x3x7xf32>
  %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2, 3] : (tensor<2x2x3x7xf32>) -> tensor<2x2x3x7x1xf32>
  %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2, 3, 4] : (tensor<2x2x3x7x1xf32>) -> tensor<2x2x3x7x7xf32>
  %30 = stablehlo.subtract %24, %29 : tensor<2x2x3x7x7xf32>
  %31 = stablehlo.exponential %30 : tensor<2x2x3x7x7xf32>
  %32 = stablehlo.reduce(%31 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<2x2x3x7x7xf32>, tensor<f32>) -> tensor<2x2x3x7xf32>
  %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1, 2, 3] : (tensor<2x2x3x7xf32>) -> tensor<2x2x3x7x1xf32>
  %34 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2, 3, 4] : (tensor<2x2x3x7x1xf32>) -> tensor<2x2x3x7x7xf32>
  %35 = stablehlo.divide %31, %34 : tensor<2x2x3x7x7xf32>
  %36 = stablehlo.dot_general %arg2, %35, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4] : (tensor<2x7x3x5xf32>, tensor<2x2x3x7x7xf32>) -> tensor<2x3x5x2x7xf32>
  %37 = stablehlo.transpose %36, dims = [3, 0, 4, 1, 2] : (tensor<2x3x5x2x7xf32>) -> tensor<2x2x7x3x5xf32>
  %38 = stablehlo.transpose %37, dims = [1, 2, 3, 0, 4] : (tensor<2x2x7x3x5xf32>) -> tensor<2x7x3x2x5xf32>
  %39 = stablehlo.reshape %38 : (tensor<2x7x3x2x5xf32>) -> tensor<2x7x6x5xf32>
  return %39 : tensor<2x7x6x5xf32>
}

// -----

// One query at a position that is known at run time.
// CHECK-LABEL: func.func @decode(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG3:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.reshape %[[ARG3]] : (tensor<i32>) -> tensor<1xi32>
// CHECK: %[[V1:.*]] = stablehlo.iota dim = 0 : tensor<11xi32>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] positions(%[[V0]], %[[V1]] : tensor<1xi32>, tensor<11xi32>) {causal, scale = 0.44721359549995793 : f64} : (tensor<2x1x6x5xf32>, tensor<2x11x3x5xf32>, tensor<2x11x3x13xf32>) -> (tensor<2x1x6x13xf32>, tensor<2x1x6xf32>)
// CHECK: return %[[O]] : tensor<2x1x6x13xf32>
func.func @decode(%arg0: tensor<2x1x6x5xf32>, %arg1: tensor<2x11x3x5xf32>, %arg2: tensor<2x11x3x13xf32>, %arg3: tensor<i32>) -> tensor<2x1x6x13xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<5.000000e+00> : tensor<f32>
  %0 = stablehlo.iota dim = 0 : tensor<11xi32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [3] : (tensor<11xi32>) -> tensor<1x1x1x11xi32>
  %2 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<i32>) -> tensor<1x1x1x11xi32>
  %3 = stablehlo.compare LE, %1, %2, SIGNED : (tensor<1x1x1x11xi32>, tensor<1x1x1x11xi32>) -> tensor<1x1x1x11xi1>
  %4 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1, 2, 4] : (tensor<2x11x3x5xf32>) -> tensor<2x11x3x2x5xf32>
  %5 = stablehlo.reshape %4 : (tensor<2x11x3x2x5xf32>) -> tensor<2x11x6x5xf32>
  %6 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2, 4] : (tensor<2x11x3x13xf32>) -> tensor<2x11x3x2x13xf32>
  %7 = stablehlo.reshape %6 : (tensor<2x11x3x2x13xf32>) -> tensor<2x11x6x13xf32>
  %8 = stablehlo.transpose %arg0, dims = [0, 2, 1, 3] : (tensor<2x1x6x5xf32>) -> tensor<2x6x1x5xf32>
  %9 = stablehlo.transpose %5, dims = [0, 2, 1, 3] : (tensor<2x11x6x5xf32>) -> tensor<2x6x11x5xf32>
  %10 = stablehlo.transpose %7, dims = [0, 2, 1, 3] : (tensor<2x11x6x13xf32>) -> tensor<2x6x11x13xf32>
  %11 = stablehlo.transpose %9, dims = [0, 1, 3, 2] : (tensor<2x6x11x5xf32>) -> tensor<2x6x5x11xf32>
  %12 = stablehlo.dot_general %8, %11, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x6x1x5xf32>, tensor<2x6x5x11xf32>) -> tensor<2x6x1x11xf32>
  %13 = stablehlo.sqrt %cst_1 : tensor<f32>
  %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<2x6x1x11xf32>
  %15 = stablehlo.divide %12, %14 : tensor<2x6x1x11xf32>
  %16 = stablehlo.convert %cst_0 : tensor<f32>
  %17 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2, 3] : (tensor<1x1x1x11xi1>) -> tensor<2x6x1x11xi1>
  %18 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<f32>) -> tensor<2x6x1x11xf32>
  %19 = stablehlo.select %17, %15, %18 : tensor<2x6x1x11xi1>, tensor<2x6x1x11xf32>
  %20 = stablehlo.reduce(%19 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x1x11xf32>, tensor<f32>) -> tensor<2x6x1xf32>
  %21 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x6x1xf32>
  %22 = stablehlo.maximum %21, %20 : tensor<2x6x1xf32>
  %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<2x6x1xf32>) -> tensor<2x6x1x1xf32>
  %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2, 3] : (tensor<2x6x1x1xf32>) -> tensor<2x6x1x11xf32>
  %25 = stablehlo.subtract %19, %24 : tensor<2x6x1x11xf32>
  %26 = stablehlo.exponential %25 : tensor<2x6x1x11xf32>
  %27 = stablehlo.reduce(%26 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<2x6x1x11xf32>, tensor<f32>) -> tensor<2x6x1xf32>
  %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2] : (tensor<2x6x1xf32>) -> tensor<2x6x1x1xf32>
  %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2, 3] : (tensor<2x6x1x1xf32>) -> tensor<2x6x1x11xf32>
  %30 = stablehlo.divide %26, %29 : tensor<2x6x1x11xf32>
  %31 = stablehlo.dot_general %30, %10, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x6x1x11xf32>, tensor<2x6x11x13xf32>) -> tensor<2x6x1x13xf32>
  %32 = stablehlo.transpose %31, dims = [0, 2, 1, 3] : (tensor<2x6x1x13xf32>) -> tensor<2x1x6x13xf32>
  return %32 : tensor<2x1x6x13xf32>
}

// -----

// A row cut out of the whole mask: the start is clamped.
// CHECK-LABEL: func.func @flax_decode(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG3:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.constant dense<10> : tensor<i32>
// CHECK: %[[V1:.*]] = stablehlo.constant dense<11> : tensor<i32>
// CHECK: %[[V2:.*]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: %[[V3:.*]] = stablehlo.compare LT, %[[ARG3]], %[[V2]], SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK: %[[V4:.*]] = stablehlo.add %[[ARG3]], %[[V1]] : tensor<i32>
// CHECK: %[[V5:.*]] = stablehlo.select %[[V3]], %[[V4]], %[[ARG3]] : tensor<i1>, tensor<i32>
// CHECK: %[[V6:.*]] = stablehlo.clamp %[[V2]], %[[V5]], %[[V0]] : tensor<i32>
// CHECK: %[[V7:.*]] = stablehlo.reshape %[[V6]] : (tensor<i32>) -> tensor<1xi32>
// CHECK: %[[V8:.*]] = stablehlo.iota dim = 0 : tensor<11xi32>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] positions(%[[V7]], %[[V8]] : tensor<1xi32>, tensor<11xi32>) {causal, empty = #tsp.empty_rows<mean>, scale = 0.44721359549995793 : f64} : (tensor<2x1x6x5xf32>, tensor<2x11x3x5xf32>, tensor<2x11x3x13xf32>) -> (tensor<2x1x6x13xf32>, tensor<2x1x6xf32>)
// CHECK: return %[[O]] : tensor<2x1x6x13xf32>
func.func @flax_decode(%arg0: tensor<2x1x6x5xf32>, %arg1: tensor<2x11x3x5xf32>, %arg2: tensor<2x11x3x13xf32>, %arg3: tensor<i32>) -> tensor<2x1x6x13xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<-3.40282347E+38> : tensor<f32>
  %cst_2 = stablehlo.constant dense<5.000000e+00> : tensor<f32>
  %c = stablehlo.constant dense<11> : tensor<i32>
  %c_3 = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.iota dim = 0 : tensor<11xi32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<11xi32>) -> tensor<1x11xi32>
  %2 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<11xi32>) -> tensor<11x1xi32>
  %3 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<11x1xi32>
  %4 = stablehlo.add %2, %3 : tensor<11x1xi32>
  %5 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x11xi32>) -> tensor<11x11xi32>
  %6 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<11x1xi32>) -> tensor<11x11xi32>
  %7 = stablehlo.compare LE, %5, %6, SIGNED : (tensor<11x11xi32>, tensor<11x11xi32>) -> tensor<11x11xi1>
  %8 = stablehlo.compare LT, %arg3, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %9 = stablehlo.add %arg3, %c : tensor<i32>
  %10 = stablehlo.select %8, %9, %arg3 : tensor<i1>, tensor<i32>
  %11 = stablehlo.dynamic_slice %7, %10, %c_3, sizes = [1, 11] : (tensor<11x11xi1>, tensor<i32>, tensor<i32>) -> tensor<1x11xi1>
  %12 = stablehlo.broadcast_in_dim %11, dims = [2, 3] : (tensor<1x11xi1>) -> tensor<1x1x1x11xi1>
  %13 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1, 2, 4] : (tensor<2x11x3x5xf32>) -> tensor<2x11x3x2x5xf32>
  %14 = stablehlo.reshape %13 : (tensor<2x11x3x2x5xf32>) -> tensor<2x11x6x5xf32>
  %15 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2, 4] : (tensor<2x11x3x13xf32>) -> tensor<2x11x3x2x13xf32>
  %16 = stablehlo.reshape %15 : (tensor<2x11x3x2x13xf32>) -> tensor<2x11x6x13xf32>
  %17 = stablehlo.transpose %arg0, dims = [0, 2, 1, 3] : (tensor<2x1x6x5xf32>) -> tensor<2x6x1x5xf32>
  %18 = stablehlo.transpose %14, dims = [0, 2, 1, 3] : (tensor<2x11x6x5xf32>) -> tensor<2x6x11x5xf32>
  %19 = stablehlo.transpose %16, dims = [0, 2, 1, 3] : (tensor<2x11x6x13xf32>) -> tensor<2x6x11x13xf32>
  %20 = stablehlo.transpose %18, dims = [0, 1, 3, 2] : (tensor<2x6x11x5xf32>) -> tensor<2x6x5x11xf32>
  %21 = stablehlo.dot_general %17, %20, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x6x1x5xf32>, tensor<2x6x5x11xf32>) -> tensor<2x6x1x11xf32>
  %22 = stablehlo.sqrt %cst_2 : tensor<f32>
  %23 = stablehlo.broadcast_in_dim %22, dims = [] : (tensor<f32>) -> tensor<2x6x1x11xf32>
  %24 = stablehlo.divide %21, %23 : tensor<2x6x1x11xf32>
  %25 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<1x1x1x11xi1>) -> tensor<2x6x1x11xi1>
  %26 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x6x1x11xf32>
  %27 = stablehlo.select %25, %24, %26 : tensor<2x6x1x11xi1>, tensor<2x6x1x11xf32>
  %28 = stablehlo.reduce(%27 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x1x11xf32>, tensor<f32>) -> tensor<2x6x1xf32>
  %29 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x6x1xf32>
  %30 = stablehlo.maximum %29, %28 : tensor<2x6x1xf32>
  %31 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 2] : (tensor<2x6x1xf32>) -> tensor<2x6x1x1xf32>
  %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2, 3] : (tensor<2x6x1x1xf32>) -> tensor<2x6x1x11xf32>
  %33 = stablehlo.subtract %27, %32 : tensor<2x6x1x11xf32>
  %34 = stablehlo.exponential %33 : tensor<2x6x1x11xf32>
  %35 = stablehlo.reduce(%34 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<2x6x1x11xf32>, tensor<f32>) -> tensor<2x6x1xf32>
  %36 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2] : (tensor<2x6x1xf32>) -> tensor<2x6x1x1xf32>
  %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2, 3] : (tensor<2x6x1x1xf32>) -> tensor<2x6x1x11xf32>
  %38 = stablehlo.divide %34, %37 : tensor<2x6x1x11xf32>
  %39 = stablehlo.dot_general %38, %19, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x6x1x11xf32>, tensor<2x6x11x13xf32>) -> tensor<2x6x1x13xf32>
  %40 = stablehlo.transpose %39, dims = [0, 2, 1, 3] : (tensor<2x6x1x13xf32>) -> tensor<2x1x6x13xf32>
  return %40 : tensor<2x1x6x13xf32>
}

// -----

// A static part of a larger mask.
// CHECK-LABEL: func.func @buffer_mask(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.constant dense<4> : tensor<7xi32>
// CHECK: %[[V1:.*]] = stablehlo.iota dim = 0 : tensor<7xi32>
// CHECK: %[[V2:.*]] = stablehlo.add %[[V1]], %[[V0]] : tensor<7xi32>
// CHECK: %[[V3:.*]] = stablehlo.iota dim = 0 : tensor<11xi32>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] positions(%[[V2]], %[[V3]] : tensor<7xi32>, tensor<11xi32>) {causal, empty = #tsp.empty_rows<mean>, scale = 0.44721359549995793 : f64} : (tensor<2x7x6x5xf32>, tensor<2x11x3x5xf32>, tensor<2x11x3x13xf32>) -> (tensor<2x7x6x13xf32>, tensor<2x7x6xf32>)
// CHECK: return %[[O]] : tensor<2x7x6x13xf32>
func.func @buffer_mask(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x11x3x5xf32>, %arg2: tensor<2x11x3x13xf32>) -> tensor<2x7x6x13xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<-1.000000e+10> : tensor<f32>
  %cst_2 = stablehlo.constant dense<5.000000e+00> : tensor<f32>
  %c = stablehlo.constant dense<false> : tensor<i1>
  %c_3 = stablehlo.constant dense<0> : tensor<i32>
  %c_4 = stablehlo.constant dense<true> : tensor<i1>
  %0 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i1>) -> tensor<1x1x32x32xi1>
  %1 = stablehlo.iota dim = 0 : tensor<32x32xi32>
  %2 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<32x32xi32>
  %3 = stablehlo.add %1, %2 : tensor<32x32xi32>
  %4 = stablehlo.iota dim = 1 : tensor<32x32xi32>
  %5 = stablehlo.compare GE, %3, %4, SIGNED : (tensor<32x32xi32>, tensor<32x32xi32>) -> tensor<32x32xi1>
  %6 = stablehlo.broadcast_in_dim %5, dims = [2, 3] : (tensor<32x32xi1>) -> tensor<1x1x32x32xi1>
  %7 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<1x1x32x32xi1>
  %8 = stablehlo.select %6, %0, %7 : tensor<1x1x32x32xi1>, tensor<1x1x32x32xi1>
  %9 = stablehlo.slice %8 [0:1, 0:1, 4:11, 0:11] : (tensor<1x1x32x32xi1>) -> tensor<1x1x7x11xi1>
  %10 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1, 2, 4] : (tensor<2x11x3x5xf32>) -> tensor<2x11x3x2x5xf32>
  %11 = stablehlo.reshape %10 : (tensor<2x11x3x2x5xf32>) -> tensor<2x11x6x5xf32>
  %12 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2, 4] : (tensor<2x11x3x13xf32>) -> tensor<2x11x3x2x13xf32>
  %13 = stablehlo.reshape %12 : (tensor<2x11x3x2x13xf32>) -> tensor<2x11x6x13xf32>
  %14 = stablehlo.transpose %arg0, dims = [0, 2, 1, 3] : (tensor<2x7x6x5xf32>) -> tensor<2x6x7x5xf32>
  %15 = stablehlo.transpose %11, dims = [0, 2, 1, 3] : (tensor<2x11x6x5xf32>) -> tensor<2x6x11x5xf32>
  %16 = stablehlo.transpose %13, dims = [0, 2, 1, 3] : (tensor<2x11x6x13xf32>) -> tensor<2x6x11x13xf32>
  %17 = stablehlo.transpose %15, dims = [0, 1, 3, 2] : (tensor<2x6x11x5xf32>) -> tensor<2x6x5x11xf32>
  %18 = stablehlo.dot_general %14, %17, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x6x7x5xf32>, tensor<2x6x5x11xf32>) -> tensor<2x6x7x11xf32>
  %19 = stablehlo.sqrt %cst_2 : tensor<f32>
  %20 = stablehlo.broadcast_in_dim %19, dims = [] : (tensor<f32>) -> tensor<2x6x7x11xf32>
  %21 = stablehlo.divide %18, %20 : tensor<2x6x7x11xf32>
  %22 = stablehlo.convert %cst_1 : tensor<f32>
  %23 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<1x1x7x11xi1>) -> tensor<2x6x7x11xi1>
  %24 = stablehlo.broadcast_in_dim %22, dims = [] : (tensor<f32>) -> tensor<2x6x7x11xf32>
  %25 = stablehlo.select %23, %21, %24 : tensor<2x6x7x11xi1>, tensor<2x6x7x11xf32>
  %26 = stablehlo.reduce(%25 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x7x11xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %27 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x6x7xf32>
  %28 = stablehlo.maximum %27, %26 : tensor<2x6x7xf32>
  %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %30 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x11xf32>
  %31 = stablehlo.subtract %25, %30 : tensor<2x6x7x11xf32>
  %32 = stablehlo.exponential %31 : tensor<2x6x7x11xf32>
  %33 = stablehlo.reduce(%32 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<2x6x7x11xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %34 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %35 = stablehlo.broadcast_in_dim %34, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x11xf32>
  %36 = stablehlo.divide %32, %35 : tensor<2x6x7x11xf32>
  %37 = stablehlo.dot_general %36, %16, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x6x7x11xf32>, tensor<2x6x11x13xf32>) -> tensor<2x6x7x13xf32>
  %38 = stablehlo.transpose %37, dims = [0, 2, 1, 3] : (tensor<2x6x7x13xf32>) -> tensor<2x7x6x13xf32>
  return %38 : tensor<2x7x6x13xf32>
}

// -----

// Positions that are arguments.
// CHECK-LABEL: func.func @positions_argument(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG3:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG4:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] positions(%[[ARG3]], %[[ARG4]] : tensor<2x7xi32>, tensor<2x11xi32>) {causal, empty = #tsp.empty_rows<mean>, scale = 0.44721359014511108 : f64} : (tensor<2x7x6x5xf32>, tensor<2x11x3x5xf32>, tensor<2x11x3x13xf32>) -> (tensor<2x7x6x13xf32>, tensor<2x7x6xf32>)
// CHECK: %[[V0:.*]] = stablehlo.reshape %[[O]] : (tensor<2x7x6x13xf32>) -> tensor<2x7x78xf32>
// CHECK: return %[[V0]] : tensor<2x7x78xf32>
func.func @positions_argument(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x11x3x5xf32>, %arg2: tensor<2x11x3x13xf32>, %arg3: tensor<2x7xi32>, %arg4: tensor<2x11xi32>) -> tensor<2x7x78xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
  %cst_2 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %arg4, dims = [0, 2] : (tensor<2x11xi32>) -> tensor<2x1x11xi32>
  %1 = stablehlo.broadcast_in_dim %arg3, dims = [0, 1] : (tensor<2x7xi32>) -> tensor<2x7x1xi32>
  %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<2x1x11xi32>) -> tensor<2x7x11xi32>
  %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<2x7x1xi32>) -> tensor<2x7x11xi32>
  %4 = stablehlo.compare LE, %2, %3, SIGNED : (tensor<2x7x11xi32>, tensor<2x7x11xi32>) -> tensor<2x7x11xi1>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0, 3, 4] : (tensor<2x7x11xi1>) -> tensor<2x1x1x7x11xi1>
  %6 = stablehlo.reshape %arg0 : (tensor<2x7x6x5xf32>) -> tensor<2x7x3x2x5xf32>
  %7 = stablehlo.dot_general %arg1, %6, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [4] : (tensor<2x11x3x5xf32>, tensor<2x7x3x2x5xf32>) -> tensor<2x3x11x7x2xf32>
  %8 = stablehlo.transpose %7, dims = [0, 1, 4, 3, 2] : (tensor<2x3x11x7x2xf32>) -> tensor<2x3x2x7x11xf32>
  %9 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3x2x7x11xf32>
  %10 = stablehlo.multiply %8, %9 : tensor<2x3x2x7x11xf32>
  %11 = stablehlo.convert %cst_1 : tensor<f32>
  %12 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2, 3, 4] : (tensor<2x1x1x7x11xi1>) -> tensor<2x3x2x7x11xi1>
  %13 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<f32>) -> tensor<2x3x2x7x11xf32>
  %14 = stablehlo.select %12, %10, %13 : tensor<2x3x2x7x11xi1>, tensor<2x3x2x7x11xf32>
  %15 = stablehlo.reduce(%14 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<2x3x2x7x11xf32>, tensor<f32>) -> tensor<2x3x2x7xf32>
  %16 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3x2x7xf32>
  %17 = stablehlo.maximum %16, %15 : tensor<2x3x2x7xf32>
  %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<2x3x2x7xf32>) -> tensor<2x3x2x7x1xf32>
  %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3, 4] : (tensor<2x3x2x7x1xf32>) -> tensor<2x3x2x7x11xf32>
  %20 = stablehlo.subtract %14, %19 : tensor<2x3x2x7x11xf32>
  %21 = stablehlo.exponential %20 : tensor<2x3x2x7x11xf32>
  %22 = stablehlo.reduce(%21 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<2x3x2x7x11xf32>, tensor<f32>) -> tensor<2x3x2x7xf32>
  %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2, 3] : (tensor<2x3x2x7xf32>) -> tensor<2x3x2x7x1xf32>
  %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2, 3, 4] : (tensor<2x3x2x7x1xf32>) -> tensor<2x3x2x7x11xf32>
  %25 = stablehlo.divide %21, %24 : tensor<2x3x2x7x11xf32>
  %26 = stablehlo.dot_general %arg2, %25, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [4] : (tensor<2x11x3x13xf32>, tensor<2x3x2x7x11xf32>) -> tensor<2x3x13x2x7xf32>
  %27 = stablehlo.transpose %26, dims = [0, 4, 1, 3, 2] : (tensor<2x3x13x2x7xf32>) -> tensor<2x7x3x2x13xf32>
  %28 = stablehlo.reshape %27 : (tensor<2x7x3x2x13xf32>) -> tensor<2x7x78xf32>
  return %28 : tensor<2x7x78xf32>
}

// -----

// Rows without keys under -inf.
// CHECK-LABEL: func.func @empty_nan(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.constant dense<-2> : tensor<7xi32>
// CHECK: %[[V1:.*]] = stablehlo.iota dim = 0 : tensor<7xi32>
// CHECK: %[[V2:.*]] = stablehlo.add %[[V1]], %[[V0]] : tensor<7xi32>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] positions(%[[V2]], %[[V1]] : tensor<7xi32>, tensor<7xi32>) {causal, scale = 0.44721359014511108 : f64} : (tensor<2x7x6x5xf32>, tensor<2x7x3x5xf32>, tensor<2x7x3x13xf32>) -> (tensor<2x7x6x13xf32>, tensor<2x7x6xf32>)
// CHECK: %[[V3:.*]] = stablehlo.reshape %[[O]] : (tensor<2x7x6x13xf32>) -> tensor<2x7x78xf32>
// CHECK: return %[[V3]] : tensor<2x7x78xf32>
func.func @empty_nan(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x3x5xf32>, %arg2: tensor<2x7x3x13xf32>) -> tensor<2x7x78xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %c = stablehlo.constant dense<-2> : tensor<i32>
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
  %11 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x2x7x7xf32>
  %12 = stablehlo.multiply %10, %11 : tensor<2x3x2x7x7xf32>
  %13 = stablehlo.convert %cst_0 : tensor<f32>
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
