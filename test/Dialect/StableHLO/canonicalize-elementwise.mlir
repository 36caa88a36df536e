// RUN: tsp-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @constants
// CHECK-DAG: %[[SUM:.*]] = stablehlo.constant dense<[5, 7]> : tensor<2xi32>
// CHECK-DAG: %[[SQRT:.*]] = stablehlo.constant dense<1.41421354> : tensor<3xf32>
// CHECK-DAG: %[[LESS:.*]] = stablehlo.constant dense<[true, false]> : tensor<2xi1>
// CHECK-DAG: %[[DIV:.*]] = stablehlo.constant dense<[-2, 2]> : tensor<2xi32>
// CHECK-DAG: %[[BF:.*]] = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
// CHECK: return %[[SUM]], %[[SQRT]], %[[LESS]], %[[DIV]], %[[BF]]
func.func @constants() -> (tensor<2xi32>, tensor<3xf32>, tensor<2xi1>, tensor<2xi32>, tensor<bf16>) {
  %a = stablehlo.constant dense<[2, 4]> : tensor<2xi32>
  %b = stablehlo.constant dense<3> : tensor<2xi32>
  %0 = stablehlo.add %a, %b : tensor<2xi32>
  %s = stablehlo.constant dense<2.0> : tensor<f32>
  %w = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<3xf32>
  %1 = stablehlo.sqrt %w : tensor<3xf32>
  %2 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  %n = stablehlo.constant dense<[-5, 5]> : tensor<2xi32>
  %two = stablehlo.constant dense<2> : tensor<2xi32>
  %3 = stablehlo.divide %n, %two : tensor<2xi32>
  %c = stablehlo.constant dense<1.001> : tensor<f32>
  %4 = stablehlo.convert %c : (tensor<f32>) -> tensor<bf16>
  return %0, %1, %2, %3, %4 : tensor<2xi32>, tensor<3xf32>, tensor<2xi1>, tensor<2xi32>, tensor<bf16>
}

// No value at compile time, or a large one.
// CHECK-LABEL: @not_constants
// CHECK: stablehlo.divide
// CHECK: stablehlo.convert
func.func @not_constants() -> (tensor<i32>, tensor<i8>) {
  %a = stablehlo.constant dense<5> : tensor<i32>
  %b = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.divide %a, %b : tensor<i32>
  %c = stablehlo.constant dense<1000.0> : tensor<f32>
  %1 = stablehlo.convert %c : (tensor<f32>) -> tensor<i8>
  return %0, %1 : tensor<i32>, tensor<i8>
}

// maximum(x, -inf) is x for every x, NaN included.
// CHECK-LABEL: @neutral
// CHECK-NEXT: return %arg0, %arg0, %arg0, %arg1, %arg1, %arg2
func.func @neutral(%x: tensor<4xf32>, %i: tensor<4xi32>, %p: tensor<4xi1>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi1>) {
  %inf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %wide = stablehlo.broadcast_in_dim %inf, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %0 = stablehlo.maximum %wide, %x : tensor<4xf32>
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %1 = stablehlo.multiply %x, %one : tensor<4xf32>
  %zero = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %2 = stablehlo.add %x, %zero : tensor<4xf32>
  %c = stablehlo.constant dense<0> : tensor<4xi32>
  %3 = stablehlo.add %c, %i : tensor<4xi32>
  %4 = stablehlo.shift_left %i, %c : tensor<4xi32>
  %true = stablehlo.constant dense<true> : tensor<4xi1>
  %5 = stablehlo.and %p, %true : tensor<4xi1>
  return %0, %1, %2, %3, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi1>
}

// 0.0 + -0.0 is 0.0, and x * 0.0 may be NaN.
// CHECK-LABEL: @not_neutral
// CHECK: stablehlo.add
// CHECK: stablehlo.multiply
func.func @not_neutral(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
  %0 = stablehlo.add %x, %zero : tensor<4xf32>
  %1 = stablehlo.multiply %x, %zero : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// A rounding stays; widening and back is nothing.
// CHECK-LABEL: @rounding
// CHECK-NEXT: %[[NARROW:.*]] = stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xbf16>
// CHECK-NEXT: %[[WIDE:.*]] = stablehlo.convert %[[NARROW]] : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK-NEXT: return %[[WIDE]], %arg1, %arg0
func.func @rounding(%x: tensor<4xf32>, %y: tensor<4xbf16>) -> (tensor<4xf32>, tensor<4xbf16>, tensor<4xf32>) {
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xbf16>
  %1 = stablehlo.convert %0 : (tensor<4xbf16>) -> tensor<4xf32>
  %2 = stablehlo.convert %y : (tensor<4xbf16>) -> tensor<4xf32>
  %3 = stablehlo.convert %2 : (tensor<4xf32>) -> tensor<4xbf16>
  %4 = stablehlo.convert %x : tensor<4xf32>
  return %1, %3, %4 : tensor<4xf32>, tensor<4xbf16>, tensor<4xf32>
}

// CHECK-LABEL: @select
// CHECK-NEXT: %[[WIDE:.*]] = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<i1>) -> tensor<4xi1>
// CHECK-NEXT: %[[A:.*]] = stablehlo.select %[[WIDE]], %arg0, %arg1
// CHECK-NEXT: %[[B:.*]] = stablehlo.select %arg3, %arg1, %arg0
// CHECK-NEXT: return %[[A]], %[[B]], %arg0
func.func @select(%a: tensor<4xf32>, %b: tensor<4xf32>, %p: tensor<i1>, %q: tensor<4xi1>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.select %p, %a, %b : tensor<i1>, tensor<4xf32>
  %n = stablehlo.not %q : tensor<4xi1>
  %1 = stablehlo.select %n, %a, %b : tensor<4xi1>, tensor<4xf32>
  %true = stablehlo.constant dense<true> : tensor<i1>
  %2 = stablehlo.select %true, %a, %b : tensor<i1>, tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @power
// CHECK-NEXT: %[[SQUARE:.*]] = stablehlo.multiply %arg0, %arg0
// CHECK-NEXT: return %[[SQUARE]], %arg0
func.func @power(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %two = stablehlo.constant dense<2.0> : tensor<4xf32>
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %0 = stablehlo.power %x, %two : tensor<4xf32>
  %1 = stablehlo.power %x, %one : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
