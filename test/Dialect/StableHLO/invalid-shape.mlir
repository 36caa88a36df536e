// RUN: tsp-opt %s -split-input-file -verify-diagnostics

func.func @elementwise(%a: tensor<4xf32>, %b: tensor<5xf32>) {
  // expected-error @below {{all non-scalar operands/results must have the same shape and base type}}
  "stablehlo.add"(%a, %b) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @element_type(%a: tensor<4xf80>) {
  // expected-error @below {{operand #0 must be ranked tensor of f64, f32, f16, bf16, f8E4M3FN or f8E5M2}}
  %0 = stablehlo.negate %a : tensor<4xf80>
  return
}

// -----

func.func @iota() {
  // expected-error @below {{expected iota_dimension to be at least 0 and less than 1, found 1}}
  %0 = stablehlo.iota dim = 1 : tensor<4xi32>
  return
}

// -----

func.func @reshape(%a: tensor<4x6xf32>) {
  // expected-error @below {{expected as many elements in the result as in the operand, found 'tensor<4x6xf32>' and 'tensor<5x5xf32>'}}
  %0 = stablehlo.reshape %a : (tensor<4x6xf32>) -> tensor<5x5xf32>
  return
}

// -----

func.func @reshape_overflow(%a: tensor<4611686018427387904x4xf32>) {
  // expected-error @below {{expected as many elements in the result as in the operand}}
  %0 = stablehlo.reshape %a : (tensor<4611686018427387904x4xf32>) -> tensor<0x3xf32>
  return
}

// -----

func.func @transpose(%a: tensor<4x6xf32>) {
  // expected-error @below {{dim 0 is twice in permutation}}
  %0 = stablehlo.transpose %a, dims = [0, 0] : (tensor<4x6xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @transpose_result(%a: tensor<4x6xf32>) {
  // expected-error @below {{expected result of type 'tensor<6x4xf32>', found 'tensor<4x6xf32>'}}
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @broadcast(%a: tensor<4xf32>) {
  // expected-error @below {{expected dim 0 of the operand and dim 1 of the result to have one size, found 4 and 5}}
  %0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<4xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @concatenate(%a: tensor<4x6xf32>, %b: tensor<5x6xf32>) {
  // expected-error @below {{expected input 1 of type 'tensor<4x6xf32>', found 'tensor<5x6xf32>'}}
  %0 = stablehlo.concatenate %a, %b, dim = 1 : (tensor<4x6xf32>, tensor<5x6xf32>) -> tensor<4x12xf32>
  return
}

// -----

func.func @slice(%a: tensor<4xf32>) {
  // expected-error @below {{expected 0 <= start <= limit <= 4 and a stride of at least 1 in dim 0, found 1:5:1}}
  %0 = stablehlo.slice %a [1:5] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @slice_rank(%a: tensor<4xf32>) {
  // expected-error @below {{expected 1 numbers in start_indices, found 2}}
  %0 = stablehlo.slice %a [1:2, 0:1] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pad(%a: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error @below {{expected result of type 'tensor<8xf32>', found 'tensor<7xf32>'}}
  %0 = stablehlo.pad %a, %v, low = [2], high = [-1], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  return
}

// -----

func.func @pad_away(%a: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error @below {{dim 0 of size 4 has a size out of range after padding}}
  %0 = stablehlo.pad %a, %v, low = [-9], high = [1], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  return
}

// -----

func.func @dynamic_slice(%a: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error @below {{expected a slice size of 0 to 4 in dim 0, found 5}}
  %0 = stablehlo.dynamic_slice %a, %i, sizes = [5] : (tensor<4xf32>, tensor<i32>) -> tensor<5xf32>
  return
}

// -----

func.func @dynamic_update_slice(%a: tensor<4xf32>, %u: tensor<2xf32>, %i: tensor<i32>) {
  // expected-error @below {{expected 1 start indices, found 2}}
  %0 = stablehlo.dynamic_update_slice %a, %u, %i, %i : (tensor<4xf32>, tensor<2xf32>, tensor<i32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @bitcast(%a: tensor<4x3xui8>) {
  // expected-error @below {{expected a last dim of size 4 in the operand to make elements of 32 bits, found 'tensor<4x3xui8>'}}
  %0 = stablehlo.bitcast_convert %a : (tensor<4x3xui8>) -> tensor<4xf32>
  return
}

// -----

func.func @compare(%a: tensor<4xi32>) {
  // expected-error @below {{expected a compare_type that fits elements of 'i32', found FLOAT}}
  %0 = stablehlo.compare LT, %a, %a, FLOAT : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return
}

// -----

func.func @select(%p: tensor<5xi1>, %a: tensor<4xf32>) {
  // expected-error @below {{expected pred of type 'tensor<4xi1>', found 'tensor<5xi1>'}}
  %0 = stablehlo.select %p, %a, %a : tensor<5xi1>, tensor<4xf32>
  return
}

// -----

func.func @gather(%a: tensor<4x6xf32>, %i: tensor<2x1xi32>) {
  // expected-error @below {{expected result of type 'tensor<2x6xf32>', found 'tensor<2x4xf32>'}}
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<4x6xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @gather_dims(%a: tensor<4x6xf32>, %i: tensor<2x1xi32>) {
  // expected-error @below {{expected offset_dims, collapsed_slice_dims and operand_batching_dims to have as many dims as the operand, 2, found 1}}
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<4x6xf32>, tensor<2x1xi32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @scatter(%a: tensor<4x6xf32>, %i: tensor<2x1xi32>, %u: tensor<2x7xf32>) {
  // expected-error @below {{expected an update window of at most 6 elements in dim 1 of the input, found 7}}
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x1xi32>, tensor<2x7xf32>) -> tensor<4x6xf32>
  return
}
