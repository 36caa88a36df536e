// RUN: tsp-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @while_invariant
// CHECK: %[[LOOP:.*]] = stablehlo.while(%[[I:.*]] = %{{.*}}) : tensor<i32>
// CHECK-NEXT: cond {
// CHECK-NEXT: stablehlo.compare LT, %[[I]], %arg1
// CHECK: do {
// CHECK-NEXT: stablehlo.add %[[I]], %arg1
// CHECK: return %[[LOOP]], %arg0
func.func @while_invariant(%w: tensor<4xf32>, %n: tensor<i32>) -> (tensor<i32>, tensor<4xf32>) {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:4 = stablehlo.while(%iterArg = %w, %iterArg_0 = %c, %iterArg_1 = %n, %iterArg_2 = %w) : tensor<4xf32>, tensor<i32>, tensor<i32>, tensor<4xf32>
  cond {
    %1 = stablehlo.compare LT, %iterArg_0, %iterArg_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %iterArg_0, %iterArg_1 : tensor<i32>
    %2 = stablehlo.negate %iterArg : tensor<4xf32>
    stablehlo.return %iterArg, %1, %iterArg_1, %2 : tensor<4xf32>, tensor<i32>, tensor<i32>, tensor<4xf32>
  }
  return %0#1, %0#0 : tensor<i32>, tensor<4xf32>
}

// A number out of range runs the last branch.
// CHECK-LABEL: @case_constant
// CHECK-NEXT: %[[A:.*]] = stablehlo.negate %arg0
// CHECK-NEXT: return %[[A]]
func.func @case_constant(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<-3> : tensor<i32>
  %0 = "stablehlo.case"(%c) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    %1 = stablehlo.negate %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @if
// CHECK-NEXT: %[[I:.*]] = stablehlo.convert %arg1 : (tensor<i1>) -> tensor<i32>
// CHECK-NEXT: "stablehlo.case"(%[[I]]) ({
// CHECK-NEXT: stablehlo.negate
// CHECK: }, {
// CHECK-NEXT: stablehlo.abs
func.func @if(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.abs %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    %1 = stablehlo.negate %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Constants of a body stay in it.
// CHECK-LABEL: @body
// CHECK: stablehlo.reduce
// CHECK: reducer
// CHECK: stablehlo.constant dense<3.000000e+00>
func.func @body(%x: tensor<4xf32>, %c: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.reduce(%x init: %c) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %three = stablehlo.add %one, %two : tensor<f32>
    %1 = stablehlo.multiply %b, %three : tensor<f32>
    %2 = stablehlo.add %a, %1 : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }
  return %0 : tensor<f32>
}
