// RUN: tsp-opt %s -split-input-file --tsp-raise-attention --canonicalize --cse | FileCheck %s

// Masks that become segments.
// Programs of JAX (test/Python/attention_variants.py), imported.

// Lengths of queries and keys: segments that no one shares.
// CHECK-LABEL: func.func @dpa_lengths(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG3:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG4:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.constant dense<2> : tensor<2x7xi32>
// CHECK: %[[V1:.*]] = stablehlo.constant dense<1> : tensor<2x7xi32>
// CHECK: %[[V2:.*]] = stablehlo.constant dense<0> : tensor<2x7xi32>
// CHECK: %[[V3:.*]] = stablehlo.iota dim = 0 : tensor<7xi32>
// CHECK: %[[V4:.*]] = stablehlo.broadcast_in_dim %[[V3]], dims = [1] : (tensor<7xi32>) -> tensor<2x7x1xi32>
// CHECK: %[[V5:.*]] = stablehlo.broadcast_in_dim %[[ARG3]], dims = [0] : (tensor<2xi32>) -> tensor<2x7x1xi32>
// CHECK: %[[V6:.*]] = stablehlo.compare LT, %[[V4]], %[[V5]], SIGNED : (tensor<2x7x1xi32>, tensor<2x7x1xi32>) -> tensor<2x7x1xi1>
// CHECK: %[[V7:.*]] = stablehlo.broadcast_in_dim %[[V3]], dims = [2] : (tensor<7xi32>) -> tensor<2x1x7xi32>
// CHECK: %[[V8:.*]] = stablehlo.broadcast_in_dim %[[ARG4]], dims = [0] : (tensor<2xi32>) -> tensor<2x1x7xi32>
// CHECK: %[[V9:.*]] = stablehlo.compare LT, %[[V7]], %[[V8]], SIGNED : (tensor<2x1x7xi32>, tensor<2x1x7xi32>) -> tensor<2x1x7xi1>
// CHECK: %[[V10:.*]] = stablehlo.reshape %[[V6]] : (tensor<2x7x1xi1>) -> tensor<2x7xi1>
// CHECK: %[[V11:.*]] = stablehlo.select %[[V10]], %[[V2]], %[[V1]] : tensor<2x7xi1>, tensor<2x7xi32>
// CHECK: %[[V12:.*]] = stablehlo.reshape %[[V9]] : (tensor<2x1x7xi1>) -> tensor<2x7xi1>
// CHECK: %[[V13:.*]] = stablehlo.select %[[V12]], %[[V2]], %[[V0]] : tensor<2x7xi1>, tensor<2x7xi32>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] positions(%[[V3]], %[[V3]] : tensor<7xi32>, tensor<7xi32>) segments(%[[V11]], %[[V13]] : tensor<2x7xi32>, tensor<2x7xi32>) {causal, empty = #tsp.empty_rows<mean>, scale = 0.44721359014511108 : f64} : (tensor<2x7x6x5xf32>, tensor<2x7x3x5xf32>, tensor<2x7x3x5xf32>) -> (tensor<2x7x6x5xf32>, tensor<2x7x6xf32>)
// CHECK: %[[V14:.*]] = stablehlo.reshape %[[O]] : (tensor<2x7x6x5xf32>) -> tensor<2x7x3x2x5xf32>
// CHECK: %[[V15:.*]] = stablehlo.transpose %[[V14]], dims = [3, 0, 1, 2, 4] : (tensor<2x7x3x2x5xf32>) -> tensor<2x2x7x3x5xf32>
// CHECK: %[[V16:.*]] = stablehlo.broadcast_in_dim %[[V3]], dims = [1] : (tensor<7xi32>) -> tensor<2x7xi32>
// CHECK: %[[V17:.*]] = stablehlo.broadcast_in_dim %[[ARG3]], dims = [0] : (tensor<2xi32>) -> tensor<2x7xi32>
// CHECK: %[[V18:.*]] = stablehlo.compare LT, %[[V16]], %[[V17]], SIGNED : (tensor<2x7xi32>, tensor<2x7xi32>) -> tensor<2x7xi1>
// CHECK: %[[V19:.*]] = stablehlo.reshape %[[V18]] : (tensor<2x7xi1>) -> tensor<2x7x1x1xi1>
// CHECK: %[[V20:.*]] = stablehlo.convert %[[V19]] : (tensor<2x7x1x1xi1>) -> tensor<2x7x1x1xf32>
// CHECK: %[[V21:.*]] = stablehlo.broadcast_in_dim %[[V20]], dims = [1, 2, 3, 4] : (tensor<2x7x1x1xf32>) -> tensor<2x2x7x3x5xf32>
// CHECK: %[[V22:.*]] = stablehlo.multiply %[[V15]], %[[V21]] : tensor<2x2x7x3x5xf32>
// CHECK: %[[V23:.*]] = stablehlo.transpose %[[V22]], dims = [1, 2, 3, 0, 4] : (tensor<2x2x7x3x5xf32>) -> tensor<2x7x3x2x5xf32>
// CHECK: %[[V24:.*]] = stablehlo.reshape %[[V23]] : (tensor<2x7x3x2x5xf32>) -> tensor<2x7x6x5xf32>
// CHECK: return %[[V24]] : tensor<2x7x6x5xf32>
func.func @dpa_lengths(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x3x5xf32>, %arg2: tensor<2x7x3x5xf32>, %arg3: tensor<2xi32>, %arg4: tensor<2xi32>) -> tensor<2x7x6x5xf32> {
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
  %16 = stablehlo.iota dim = 0 : tensor<7xi32>
  %17 = stablehlo.broadcast_in_dim %16, dims = [1] : (tensor<7xi32>) -> tensor<1x7x1xi32>
  %18 = stablehlo.broadcast_in_dim %arg3, dims = [0] : (tensor<2xi32>) -> tensor<2x1x1xi32>
  %19 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<1x7x1xi32>) -> tensor<2x7x1xi32>
  %20 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2] : (tensor<2x1x1xi32>) -> tensor<2x7x1xi32>
  %21 = stablehlo.compare LT, %19, %20, SIGNED : (tensor<2x7x1xi32>, tensor<2x7x1xi32>) -> tensor<2x7x1xi1>
  %22 = stablehlo.broadcast_in_dim %16, dims = [2] : (tensor<7xi32>) -> tensor<1x1x7xi32>
  %23 = stablehlo.broadcast_in_dim %arg4, dims = [0] : (tensor<2xi32>) -> tensor<2x1x1xi32>
  %24 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<1x1x7xi32>) -> tensor<2x1x7xi32>
  %25 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2] : (tensor<2x1x1xi32>) -> tensor<2x1x7xi32>
  %26 = stablehlo.compare LT, %24, %25, SIGNED : (tensor<2x1x7xi32>, tensor<2x1x7xi32>) -> tensor<2x1x7xi1>
  %27 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] : (tensor<2x7x1xi1>) -> tensor<2x7x7xi1>
  %28 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2] : (tensor<2x1x7xi1>) -> tensor<2x7x7xi1>
  %29 = stablehlo.and %27, %28 : tensor<2x7x7xi1>
  %30 = stablehlo.broadcast_in_dim %29, dims = [0, 2, 3] : (tensor<2x7x7xi1>) -> tensor<2x1x7x7xi1>
  %31 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 2, 3] : (tensor<2x1x7x7xi1>) -> tensor<2x3x7x7xi1>
  %32 = stablehlo.and %15, %31 : tensor<2x3x7x7xi1>
  %33 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x3x7x7xf32>
  %34 = stablehlo.broadcast_in_dim %32, dims = [1, 2, 3, 4] : (tensor<2x3x7x7xi1>) -> tensor<2x2x3x7x7xi1>
  %35 = stablehlo.broadcast_in_dim %33, dims = [1, 2, 3, 4] : (tensor<2x3x7x7xf32>) -> tensor<2x2x3x7x7xf32>
  %36 = stablehlo.transpose %3, dims = [3, 0, 1, 2, 4] : (tensor<2x3x7x2x7xf32>) -> tensor<2x2x3x7x7xf32>
  %37 = stablehlo.select %34, %36, %35 : tensor<2x2x3x7x7xi1>, tensor<2x2x3x7x7xf32>
  %38 = stablehlo.reduce(%37 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<2x2x3x7x7xf32>, tensor<f32>) -> tensor<2x2x3x7xf32>
  %39 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x2x3x7xf32>
  %40 = stablehlo.maximum %39, %38 : tensor<2x2x3x7xf32>
  %41 = stablehlo.broadcast_in_dim %40, dims = [0, 1, 2, 3] : (tensor<2x2x3x7xf32>) -> tensor<2x2x3x7x1xf32>
  %42 = stablehlo.broadcast_in_dim %41, dims = [0, 1, 2, 3, 4] : (tensor<2x2x3x7x1xf32>) -> tensor<2x2x3x7x7xf32>
  %43 = stablehlo.subtract %37, %42 : tensor<2x2x3x7x7xf32>
  %44 = stablehlo.exponential %43 : tensor<2x2x3x7x7xf32>
  %45 = stablehlo.reduce(%44 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<2x2x3x7x7xf32>, tensor<f32>) -> tensor<2x2x3x7xf32>
  %46 = stablehlo.broadcast_in_dim %45, dims = [0, 1, 2, 3] : (tensor<2x2x3x7xf32>) -> tensor<2x2x3x7x1xf32>
  %47 = stablehlo.broadcast_in_dim %46, dims = [0, 1, 2, 3, 4] : (tensor<2x2x3x7x1xf32>) -> tensor<2x2x3x7x7xf32>
  %48 = stablehlo.divide %44, %47 : tensor<2x2x3x7x7xf32>
  %49 = stablehlo.dot_general %arg2, %48, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4] : (tensor<2x7x3x5xf32>, tensor<2x2x3x7x7xf32>) -> tensor<2x3x5x2x7xf32>
  %50 = stablehlo.transpose %49, dims = [3, 0, 4, 1, 2] : (tensor<2x3x5x2x7xf32>) -> tensor<2x2x7x3x5xf32>
  %51 = stablehlo.broadcast_in_dim %16, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
  %52 = stablehlo.broadcast_in_dim %arg3, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
  %53 = stablehlo.broadcast_in_dim %51, dims = [0, 1] : (tensor<1x7xi32>) -> tensor<2x7xi32>
  %54 = stablehlo.broadcast_in_dim %52, dims = [0, 1] : (tensor<2x1xi32>) -> tensor<2x7xi32>
  %55 = stablehlo.compare LT, %53, %54, SIGNED : (tensor<2x7xi32>, tensor<2x7xi32>) -> tensor<2x7xi1>
  %56 = stablehlo.broadcast_in_dim %55, dims = [0, 1] : (tensor<2x7xi1>) -> tensor<2x7x1x1xi1>
  %57 = stablehlo.convert %56 : (tensor<2x7x1x1xi1>) -> tensor<2x7x1x1xf32>
  %58 = stablehlo.broadcast_in_dim %57, dims = [1, 2, 3, 4] : (tensor<2x7x1x1xf32>) -> tensor<1x2x7x1x1xf32>
  %59 = stablehlo.broadcast_in_dim %58, dims = [0, 1, 2, 3, 4] : (tensor<1x2x7x1x1xf32>) -> tensor<2x2x7x3x5xf32>
  %60 = stablehlo.multiply %50, %59 : tensor<2x2x7x3x5xf32>
  %61 = stablehlo.transpose %60, dims = [1, 2, 3, 0, 4] : (tensor<2x2x7x3x5xf32>) -> tensor<2x7x3x2x5xf32>
  %62 = stablehlo.reshape %61 : (tensor<2x7x3x2x5xf32>) -> tensor<2x7x6x5xf32>
  return %62 : tensor<2x7x6x5xf32>
}

// -----

// Segment ids.
// CHECK-LABEL: func.func @packed(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG3:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.iota dim = 0 : tensor<7xi32>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] positions(%[[V0]], %[[V0]] : tensor<7xi32>, tensor<7xi32>) segments(%[[ARG3]], %[[ARG3]] : tensor<2x7xi32>, tensor<2x7xi32>) {causal, empty = #tsp.empty_rows<mean>, scale = 0.44721359014511108 : f64} : (tensor<2x7x6x5xf32>, tensor<2x7x3x5xf32>, tensor<2x7x3x13xf32>) -> (tensor<2x7x6x13xf32>, tensor<2x7x6xf32>)
// CHECK: %[[V1:.*]] = stablehlo.reshape %[[O]] : (tensor<2x7x6x13xf32>) -> tensor<2x7x78xf32>
// CHECK: return %[[V1]] : tensor<2x7x78xf32>
func.func @packed(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x3x5xf32>, %arg2: tensor<2x7x3x13xf32>, %arg3: tensor<2x7xi32>) -> tensor<2x7x78xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
  %cst_2 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.broadcast_in_dim %arg3, dims = [0, 1] : (tensor<2x7xi32>) -> tensor<2x7x1xi32>
  %1 = stablehlo.broadcast_in_dim %arg3, dims = [0, 2] : (tensor<2x7xi32>) -> tensor<2x1x7xi32>
  %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<2x7x1xi32>) -> tensor<2x7x7xi32>
  %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<2x1x7xi32>) -> tensor<2x7x7xi32>
  %4 = stablehlo.compare EQ, %2, %3, SIGNED : (tensor<2x7x7xi32>, tensor<2x7x7xi32>) -> tensor<2x7x7xi1>
  %5 = stablehlo.iota dim = 0 : tensor<7xi32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
  %7 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<7xi32>) -> tensor<7x1xi32>
  %8 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<7x1xi32>
  %9 = stablehlo.add %7, %8 : tensor<7x1xi32>
  %10 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<1x7xi32>) -> tensor<7x7xi32>
  %11 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<7x1xi32>) -> tensor<7x7xi32>
  %12 = stablehlo.compare LE, %10, %11, SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
  %13 = stablehlo.broadcast_in_dim %12, dims = [1, 2] : (tensor<7x7xi1>) -> tensor<1x7x7xi1>
  %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<1x7x7xi1>) -> tensor<2x7x7xi1>
  %15 = stablehlo.and %4, %14 : tensor<2x7x7xi1>
  %16 = stablehlo.broadcast_in_dim %15, dims = [0, 3, 4] : (tensor<2x7x7xi1>) -> tensor<2x1x1x7x7xi1>
  %17 = stablehlo.reshape %arg0 : (tensor<2x7x6x5xf32>) -> tensor<2x7x3x2x5xf32>
  %18 = stablehlo.dot_general %arg1, %17, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [4] : (tensor<2x7x3x5xf32>, tensor<2x7x3x2x5xf32>) -> tensor<2x3x7x7x2xf32>
  %19 = stablehlo.transpose %18, dims = [0, 1, 4, 3, 2] : (tensor<2x3x7x7x2xf32>) -> tensor<2x3x2x7x7xf32>
  %20 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3x2x7x7xf32>
  %21 = stablehlo.multiply %19, %20 : tensor<2x3x2x7x7xf32>
  %22 = stablehlo.convert %cst_1 : tensor<f32>
  %23 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3, 4] : (tensor<2x1x1x7x7xi1>) -> tensor<2x3x2x7x7xi1>
  %24 = stablehlo.broadcast_in_dim %22, dims = [] : (tensor<f32>) -> tensor<2x3x2x7x7xf32>
  %25 = stablehlo.select %23, %21, %24 : tensor<2x3x2x7x7xi1>, tensor<2x3x2x7x7xf32>
  %26 = stablehlo.reduce(%25 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<2x3x2x7x7xf32>, tensor<f32>) -> tensor<2x3x2x7xf32>
  %27 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3x2x7xf32>
  %28 = stablehlo.maximum %27, %26 : tensor<2x3x2x7xf32>
  %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2, 3] : (tensor<2x3x2x7xf32>) -> tensor<2x3x2x7x1xf32>
  %30 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2, 3, 4] : (tensor<2x3x2x7x1xf32>) -> tensor<2x3x2x7x7xf32>
  %31 = stablehlo.subtract %25, %30 : tensor<2x3x2x7x7xf32>
  %32 = stablehlo.exponential %31 : tensor<2x3x2x7x7xf32>
  %33 = stablehlo.reduce(%32 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<2x3x2x7x7xf32>, tensor<f32>) -> tensor<2x3x2x7xf32>
  %34 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2, 3] : (tensor<2x3x2x7xf32>) -> tensor<2x3x2x7x1xf32>
  %35 = stablehlo.broadcast_in_dim %34, dims = [0, 1, 2, 3, 4] : (tensor<2x3x2x7x1xf32>) -> tensor<2x3x2x7x7xf32>
  %36 = stablehlo.divide %32, %35 : tensor<2x3x2x7x7xf32>
  %37 = stablehlo.dot_general %arg2, %36, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [4] : (tensor<2x7x3x13xf32>, tensor<2x3x2x7x7xf32>) -> tensor<2x3x13x2x7xf32>
  %38 = stablehlo.transpose %37, dims = [0, 4, 1, 3, 2] : (tensor<2x3x13x2x7xf32>) -> tensor<2x7x3x2x13xf32>
  %39 = stablehlo.reshape %38 : (tensor<2x7x3x2x13xf32>) -> tensor<2x7x78xf32>
  return %39 : tensor<2x7x78xf32>
}

// -----

// A computed segment: positions divided.
// CHECK-LABEL: func.func @chunked(
// CHECK-SAME:  %[[ARG0:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG1:[a-z0-9]+]]: {{[^,)]*}}, %[[ARG2:[a-z0-9]+]]: {{[^,)]*}}
// CHECK-NOT: exponential
// CHECK: %[[V0:.*]] = stablehlo.constant dense<0> : tensor<1x7xi32>
// CHECK: %[[V1:.*]] = stablehlo.constant dense<1> : tensor<1x7xi32>
// CHECK: %[[V2:.*]] = stablehlo.constant dense<3> : tensor<1x7xi32>
// CHECK: %[[V3:.*]] = stablehlo.constant dense<0> : tensor<7x1xi32>
// CHECK: %[[V4:.*]] = stablehlo.constant dense<1> : tensor<7x1xi32>
// CHECK: %[[V5:.*]] = stablehlo.constant dense<3> : tensor<7x1xi32>
// CHECK: %[[V6:.*]] = stablehlo.iota dim = 0 : tensor<7xi32>
// CHECK: %[[V7:.*]] = stablehlo.reshape %[[V6]] : (tensor<7xi32>) -> tensor<7x1xi32>
// CHECK: %[[V8:.*]] = stablehlo.divide %[[V7]], %[[V5]] : tensor<7x1xi32>
// CHECK: %[[V9:.*]] = stablehlo.sign %[[V7]] : tensor<7x1xi32>
// CHECK: %[[V10:.*]] = stablehlo.compare NE, %[[V9]], %[[V4]], SIGNED : (tensor<7x1xi32>, tensor<7x1xi32>) -> tensor<7x1xi1>
// CHECK: %[[V11:.*]] = stablehlo.remainder %[[V7]], %[[V5]] : tensor<7x1xi32>
// CHECK: %[[V12:.*]] = stablehlo.compare NE, %[[V11]], %[[V3]], SIGNED : (tensor<7x1xi32>, tensor<7x1xi32>) -> tensor<7x1xi1>
// CHECK: %[[V13:.*]] = stablehlo.and %[[V10]], %[[V12]] : tensor<7x1xi1>
// CHECK: %[[V14:.*]] = stablehlo.subtract %[[V8]], %[[V4]] : tensor<7x1xi32>
// CHECK: %[[V15:.*]] = stablehlo.select %[[V13]], %[[V14]], %[[V8]] : tensor<7x1xi1>, tensor<7x1xi32>
// CHECK: %[[V16:.*]] = stablehlo.reshape %[[V6]] : (tensor<7xi32>) -> tensor<1x7xi32>
// CHECK: %[[V17:.*]] = stablehlo.divide %[[V16]], %[[V2]] : tensor<1x7xi32>
// CHECK: %[[V18:.*]] = stablehlo.sign %[[V16]] : tensor<1x7xi32>
// CHECK: %[[V19:.*]] = stablehlo.compare NE, %[[V18]], %[[V1]], SIGNED : (tensor<1x7xi32>, tensor<1x7xi32>) -> tensor<1x7xi1>
// CHECK: %[[V20:.*]] = stablehlo.remainder %[[V16]], %[[V2]] : tensor<1x7xi32>
// CHECK: %[[V21:.*]] = stablehlo.compare NE, %[[V20]], %[[V0]], SIGNED : (tensor<1x7xi32>, tensor<1x7xi32>) -> tensor<1x7xi1>
// CHECK: %[[V22:.*]] = stablehlo.and %[[V19]], %[[V21]] : tensor<1x7xi1>
// CHECK: %[[V23:.*]] = stablehlo.subtract %[[V17]], %[[V1]] : tensor<1x7xi32>
// CHECK: %[[V24:.*]] = stablehlo.select %[[V22]], %[[V23]], %[[V17]] : tensor<1x7xi1>, tensor<1x7xi32>
// CHECK: %[[V25:.*]] = stablehlo.reshape %[[V15]] : (tensor<7x1xi32>) -> tensor<7xi32>
// CHECK: %[[V26:.*]] = stablehlo.reshape %[[V24]] : (tensor<1x7xi32>) -> tensor<7xi32>
// CHECK: %[[O:.*]], %{{.*}} = tsp.sdpa %[[ARG0]], %[[ARG1]], %[[ARG2]] positions(%[[V6]], %[[V6]] : tensor<7xi32>, tensor<7xi32>) segments(%[[V25]], %[[V26]] : tensor<7xi32>, tensor<7xi32>) {causal, empty = #tsp.empty_rows<mean>, scale = 0.44721359014511108 : f64} : (tensor<2x7x6x5xf32>, tensor<2x7x3x5xf32>, tensor<2x7x3x13xf32>) -> (tensor<2x7x6x13xf32>, tensor<2x7x6xf32>)
// CHECK: %[[V27:.*]] = stablehlo.reshape %[[O]] : (tensor<2x7x6x13xf32>) -> tensor<2x7x78xf32>
// CHECK: return %[[V27]] : tensor<2x7x78xf32>
func.func @chunked(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x3x5xf32>, %arg2: tensor<2x7x3x13xf32>) -> tensor<2x7x78xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
  %cst_2 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %c = stablehlo.constant dense<1> : tensor<i32>
  %c_3 = stablehlo.constant dense<0> : tensor<i32>
  %c_4 = stablehlo.constant dense<3> : tensor<i32>
  %0 = stablehlo.iota dim = 0 : tensor<7xi32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<7xi32>) -> tensor<7x1xi32>
  %2 = stablehlo.convert %c_4 : tensor<i32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<7x1xi32>
  %4 = stablehlo.divide %1, %3 : tensor<7x1xi32>
  %5 = stablehlo.sign %1 : tensor<7x1xi32>
  %6 = stablehlo.sign %2 : tensor<i32>
  %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i32>) -> tensor<7x1xi32>
  %8 = stablehlo.compare NE, %5, %7, SIGNED : (tensor<7x1xi32>, tensor<7x1xi32>) -> tensor<7x1xi1>
  %9 = stablehlo.remainder %1, %3 : tensor<7x1xi32>
  %10 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<7x1xi32>
  %11 = stablehlo.compare NE, %9, %10, SIGNED : (tensor<7x1xi32>, tensor<7x1xi32>) -> tensor<7x1xi1>
  %12 = stablehlo.and %8, %11 : tensor<7x1xi1>
  %13 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<7x1xi32>
  %14 = stablehlo.subtract %4, %13 : tensor<7x1xi32>
  %15 = stablehlo.select %12, %14, %4 : tensor<7x1xi1>, tensor<7x1xi32>
  %16 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
  %17 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<i32>) -> tensor<1x7xi32>
  %18 = stablehlo.divide %16, %17 : tensor<1x7xi32>
  %19 = stablehlo.sign %16 : tensor<1x7xi32>
  %20 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i32>) -> tensor<1x7xi32>
  %21 = stablehlo.compare NE, %19, %20, SIGNED : (tensor<1x7xi32>, tensor<1x7xi32>) -> tensor<1x7xi1>
  %22 = stablehlo.remainder %16, %17 : tensor<1x7xi32>
  %23 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<1x7xi32>
  %24 = stablehlo.compare NE, %22, %23, SIGNED : (tensor<1x7xi32>, tensor<1x7xi32>) -> tensor<1x7xi1>
  %25 = stablehlo.and %21, %24 : tensor<1x7xi1>
  %26 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<1x7xi32>
  %27 = stablehlo.subtract %18, %26 : tensor<1x7xi32>
  %28 = stablehlo.select %25, %27, %18 : tensor<1x7xi1>, tensor<1x7xi32>
  %29 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<7x1xi32>) -> tensor<7x7xi32>
  %30 = stablehlo.broadcast_in_dim %28, dims = [0, 1] : (tensor<1x7xi32>) -> tensor<7x7xi32>
  %31 = stablehlo.compare EQ, %29, %30, SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
  %32 = stablehlo.add %1, %10 : tensor<7x1xi32>
  %33 = stablehlo.broadcast_in_dim %16, dims = [0, 1] : (tensor<1x7xi32>) -> tensor<7x7xi32>
  %34 = stablehlo.broadcast_in_dim %32, dims = [0, 1] : (tensor<7x1xi32>) -> tensor<7x7xi32>
  %35 = stablehlo.compare LE, %33, %34, SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
  %36 = stablehlo.and %31, %35 : tensor<7x7xi1>
  %37 = stablehlo.reshape %arg0 : (tensor<2x7x6x5xf32>) -> tensor<2x7x3x2x5xf32>
  %38 = stablehlo.dot_general %arg1, %37, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [4] : (tensor<2x7x3x5xf32>, tensor<2x7x3x2x5xf32>) -> tensor<2x3x7x7x2xf32>
  %39 = stablehlo.transpose %38, dims = [0, 1, 4, 3, 2] : (tensor<2x3x7x7x2xf32>) -> tensor<2x3x2x7x7xf32>
  %40 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x3x2x7x7xf32>
  %41 = stablehlo.multiply %39, %40 : tensor<2x3x2x7x7xf32>
  %42 = stablehlo.convert %cst_1 : tensor<f32>
  %43 = stablehlo.broadcast_in_dim %36, dims = [3, 4] : (tensor<7x7xi1>) -> tensor<2x3x2x7x7xi1>
  %44 = stablehlo.broadcast_in_dim %42, dims = [] : (tensor<f32>) -> tensor<2x3x2x7x7xf32>
  %45 = stablehlo.select %43, %41, %44 : tensor<2x3x2x7x7xi1>, tensor<2x3x2x7x7xf32>
  %46 = stablehlo.reduce(%45 init: %cst_0) applies stablehlo.maximum across dimensions = [4] : (tensor<2x3x2x7x7xf32>, tensor<f32>) -> tensor<2x3x2x7xf32>
  %47 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3x2x7xf32>
  %48 = stablehlo.maximum %47, %46 : tensor<2x3x2x7xf32>
  %49 = stablehlo.broadcast_in_dim %48, dims = [0, 1, 2, 3] : (tensor<2x3x2x7xf32>) -> tensor<2x3x2x7x1xf32>
  %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1, 2, 3, 4] : (tensor<2x3x2x7x1xf32>) -> tensor<2x3x2x7x7xf32>
  %51 = stablehlo.subtract %45, %50 : tensor<2x3x2x7x7xf32>
  %52 = stablehlo.exponential %51 : tensor<2x3x2x7x7xf32>
  %53 = stablehlo.reduce(%52 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<2x3x2x7x7xf32>, tensor<f32>) -> tensor<2x3x2x7xf32>
  %54 = stablehlo.broadcast_in_dim %53, dims = [0, 1, 2, 3] : (tensor<2x3x2x7xf32>) -> tensor<2x3x2x7x1xf32>
  %55 = stablehlo.broadcast_in_dim %54, dims = [0, 1, 2, 3, 4] : (tensor<2x3x2x7x1xf32>) -> tensor<2x3x2x7x7xf32>
  %56 = stablehlo.divide %52, %55 : tensor<2x3x2x7x7xf32>
  %57 = stablehlo.dot_general %arg2, %56, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [4] : (tensor<2x7x3x13xf32>, tensor<2x3x2x7x7xf32>) -> tensor<2x3x13x2x7xf32>
  %58 = stablehlo.transpose %57, dims = [0, 4, 1, 3, 2] : (tensor<2x3x13x2x7xf32>) -> tensor<2x7x3x2x13xf32>
  %59 = stablehlo.reshape %58 : (tensor<2x7x3x2x13xf32>) -> tensor<2x7x78xf32>
  return %59 : tensor<2x7x78xf32>
}
