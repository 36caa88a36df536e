// RUN: tsp-opt %s --tsp-form-kernels --split-input-file | FileCheck %s

// Operands that a contraction computes: where that moves fewer bytes than storing
// them, an op being worth 1/8 byte.

// Weights of one byte and scales, never stored as bf16, however many tiles of rows
// read them.
// CHECK-LABEL: func.func public @dequantised
// CHECK-NEXT: %[[Y:.*]] = tsp.launch @k_dot_general_0(%arg0, %arg1, %arg2)
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @k_dot_general_0
// CHECK-NEXT: stablehlo.convert
// CHECK-NEXT: stablehlo.broadcast_in_dim
// CHECK-NEXT: stablehlo.multiply
// CHECK-NEXT: stablehlo.dot_general
func.func public @dequantised(%x: tensor<4096x64xbf16>, %q: tensor<64x32xi8>, %s: tensor<32xbf16>) -> tensor<4096x32xbf16> {
  %c = stablehlo.convert %q : (tensor<64x32xi8>) -> tensor<64x32xbf16>
  %b = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<32xbf16>) -> tensor<64x32xbf16>
  %w = stablehlo.multiply %c, %b : tensor<64x32xbf16>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x64xbf16>, tensor<64x32xbf16>) -> tensor<4096x32xbf16>
  return %y : tensor<4096x32xbf16>
}

// -----

// Groups of 16 steps of k share a scale. The reshape of the argument is a view of
// the host, that of the weights is inside.
// CHECK-LABEL: func.func public @groups
// CHECK-NEXT: %[[Q:.*]] = stablehlo.reshape %arg1
// CHECK-NEXT: %[[Y:.*]] = tsp.launch @k_dot_general_0(%arg0, %[[Q]], %arg2)
// CHECK-NEXT: return %[[Y]]
func.func public @groups(%x: tensor<5x64xbf16>, %q: tensor<64x32xui8>, %s: tensor<4x32xf32>) -> tensor<5x32xbf16> {
  %g = stablehlo.reshape %q : (tensor<64x32xui8>) -> tensor<4x16x32xui8>
  %f = stablehlo.convert %g : (tensor<4x16x32xui8>) -> tensor<4x16x32xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0, 2] : (tensor<4x32xf32>) -> tensor<4x16x32xf32>
  %p = stablehlo.multiply %f, %b : tensor<4x16x32xf32>
  %h = stablehlo.convert %p : (tensor<4x16x32xf32>) -> tensor<4x16x32xbf16>
  %w = stablehlo.reshape %h : (tensor<4x16x32xbf16>) -> tensor<64x32xbf16>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<5x64xbf16>, tensor<64x32xbf16>) -> tensor<5x32xbf16>
  return %y : tensor<5x32xbf16>
}

// -----

// Two products compute the weights for themselves, once as they lie and once
// turned.
// CHECK-LABEL: func.func public @shared_weights
// CHECK-NEXT: %[[Y:.*]] = tsp.launch @k_dot_general_0(%arg0, %arg1)
// CHECK-NEXT: %[[Z:.*]] = tsp.launch @k_dot_general_1(%[[Y]], %arg1)
// CHECK-NEXT: return %[[Y]], %[[Z]]
func.func public @shared_weights(%x: tensor<8x64xbf16>, %q: tensor<64x32xf8E4M3FN>) -> (tensor<8x32xbf16>, tensor<8x64xbf16>) {
  %w = stablehlo.convert %q : (tensor<64x32xf8E4M3FN>) -> tensor<64x32xbf16>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x64xbf16>, tensor<64x32xbf16>) -> tensor<8x32xbf16>
  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<64x32xbf16>) -> tensor<32x64xbf16>
  %z = stablehlo.dot_general %y, %t, contracting_dims = [1] x [0] : (tensor<8x32xbf16>, tensor<32x64xbf16>) -> tensor<8x64xbf16>
  return %y, %z : tensor<8x32xbf16>, tensor<8x64xbf16>
}

// -----

// What is stored for another reason is read.
// CHECK-LABEL: func.func public @returned_weights
// CHECK-NEXT: %[[W:.*]] = tsp.launch @k_convert_0(%arg1)
// CHECK-NEXT: %[[Y:.*]] = tsp.launch @k_dot_general_1(%arg0, %[[W]])
// CHECK-NEXT: return %[[W]], %[[Y]]
func.func public @returned_weights(%x: tensor<8x64xbf16>, %q: tensor<64x32xi8>) -> (tensor<64x32xbf16>, tensor<8x32xbf16>) {
  %w = stablehlo.convert %q : (tensor<64x32xi8>) -> tensor<64x32xbf16>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x64xbf16>, tensor<64x32xbf16>) -> tensor<8x32xbf16>
  return %w, %y : tensor<64x32xbf16>, tensor<8x32xbf16>
}

// -----

// A norm before a product of one tile of columns: a kernel makes the root of each
// row, the product scales the rows as it reads them.
// CHECK-LABEL: func.func public @norm_of_few_columns
// CHECK-NEXT: %[[R:.*]] = tsp.launch @k_rsqrt_0(%arg0)
// CHECK-NEXT: %[[Y:.*]] = tsp.launch @k_dot_general_1(%arg0, %[[R]], %arg1, %arg2)
// CHECK-NEXT: return %[[Y]]
func.func public @norm_of_few_columns(%x: tensor<32x64xf32>, %g: tensor<64xf32>, %w: tensor<64x128xf32>) -> tensor<32x128xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %eps = stablehlo.constant dense<1.0e-05> : tensor<32x1xf32>
  %sq = stablehlo.multiply %x, %x : tensor<32x64xf32>
  %sum = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<32xf32>
  %keep = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<32xf32>) -> tensor<32x1xf32>
  %safe = stablehlo.add %keep, %eps : tensor<32x1xf32>
  %root = stablehlo.rsqrt %safe : tensor<32x1xf32>
  %all = stablehlo.broadcast_in_dim %root, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x64xf32>
  %unit = stablehlo.multiply %x, %all : tensor<32x64xf32>
  %wide = stablehlo.broadcast_in_dim %g, dims = [1] : (tensor<64xf32>) -> tensor<32x64xf32>
  %n = stablehlo.multiply %unit, %wide : tensor<32x64xf32>
  %y = stablehlo.dot_general %n, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x128xf32>) -> tensor<32x128xf32>
  return %y : tensor<32x128xf32>
}

// -----

// Before many columns the rows are stored: scaling them for each tile takes longer.
// CHECK-LABEL: func.func public @norm_of_many_columns
// CHECK-NEXT: %[[N:.*]] = tsp.launch @k_multiply_0(%arg0, %arg1)
// CHECK-NEXT: %[[Y:.*]] = tsp.launch @k_dot_general_1(%[[N]], %arg2)
// CHECK-NEXT: return %[[Y]]
func.func public @norm_of_many_columns(%x: tensor<32x64xf32>, %g: tensor<64xf32>, %w: tensor<64x2048xf32>) -> tensor<32x2048xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %eps = stablehlo.constant dense<1.0e-05> : tensor<32x1xf32>
  %sq = stablehlo.multiply %x, %x : tensor<32x64xf32>
  %sum = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<32xf32>
  %keep = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<32xf32>) -> tensor<32x1xf32>
  %safe = stablehlo.add %keep, %eps : tensor<32x1xf32>
  %root = stablehlo.rsqrt %safe : tensor<32x1xf32>
  %all = stablehlo.broadcast_in_dim %root, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x64xf32>
  %unit = stablehlo.multiply %x, %all : tensor<32x64xf32>
  %wide = stablehlo.broadcast_in_dim %g, dims = [1] : (tensor<64xf32>) -> tensor<32x64xf32>
  %n = stablehlo.multiply %unit, %wide : tensor<32x64xf32>
  %y = stablehlo.dot_general %n, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x2048xf32>) -> tensor<32x2048xf32>
  return %y : tensor<32x2048xf32>
}

// -----

// Rows less their mean, which their other statistic needs too, would have to be
// stored for it: the norm stays one kernel.
// CHECK-LABEL: func.func public @centred
// CHECK-NEXT: %[[N:.*]] = tsp.launch @k_multiply_0(%arg0)
// CHECK-NEXT: %[[Y:.*]] = tsp.launch @k_dot_general_1(%[[N]], %arg1)
// CHECK-NEXT: return %[[Y]]
func.func public @centred(%x: tensor<32x64xf32>, %w: tensor<64x128xf32>) -> tensor<32x128xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %part = stablehlo.constant dense<1.5625e-02> : tensor<32xf32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<32xf32>
  %mean = stablehlo.multiply %sum, %part : tensor<32xf32>
  %means = stablehlo.broadcast_in_dim %mean, dims = [0] : (tensor<32xf32>) -> tensor<32x64xf32>
  %centred = stablehlo.subtract %x, %means : tensor<32x64xf32>
  %sq = stablehlo.multiply %centred, %centred : tensor<32x64xf32>
  %var = stablehlo.reduce(%sq init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<32xf32>
  %root = stablehlo.rsqrt %var : tensor<32xf32>
  %all = stablehlo.broadcast_in_dim %root, dims = [0] : (tensor<32xf32>) -> tensor<32x64xf32>
  %n = stablehlo.multiply %centred, %all : tensor<32x64xf32>
  %y = stablehlo.dot_general %n, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x128xf32>) -> tensor<32x128xf32>
  return %y : tensor<32x128xf32>
}

// -----

// An activation between two products is the epilogue of the first.
// CHECK-LABEL: func.func public @between_products
// CHECK-NEXT: %[[H:.*]] = tsp.launch @k_dot_general_0(%arg0, %arg1)
// CHECK-NEXT: %[[Y:.*]] = tsp.launch @k_dot_general_1(%[[H]], %arg2)
// CHECK-NEXT: return %[[Y]]
// CHECK: func.func private @k_dot_general_0
// CHECK: stablehlo.maximum
// CHECK: func.func private @k_dot_general_1
func.func public @between_products(%x: tensor<8x64xf32>, %w: tensor<64x64xf32>, %v: tensor<64x32xf32>) -> tensor<8x32xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<8x64xf32>
  %u = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %h = stablehlo.maximum %u, %zero : tensor<8x64xf32>
  %y = stablehlo.dot_general %h, %v, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}
