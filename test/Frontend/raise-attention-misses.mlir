// RUN: tsp-opt %s -split-input-file --tsp-raise-attention=remarks=true -verify-diagnostics

// What looks like attention and is left alone, with the reason.

func.func @no_max(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x6x5xf32>, %arg2: tensor<2x7x6x13xf32>) -> tensor<2x7x6x13xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x7x6x5xf32>, tensor<2x7x6x5xf32>) -> tensor<2x6x7x7xf32>
  %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<2x6x7x7xf32>
  // expected-note @+1 {{here}}
  %3 = stablehlo.exponential %2 : tensor<2x6x7x7xf32>
  %4 = stablehlo.reduce(%3 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %7 = stablehlo.divide %3, %6 : tensor<2x6x7x7xf32>
  // expected-remark @+1 {{attention not raised: exponential of scores from which no maximum was subtracted}}
  %8 = stablehlo.dot_general %arg2, %7, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x7x6x13xf32>, tensor<2x6x7x7xf32>) -> tensor<2x6x13x7xf32>
  %9 = stablehlo.transpose %8, dims = [0, 3, 1, 2] : (tensor<2x6x13x7xf32>) -> tensor<2x7x6x13xf32>
  return %9 : tensor<2x7x6x13xf32>
}

// -----

func.func @wrong_sum(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x6x5xf32>, %arg2: tensor<2x7x6x13xf32>) -> tensor<2x7x6x13xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x7x6x5xf32>, tensor<2x7x6x5xf32>) -> tensor<2x6x7x7xf32>
  %1 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<2x6x7x7xf32>
  %3 = stablehlo.reduce(%2 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %6 = stablehlo.subtract %2, %5 : tensor<2x6x7x7xf32>
  %7 = stablehlo.exponential %6 : tensor<2x6x7x7xf32>
  // expected-note @+1 {{here}}
  %8 = stablehlo.reduce(%7 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 3] : (tensor<2x6x7xf32>) -> tensor<2x6x1x7xf32>
  %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2, 3] : (tensor<2x6x1x7xf32>) -> tensor<2x6x7x7xf32>
  %11 = stablehlo.divide %7, %10 : tensor<2x6x7x7xf32>
  // expected-remark @+1 {{attention not raised: division by a sum that is not that of the exponentials over the keys}}
  %12 = stablehlo.dot_general %arg2, %11, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x7x6x13xf32>, tensor<2x6x7x7xf32>) -> tensor<2x6x13x7xf32>
  %13 = stablehlo.transpose %12, dims = [0, 3, 1, 2] : (tensor<2x6x13x7xf32>) -> tensor<2x7x6x13xf32>
  return %13 : tensor<2x7x6x13xf32>
}

// -----

func.func @softmax_over_queries(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x6x5xf32>, %arg2: tensor<2x7x6x13xf32>) -> tensor<2x7x6x13xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x7x6x5xf32>, tensor<2x7x6x5xf32>) -> tensor<2x6x7x7xf32>
  %1 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<2x6x7x7xf32>
  // expected-note @+1 {{here}}
  %3 = stablehlo.reduce(%2 init: %cst_0) applies stablehlo.maximum across dimensions = [2] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x6x7xf32>
  %5 = stablehlo.maximum %4, %3 : tensor<2x6x7xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 3] : (tensor<2x6x7xf32>) -> tensor<2x6x1x7xf32>
  %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2, 3] : (tensor<2x6x1x7xf32>) -> tensor<2x6x7x7xf32>
  %8 = stablehlo.subtract %2, %7 : tensor<2x6x7x7xf32>
  %9 = stablehlo.exponential %8 : tensor<2x6x7x7xf32>
  %10 = stablehlo.reduce(%9 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 3] : (tensor<2x6x7xf32>) -> tensor<2x6x1x7xf32>
  %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2, 3] : (tensor<2x6x1x7xf32>) -> tensor<2x6x7x7xf32>
  %13 = stablehlo.divide %9, %12 : tensor<2x6x7x7xf32>
  // expected-remark @+1 {{attention not raised: a softmax over other dims than the product contracts}}
  %14 = stablehlo.dot_general %arg2, %13, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x7x6x13xf32>, tensor<2x6x7x7xf32>) -> tensor<2x6x13x7xf32>
  %15 = stablehlo.transpose %14, dims = [0, 3, 1, 2] : (tensor<2x6x13x7xf32>) -> tensor<2x7x6x13xf32>
  return %15 : tensor<2x7x6x13xf32>
}

// -----

func.func @weak_fill(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x3x5xf32>, %arg2: tensor<2x7x3x13xf32>) -> tensor<2x7x78xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<-3.000000e+00> : tensor<f32>
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
  // expected-note @+1 {{here}}
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
  // expected-remark @+1 {{attention not raised: the fill -3 is not negative enough to be a mask}}
  %28 = stablehlo.dot_general %arg2, %27, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [4] : (tensor<2x7x3x13xf32>, tensor<2x3x2x7x7xf32>) -> tensor<2x3x13x2x7xf32>
  %29 = stablehlo.transpose %28, dims = [0, 4, 1, 3, 2] : (tensor<2x3x13x2x7xf32>) -> tensor<2x7x3x2x13xf32>
  %30 = stablehlo.reshape %29 : (tensor<2x7x3x2x13xf32>) -> tensor<2x7x78xf32>
  return %30 : tensor<2x7x78xf32>
}

// -----

func.func @keeps_probabilities(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x6x5xf32>, %arg2: tensor<2x7x6x13xf32>) -> (tensor<2x7x6x13xf32>, tensor<2x6x7x7xf32>) {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x7x6x5xf32>, tensor<2x7x6x5xf32>) -> tensor<2x6x7x7xf32>
  %1 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<2x6x7x7xf32>
  %3 = stablehlo.reduce(%2 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x6x7xf32>
  %5 = stablehlo.maximum %4, %3 : tensor<2x6x7xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %8 = stablehlo.subtract %2, %7 : tensor<2x6x7x7xf32>
  %9 = stablehlo.exponential %8 : tensor<2x6x7x7xf32>
  %10 = stablehlo.reduce(%9 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %13 = stablehlo.divide %9, %12 : tensor<2x6x7x7xf32>
  // expected-remark @+1 {{attention not raised: scores or probabilities are also used elsewhere, as by a gradient}}
  %14 = stablehlo.dot_general %arg2, %13, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x7x6x13xf32>, tensor<2x6x7x7xf32>) -> tensor<2x6x13x7xf32>
  %15 = stablehlo.transpose %14, dims = [0, 3, 1, 2] : (tensor<2x6x13x7xf32>) -> tensor<2x7x6x13xf32>
  // expected-note @+1 {{here}}
  return %15, %13 : tensor<2x7x6x13xf32>, tensor<2x6x7x7xf32>
}

// -----

func.func @scaled_by_key(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x6x5xf32>, %arg2: tensor<2x7x6x13xf32>) -> tensor<2x7x6x13xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x7x6x5xf32>, tensor<2x7x6x5xf32>) -> tensor<2x6x7x7xf32>
  %1 = stablehlo.iota dim = 0 : tensor<7xf32>
  %2 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<7xf32>
  %3 = stablehlo.add %2, %1 : tensor<7xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [3] : (tensor<7xf32>) -> tensor<1x1x1x7xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<1x1x1x7xf32>) -> tensor<2x6x7x7xf32>
  // expected-note @+1 {{here}}
  %6 = stablehlo.multiply %0, %5 : tensor<2x6x7x7xf32>
  %7 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x6x7xf32>
  %9 = stablehlo.maximum %8, %7 : tensor<2x6x7xf32>
  %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %12 = stablehlo.subtract %6, %11 : tensor<2x6x7x7xf32>
  %13 = stablehlo.exponential %12 : tensor<2x6x7x7xf32>
  %14 = stablehlo.reduce(%13 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %17 = stablehlo.divide %13, %16 : tensor<2x6x7x7xf32>
  // expected-remark @+1 {{attention not raised: scores times what is no constant}}
  %18 = stablehlo.dot_general %arg2, %17, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x7x6x13xf32>, tensor<2x6x7x7xf32>) -> tensor<2x6x13x7xf32>
  %19 = stablehlo.transpose %18, dims = [0, 3, 1, 2] : (tensor<2x6x13x7xf32>) -> tensor<2x7x6x13xf32>
  return %19 : tensor<2x7x6x13xf32>
}

// -----

func.func @capped_after_mask(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x6x5xf32>, %arg2: tensor<2x7x6x13xf32>) -> tensor<2x7x6x13xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %cst_2 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x7x6x5xf32>, tensor<2x7x6x5xf32>) -> tensor<2x6x7x7xf32>
  %1 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<2x6x7x7xf32>
  %3 = stablehlo.iota dim = 0 : tensor<7xi32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
  %5 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<7xi32>) -> tensor<7x1xi32>
  %6 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<7x1xi32>
  %7 = stablehlo.add %5, %6 : tensor<7x1xi32>
  %8 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<1x7xi32>) -> tensor<7x7xi32>
  %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<7x1xi32>) -> tensor<7x7xi32>
  %10 = stablehlo.compare LE, %8, %9, SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
  %11 = stablehlo.convert %cst_1 : tensor<f32>
  %12 = stablehlo.broadcast_in_dim %10, dims = [2, 3] : (tensor<7x7xi1>) -> tensor<2x6x7x7xi1>
  %13 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  // expected-note @+1 {{here}}
  %14 = stablehlo.select %12, %2, %13 : tensor<2x6x7x7xi1>, tensor<2x6x7x7xf32>
  %15 = stablehlo.tanh %14 : tensor<2x6x7x7xf32>
  %16 = stablehlo.reduce(%15 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %17 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x6x7xf32>
  %18 = stablehlo.maximum %17, %16 : tensor<2x6x7xf32>
  %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %21 = stablehlo.subtract %15, %20 : tensor<2x6x7x7xf32>
  %22 = stablehlo.exponential %21 : tensor<2x6x7x7xf32>
  %23 = stablehlo.reduce(%22 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %26 = stablehlo.divide %22, %25 : tensor<2x6x7x7xf32>
  // expected-remark @+1 {{attention not raised: a mask before the softcap}}
  %27 = stablehlo.dot_general %arg2, %26, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x7x6x13xf32>, tensor<2x6x7x7xf32>) -> tensor<2x6x13x7xf32>
  %28 = stablehlo.transpose %27, dims = [0, 3, 1, 2] : (tensor<2x6x13x7xf32>) -> tensor<2x7x6x13xf32>
  return %28 : tensor<2x7x6x13xf32>
}

// -----

func.func @two_fills(%arg0: tensor<2x7x6x5xf32>, %arg1: tensor<2x7x6x5xf32>, %arg2: tensor<2x7x6x13xf32>) -> tensor<2x7x6x13xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
  %cst_2 = stablehlo.constant dense<-1.000000e+20> : tensor<f32>
  %c = stablehlo.constant dense<-2> : tensor<i32>
  %c_3 = stablehlo.constant dense<0> : tensor<i32>
  %cst_4 = stablehlo.constant dense<0.44721359> : tensor<f32>
  %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x7x6x5xf32>, tensor<2x7x6x5xf32>) -> tensor<2x6x7x7xf32>
  %1 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<2x6x7x7xf32>
  %3 = stablehlo.iota dim = 0 : tensor<7xi32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
  %5 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<7xi32>) -> tensor<7x1xi32>
  %6 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<7x1xi32>
  %7 = stablehlo.add %5, %6 : tensor<7x1xi32>
  %8 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<1x7xi32>) -> tensor<7x7xi32>
  %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<7x1xi32>) -> tensor<7x7xi32>
  %10 = stablehlo.compare LE, %8, %9, SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
  %11 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<7x1xi32>
  %12 = stablehlo.add %5, %11 : tensor<7x1xi32>
  %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1] : (tensor<7x1xi32>) -> tensor<7x7xi32>
  %14 = stablehlo.compare LE, %8, %13, SIGNED : (tensor<7x7xi32>, tensor<7x7xi32>) -> tensor<7x7xi1>
  %15 = stablehlo.convert %cst_2 : tensor<f32>
  %16 = stablehlo.broadcast_in_dim %14, dims = [2, 3] : (tensor<7x7xi1>) -> tensor<2x6x7x7xi1>
  %17 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  // expected-note @+1 {{here}}
  %18 = stablehlo.select %16, %2, %17 : tensor<2x6x7x7xi1>, tensor<2x6x7x7xf32>
  %19 = stablehlo.convert %cst_1 : tensor<f32>
  %20 = stablehlo.broadcast_in_dim %10, dims = [2, 3] : (tensor<7x7xi1>) -> tensor<2x6x7x7xi1>
  %21 = stablehlo.broadcast_in_dim %19, dims = [] : (tensor<f32>) -> tensor<2x6x7x7xf32>
  %22 = stablehlo.select %20, %18, %21 : tensor<2x6x7x7xi1>, tensor<2x6x7x7xf32>
  %23 = stablehlo.reduce(%22 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %24 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x6x7xf32>
  %25 = stablehlo.maximum %24, %23 : tensor<2x6x7xf32>
  %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %28 = stablehlo.subtract %22, %27 : tensor<2x6x7x7xf32>
  %29 = stablehlo.exponential %28 : tensor<2x6x7x7xf32>
  %30 = stablehlo.reduce(%29 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<2x6x7x7xf32>, tensor<f32>) -> tensor<2x6x7xf32>
  %31 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 2] : (tensor<2x6x7xf32>) -> tensor<2x6x7x1xf32>
  %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2, 3] : (tensor<2x6x7x1xf32>) -> tensor<2x6x7x7xf32>
  %33 = stablehlo.divide %29, %32 : tensor<2x6x7x7xf32>
  // expected-remark @+1 {{attention not raised: masks with different fill values}}
  %34 = stablehlo.dot_general %arg2, %33, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x7x6x13xf32>, tensor<2x6x7x7xf32>) -> tensor<2x6x13x7xf32>
  %35 = stablehlo.transpose %34, dims = [0, 3, 1, 2] : (tensor<2x6x13x7xf32>) -> tensor<2x7x6x13xf32>
  return %35 : tensor<2x7x6x13xf32>
}
