// RUN: tsp-opt %s --tsp-raise-losses | FileCheck %s

// log_softmax at the labels: the logits are asked for maxima, log-sum-exps and
// labels' elements only.
// CHECK-LABEL: func.func @taken
// CHECK-SAME: %[[X:.*]]: tensor<5x17xf32>, %[[I:.*]]: tensor<5x1x1xi32>
// CHECK: %[[M:.*]] = stablehlo.reduce(%[[X]]
// CHECK: %[[L:.*]] = tsp.logsumexp %[[X]] {dim = 1 : i64}
// CHECK: stablehlo.subtract %[[L]], %[[M]]
// CHECK: %[[T:.*]] = "stablehlo.gather"(%[[X]], %[[I]])
// CHECK: stablehlo.subtract %[[T]]
// CHECK: stablehlo.subtract
// CHECK-NOT: exponential
// CHECK: return
func.func @taken(%x: tensor<5x17xf32>, %i: tensor<5x1x1xi32>) -> tensor<5x1xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<5x17xf32>, tensor<f32>) -> tensor<5xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<5xf32>) -> tensor<5x17xf32>
  %d = stablehlo.subtract %x, %mb : tensor<5x17xf32>
  %e = stablehlo.exponential %d : tensor<5x17xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<5x17xf32>, tensor<f32>) -> tensor<5xf32>
  %s1 = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<5xf32>) -> tensor<5x1xf32>
  %l = stablehlo.log %s1 : tensor<5x1xf32>
  %lb = stablehlo.broadcast_in_dim %l, dims = [0, 1] : (tensor<5x1xf32>) -> tensor<5x17xf32>
  %p = stablehlo.subtract %d, %lb : tensor<5x17xf32>
  %t = "stablehlo.gather"(%p, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<5x17xf32>, tensor<5x1x1xi32>) -> tensor<5x1xf32>
  return %t : tensor<5x1xf32>
}

// A one-hot row, summed with all the rows.
// CHECK-LABEL: func.func @one_hot
// CHECK-SAME: %[[X:.*]]: tensor<5x17xf32>, %[[H:.*]]: tensor<5x17xi1>
// CHECK: %[[P:.*]] = stablehlo.convert %[[H]]
// CHECK: tsp.logsumexp %[[X]]
// CHECK: %[[PX:.*]] = stablehlo.multiply %[[P]], %[[X]]
// CHECK: stablehlo.reduce(%[[PX]] {{.*}} dimensions = [1]
// CHECK: stablehlo.reduce(%[[P]] {{.*}} dimensions = [1]
// CHECK: stablehlo.reduce({{.*}} dimensions = [0]
func.func @one_hot(%x: tensor<5x17xf32>, %h: tensor<5x17xi1>) -> tensor<f32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %hot = stablehlo.convert %h : (tensor<5x17xi1>) -> tensor<5x17xf32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<5x17xf32>, tensor<f32>) -> tensor<5xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<5xf32>) -> tensor<5x17xf32>
  %d = stablehlo.subtract %x, %mb : tensor<5x17xf32>
  %e = stablehlo.exponential %d : tensor<5x17xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<5x17xf32>, tensor<f32>) -> tensor<5xf32>
  %l = stablehlo.log %s : tensor<5xf32>
  %lb = stablehlo.broadcast_in_dim %l, dims = [0] : (tensor<5xf32>) -> tensor<5x17xf32>
  %p = stablehlo.subtract %d, %lb : tensor<5x17xf32>
  %q = stablehlo.multiply %hot, %p : tensor<5x17xf32>
  %t = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<5x17xf32>, tensor<f32>) -> tensor<f32>
  return %t : tensor<f32>
}

// A gradient uses the exponentials: nothing is gained, nothing is raised.
// CHECK-LABEL: func.func @exponentials_used
// CHECK-NOT: tsp.logsumexp
// CHECK: return
func.func @exponentials_used(%x: tensor<5x17xf32>, %m: tensor<5xf32>) -> (tensor<5xf32>, tensor<5x17xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<5xf32>) -> tensor<5x17xf32>
  %d = stablehlo.subtract %x, %mb : tensor<5x17xf32>
  %e = stablehlo.exponential %d : tensor<5x17xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<5x17xf32>, tensor<f32>) -> tensor<5xf32>
  %l = stablehlo.log %s : tensor<5xf32>
  return %l, %e : tensor<5xf32>, tensor<5x17xf32>
}

// Of 16 bits each op rounds, which a program may count on; and without a shift the
// sum may overflow, as the program says.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: tsp.logsumexp
// CHECK: return
func.func @left_alone(%x: tensor<5x17xbf16>, %m: tensor<5x17xbf16>, %y: tensor<5x17xf32>) -> (tensor<5xbf16>, tensor<5xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %wide = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.subtract %x, %m : tensor<5x17xbf16>
  %e = stablehlo.exponential %d : tensor<5x17xbf16>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<5x17xbf16>, tensor<bf16>) -> tensor<5xbf16>
  %l = stablehlo.log %s : tensor<5xbf16>
  %f = stablehlo.exponential %y : tensor<5x17xf32>
  %t = stablehlo.reduce(%f init: %wide) applies stablehlo.add across dimensions = [1] : (tensor<5x17xf32>, tensor<f32>) -> tensor<5xf32>
  %u = stablehlo.log %t : tensor<5xf32>
  return %l, %u : tensor<5xbf16>, tensor<5xf32>
}

// argmin is argmax of what is turned round: floats by their sign, integers bit by
// bit. NaN comes first in both.
// CHECK-LABEL: func.func @argmin
// CHECK: %[[N:.*]] = stablehlo.negate %arg0
// CHECK: stablehlo.reduce(%[[N]] init: %{{.*}}), (%arg1 init: %{{.*}})
// CHECK: stablehlo.compare GT
// CHECK: stablehlo.compare NE
// CHECK: stablehlo.compare EQ
// CHECK: stablehlo.compare LT
// CHECK: stablehlo.negate
func.func @argmin(%x: tensor<5x17xf32>, %i: tensor<5x17xi32>) -> (tensor<5xf32>, tensor<5xi32>) {
  %high = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %v, %w = stablehlo.reduce(%x init: %high), (%i init: %zero) across dimensions = [1]
      : (tensor<5x17xf32>, tensor<5x17xi32>, tensor<f32>, tensor<i32>) -> (tensor<5xf32>, tensor<5xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%ia: tensor<i32>, %ib: tensor<i32>) {
    %less = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %nan = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %first = stablehlo.or %less, %nan : tensor<i1>
    %equal = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %lower = stablehlo.compare LT, %ia, %ib, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %equal, %lower : tensor<i1>
    %take = stablehlo.or %first, %tie : tensor<i1>
    %value = stablehlo.select %first, %a, %b : tensor<i1>, tensor<f32>
    %index = stablehlo.select %take, %ia, %ib : tensor<i1>, tensor<i32>
    stablehlo.return %value, %index : tensor<f32>, tensor<i32>
  }
  return %v, %w : tensor<5xf32>, tensor<5xi32>
}
