// RUN: tsp-opt %s --tsp-import="params=p*" | FileCheck %s

// CHECK: module @jit_f {
// CHECK-NEXT: func.func public @main(%arg0: tensor<6x4xf32> {tsp.kind = "parameter", tsp.name = "p['w']"}, %arg1: tensor<4x6xf32> {tsp.kind = "input", tsp.name = "x"}) -> tensor<4x4xf32> {
// CHECK-NEXT: %[[DOT:.*]] = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0]
// CHECK-NEXT: %[[TANH:.*]] = stablehlo.tanh %[[DOT]]
// CHECK-NEXT: return %[[TANH]]
#loc1 = loc("p['w']")
#loc2 = loc("x")
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x4xf32> loc("p['w']"), %arg1: tensor<4x6xf32> loc("x")) -> (tensor<4x4xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0] : (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<4x4xf32> loc(#loc12)
    %1 = stablehlo.optimization_barrier %0 : tensor<4x4xf32> loc(#loc11)
    %2 = call @tanh(%1) : (tensor<4x4xf32>) -> tensor<4x4xf32> loc(#loc13)
    return %2 : tensor<4x4xf32> loc(#loc11)
  } loc(#loc)
  func.func private @tanh(%arg0: tensor<4x4xf32> loc(unknown)) -> tensor<4x4xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<4x4xf32> loc(#loc13)
    return %0 : tensor<4x4xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc(unknown)
#loc3 = loc("model.py":35:49 to :57)
#loc4 = loc("model.py":35:2 to :90)
#loc6 = loc("f"(#loc3))
#loc7 = loc("<module>"(#loc4))
#loc9 = loc(callsite(#loc6 at #loc7))
#loc11 = loc("jit(f)"(#loc7))
#loc12 = loc("jit(f)/dot_general"(#loc9))
#loc13 = loc("jit(f)/tanh"(#loc9))
