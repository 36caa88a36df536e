// RUN: tsp-opt %s --tsp-form-kernels --split-input-file | FileCheck %s

// Ops that move elements: inside kernels, or views of the host.

// A contraction reads its operands by strides and through exact conversions.
// CHECK-LABEL: func.func public @operand_views
// CHECK-NEXT: tsp.launch @k_dot_general_0(%arg0, %arg1)
// CHECK-NEXT: return
func.func public @operand_views(%x: tensor<4x8xf32>, %w: tensor<12x8xbf16>) -> tensor<4x12xf32> {
  %wide = stablehlo.convert %w : (tensor<12x8xbf16>) -> tensor<12x8xf32>
  %t = stablehlo.transpose %wide, dims = [1, 0] : (tensor<12x8xf32>) -> tensor<8x12xf32>
  %y = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x12xf32>) -> tensor<4x12xf32>
  return %y : tensor<4x12xf32>
}

// -----

// What comes from nothing is stored for it; what it computes itself is in
// form-kernels-prologues.mlir.
// CHECK-LABEL: func.func public @operand_computed
// CHECK-NEXT: %[[B:.*]] = tsp.launch @k_broadcast_in_dim_0()
// CHECK-NEXT: tsp.launch @k_dot_general_1(%arg0, %[[B]])
func.func public @operand_computed(%x: tensor<4x8xf32>) -> tensor<4x12xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %ones = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<8x12xf32>
  %n = stablehlo.negate %x : tensor<4x8xf32>
  %y = stablehlo.dot_general %n, %ones, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x12xf32>) -> tensor<4x12xf32>
  return %y : tensor<4x12xf32>
}

// -----

// The result is stored transposed and converted.
// CHECK-LABEL: func.func public @result_views
// CHECK-NEXT: tsp.launch @k_dot_general_0(%arg0, %arg1)
// CHECK-NEXT: return
func.func public @result_views(%x: tensor<4x8xf32>, %w: tensor<8x12xf32>) -> tensor<12x4xbf16> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x12xf32>) -> tensor<4x12xf32>
  %c = stablehlo.convert %y : (tensor<4x12xf32>) -> tensor<4x12xbf16>
  %t = stablehlo.transpose %c, dims = [1, 0] : (tensor<4x12xbf16>) -> tensor<12x4xbf16>
  return %t : tensor<12x4xbf16>
}

// -----

// A reshape of what is in memory stays with the host; between two ops of a kernel
// it goes inside.
// CHECK-LABEL: func.func public @reshapes
// CHECK-NEXT: %[[V:.*]] = stablehlo.reshape %arg0
// CHECK-NEXT: %[[Y:.*]] = tsp.launch @k_tanh_0(%[[V]])
// CHECK-NEXT: %[[W:.*]] = stablehlo.reshape %[[Y]]
// CHECK-NEXT: return %[[W]]
// CHECK: func.func private @k_tanh_0
// CHECK-NEXT: stablehlo.negate
// CHECK-NEXT: stablehlo.reshape
// CHECK-NEXT: stablehlo.tanh
func.func public @reshapes(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %a = stablehlo.reshape %x : (tensor<4x8xf32>) -> tensor<2x16xf32>
  %b = stablehlo.negate %a : tensor<2x16xf32>
  %c = stablehlo.reshape %b : (tensor<2x16xf32>) -> tensor<32xf32>
  %d = stablehlo.tanh %c : tensor<32xf32>
  %e = stablehlo.reshape %d : (tensor<32xf32>) -> tensor<8x4xf32>
  return %e : tensor<8x4xf32>
}

// -----

// What follows a concatenate goes into its kernel.
// CHECK-LABEL: func.func public @rotate_half
// CHECK-NEXT: tsp.launch @k_convert_0(%arg0, %arg1)
// CHECK-NEXT: return
func.func public @rotate_half(%x: tensor<16x8xbf16>, %sin: tensor<16x8xbf16>) -> tensor<16x8xf32> {
  %a = stablehlo.slice %x [0:16, 0:4] : (tensor<16x8xbf16>) -> tensor<16x4xbf16>
  %b = stablehlo.slice %x [0:16, 4:8] : (tensor<16x8xbf16>) -> tensor<16x4xbf16>
  %n = stablehlo.negate %b : tensor<16x4xbf16>
  %r = stablehlo.concatenate %n, %a, dim = 1 : (tensor<16x4xbf16>, tensor<16x4xbf16>) -> tensor<16x8xbf16>
  %y = stablehlo.multiply %r, %sin : tensor<16x8xbf16>
  %z = stablehlo.convert %y : (tensor<16x8xbf16>) -> tensor<16x8xf32>
  return %z : tensor<16x8xf32>
}

// -----

// Embedding: the rows are converted where they are gathered.
// CHECK-LABEL: func.func public @embedding
// CHECK-NEXT: tsp.launch @k_gather_0(%arg0, %arg1)
// CHECK-NEXT: return
func.func public @embedding(%table: tensor<64x8xbf16>, %ids: tensor<4xi32>) -> tensor<4x8xf32> {
  %at = stablehlo.broadcast_in_dim %ids, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
  %g = "stablehlo.gather"(%table, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<64x8xbf16>, tensor<4x1xi32>) -> tensor<4x8xbf16>
  %c = stablehlo.convert %g : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  return %c : tensor<4x8xf32>
}

// -----

// An update that reads the buffer it goes to is not made in place.
// CHECK-LABEL: func.func public @shift
// CHECK: func.func private @k_dynamic_update_slice_0({{.*}}) -> tensor<16xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>}
func.func public @shift(%x: tensor<16xf32>) -> tensor<16xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %s = stablehlo.slice %x [1:16] : (tensor<16xf32>) -> tensor<15xf32>
  %r = stablehlo.dynamic_update_slice %x, %s, %zero : (tensor<16xf32>, tensor<15xf32>, tensor<i32>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

// -----

// Transposes that together move no element are a view.
// CHECK-LABEL: func.func public @moves_nothing
// CHECK-NEXT: %[[T:.*]] = tsp.launch @k_tanh_0(%arg0)
// CHECK-NEXT: %[[V:.*]] = stablehlo.reshape %[[T]] : (tensor<4x1x8xf32>) -> tensor<1x4x8xf32>
// CHECK-NEXT: return %[[V]]
func.func public @moves_nothing(%x: tensor<4x1x8xf32>) -> tensor<1x4x8xf32> {
  %t = stablehlo.tanh %x : tensor<4x1x8xf32>
  %u = stablehlo.transpose %t, dims = [2, 1, 0] : (tensor<4x1x8xf32>) -> tensor<8x1x4xf32>
  %v = stablehlo.reshape %u : (tensor<8x1x4xf32>) -> tensor<8x4x1xf32>
  %w = stablehlo.transpose %v, dims = [2, 1, 0] : (tensor<8x4x1xf32>) -> tensor<1x4x8xf32>
  return %w : tensor<1x4x8xf32>
}

// -----

// A view of the buffer is read at other places: the result may not overwrite it.
// The same kernel on two buffers is another one.
// CHECK-LABEL: func.func public @aliased
// CHECK-NEXT: %[[A:.*]] = tsp.launch @k_add_0(%arg0, %arg1)
// CHECK-NEXT: %[[V:.*]] = stablehlo.reshape %arg0
// CHECK-NEXT: %[[B:.*]] = tsp.launch @k_add_1(%arg0, %[[V]])
// CHECK-NEXT: return %[[A]], %[[B]]
// CHECK: func.func private @k_add_0
// CHECK-SAME: tsp.tied = array<i64: 0>
// CHECK: func.func private @k_add_1
// CHECK-SAME: tsp.tied = array<i64: -1>
func.func public @aliased(%x: tensor<4x8xf32>, %z: tensor<8x4xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %u = stablehlo.transpose %z, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %a = stablehlo.add %x, %u : tensor<4x8xf32>
  %v = stablehlo.reshape %x : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %t = stablehlo.transpose %v, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %b = stablehlo.add %x, %t : tensor<4x8xf32>
  return %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A reshape that divides dims of a view is one more view; one that joins dims is
// not, and what it reads is stored.
// CHECK-LABEL: func.func public @operand_reshapes
// CHECK-NEXT: %[[Y:.*]] = tsp.launch @k_dot_general_0(%arg0, %arg1)
// CHECK-NEXT: %[[T:.*]] = tsp.launch @k_transpose_1(%arg2)
// CHECK-NEXT: %[[W:.*]] = stablehlo.reshape %[[T]]
// CHECK-NEXT: %[[Z:.*]] = tsp.launch @{{.*}}(%arg3, %[[W]])
// CHECK-NEXT: return %[[Y]], %[[Z]]
func.func public @operand_reshapes(%x: tensor<2x4x8xf32>, %w: tensor<12x8xf32>, %v: tensor<3x4x8xf32>, %z: tensor<5x12xf32>) -> (tensor<2x4x6xf32>, tensor<5x8xf32>) {
  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<12x8xf32>) -> tensor<8x12xf32>
  %r = stablehlo.reshape %t : (tensor<8x12xf32>) -> tensor<8x2x6xf32>
  %y = stablehlo.dot_general %x, %r, batching_dims = [0] x [1], contracting_dims = [2] x [0] : (tensor<2x4x8xf32>, tensor<8x2x6xf32>) -> tensor<2x4x6xf32>
  %s = stablehlo.transpose %v, dims = [1, 0, 2] : (tensor<3x4x8xf32>) -> tensor<4x3x8xf32>
  %q = stablehlo.reshape %s : (tensor<4x3x8xf32>) -> tensor<12x8xf32>
  %u = stablehlo.dot_general %z, %q, contracting_dims = [1] x [0] : (tensor<5x12xf32>, tensor<12x8xf32>) -> tensor<5x8xf32>
  return %y, %u : tensor<2x4x6xf32>, tensor<5x8xf32>
}
