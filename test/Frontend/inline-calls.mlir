// RUN: tsp-opt %s --tsp-inline-calls --symbol-dce | FileCheck %s

// CHECK-LABEL: func.func public @nested
// CHECK-NEXT: %[[A:.*]] = stablehlo.negate %arg0
// CHECK-NEXT: %[[B:.*]] = stablehlo.abs %[[A]]
// CHECK-NEXT: %[[C:.*]] = stablehlo.negate %[[B]]
// CHECK-NEXT: return %[[C]], %arg0
func.func public @nested(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = call @outer(%arg0) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %1 = call @inner(%0#0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %0#1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @outer(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = call @inner(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.abs %0 : tensor<4xf32>
  return %1, %arg0 : tensor<4xf32>, tensor<4xf32>
}
// CHECK-NOT: @outer
// CHECK-NOT: @inner
func.func private @inner(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %arg0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func public @in_regions
// CHECK: stablehlo.while
// CHECK: do {
// CHECK-NEXT: stablehlo.negate
// CHECK: "stablehlo.sort"
// CHECK: stablehlo.compare LT
func.func public @in_regions(%arg0: tensor<4xf32>, %arg1: tensor<i1>) -> tensor<4xf32> {
  %0 = stablehlo.while(%iterArg = %arg0) : tensor<4xf32>
  cond {
    stablehlo.return %arg1 : tensor<i1>
  } do {
    %2 = func.call @inner(%iterArg) : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  }
  %1 = "stablehlo.sort"(%0) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = func.call @less(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @less(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<i1> {
  %0 = stablehlo.compare LT, %arg0, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}

// CHECK-LABEL: func.func public @composite
// CHECK-NEXT: stablehlo.negate
// CHECK-NEXT: return
func.func public @composite(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.composite "my.negate" %arg0 {decomposition = @inner} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
