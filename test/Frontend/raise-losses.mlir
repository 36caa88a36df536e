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
