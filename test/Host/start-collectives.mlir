// RUN: tsp-opt %s --pass-pipeline="builtin.module(func.func(tsp-start-collectives))" | FileCheck %s

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [2]>} {
func.func private @k(tensor<4xf32>) -> tensor<4xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>}
func.func private @d(tensor<8xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>}

// CHECK-LABEL: func.func @overlap
// CHECK: %[[A:.*]] = tsp.launch @k(%arg0)
// CHECK-NEXT: %[[F:.*]] = tsp.all_gather %[[A]] {{.*}} -> !tsp.future<tensor<8xf32>>
// CHECK-NEXT: %[[B:.*]] = tsp.launch @k(%arg0)
// CHECK-NEXT: %[[C:.*]] = tsp.launch @k(%[[B]])
// CHECK-NEXT: %[[G:.*]] = tsp.wait %[[F]]
// CHECK-NEXT: tsp.launch @d(%[[G]], %[[C]])
func.func @overlap(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tsp.launch @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tsp.launch @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = tsp.all_gather %0 {axis = "t", dim = 0 : i64, total = 8 : i64} : (tensor<4xf32>) -> tensor<8xf32>
  %3 = tsp.launch @k(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = tsp.launch @d(%2, %3) : (tensor<8xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// Starts keep their order.
// CHECK-LABEL: func.func @order
// CHECK: tsp.launch @k
// CHECK-NEXT: tsp.all_reduce
// CHECK-NEXT: tsp.all_gather %arg0
func.func @order(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  %0 = tsp.launch @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tsp.all_reduce %0 {axis = "t"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = tsp.launch @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = tsp.all_gather %x {axis = "t", dim = 0 : i64, total = 8 : i64} : (tensor<4xf32>) -> tensor<8xf32>
  return %2, %3 : tensor<4xf32>, tensor<8xf32>
}
}
