// RUN: tsp-opt %s --tsp-drop-annotations | FileCheck %s

// CHECK: module @jit_f {
module @jit_f attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  // CHECK-NEXT: sdy.mesh @mesh = <["d"=4]>{{$}}
  sdy.mesh @mesh = <["d"=4]> {stablehlo.mesh = {axes = [{name = "d", size = 4 : i64}]}}

  // CHECK-NEXT: func.func public @attributes(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"d"}]>, tsp.name = "x"}) -> tensor<4xf32> {
  // CHECK-NEXT: stablehlo.negate %arg0 : tensor<4xf32>
  func.func public @attributes(%arg0: tensor<4xf32> {mhlo.sharding = "{replicated}", sdy.sharding = #sdy.sharding<@mesh, [{"d"}]>, tsp.name = "x"}) -> (tensor<4xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.negate %arg0 {mhlo.frontend_attributes = {a = "b"}} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }

  // CHECK-LABEL: @ops
  // CHECK-NEXT: stablehlo.constant
  // CHECK-NEXT: return %arg0, %arg1
  func.func public @ops(%arg0: tensor<4xf32>, %arg1: tensor<f32>) -> (tensor<4xf32>, tensor<f32>) {
    %0:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<4xf32>, tensor<f32>
    %1 = stablehlo.custom_call @Sharding(%0#0) {backend_config = "", mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<4xf32>) -> tensor<4xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.custom_call @shape_assertion(%c) {error_message = "no", has_side_effect = true} : (tensor<i1>) -> ()
    return %1, %0#1 : tensor<4xf32>, tensor<f32>
  }
}
