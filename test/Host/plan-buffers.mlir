// RUN: tsp-opt %s --split-input-file --tsp-plan-buffers | FileCheck %s

func.func private @add(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {tsp.kernel, tsp.tied = array<i64: 0>}
func.func private @neg(tensor<4xf32>) -> tensor<4xf32> attributes {tsp.kernel, tsp.tied = array<i64: -1>}

// A tied result takes over its operand's buffer where that ends; what is
// returned is written straight into the result.
// CHECK-LABEL: func.func @chain
// CHECK-SAME: (%[[X:.*]]: memref<4xf32>, %[[R:.*]]: memref<4xf32>, %[[ARENA:.*]]: memref<64xi8>)
func.func @chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[V:.*]] = memref.view %[[ARENA]]
  // CHECK: tsp.buffer.launch @neg ins(%[[X]] : memref<4xf32>) outs(%[[V]] : memref<4xf32>)
  %0 = tsp.launch @neg(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: tsp.buffer.launch @neg ins({{.*}}) outs(%[[R]] : memref<4xf32>)
  %1 = tsp.launch @neg(%0) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: tsp.buffer.launch @add ins(%[[R]], %[[X]] : {{.*}}) outs(%[[R]] : memref<4xf32>)
  %2 = tsp.launch @add(%1, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NOT: tsp.buffer.copy
  return %2 : tensor<4xf32>
}

// One operand read twice may not be overwritten.
// CHECK-LABEL: func.func @same_operand_twice
// CHECK: tsp.buffer.launch @add ins(%[[A:.*]], %[[B:.*]] : {{.*}}) outs(%arg1
func.func @same_operand_twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tsp.launch @neg(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tsp.launch @add(%0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A reshape is the same bytes.
// CHECK-LABEL: func.func @reshape
// CHECK: %[[X:.*]] = memref.reinterpret_cast %arg0
// CHECK: %[[R:.*]] = memref.reinterpret_cast %arg1
// CHECK: tsp.buffer.launch @neg ins(%[[X]] : {{.*}}) outs(%[[R]] : memref<4xf32>)
// CHECK-NOT: tsp.buffer.copy
func.func @reshape(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = stablehlo.reshape %x : (tensor<2x2xf32>) -> tensor<4xf32>
  %1 = tsp.launch @neg(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.reshape %1 : (tensor<4xf32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// Arguments and constants that are returned are copied; equal constants are one.
// CHECK-LABEL: func.func @copies
// CHECK: tsp.buffer.copy %arg0 to %arg1
// CHECK: %[[C:.*]] = memref.get_global @tsp_data
// CHECK: tsp.buffer.copy %[[C]] to %arg2
// CHECK: %[[C2:.*]] = memref.get_global @tsp_data :
// CHECK: tsp.buffer.copy %[[C2]] to %arg3
func.func @copies(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xi32>, tensor<2xi32>) {
  %c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %d = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  return %x, %c, %d : tensor<4xf32>, tensor<2xi32>, tensor<2xi32>
}

// -----

func.func private @update(tensor<8xf32>, tensor<f32>) -> tensor<8xf32> attributes {tsp.kernel, tsp.tied = array<i64: 0>, tsp.must_tie}

// A donated state is updated in place.
// CHECK-LABEL: func.func @state
// CHECK: tsp.buffer.launch @update ins(%arg0, %arg1 : {{.*}}) outs(%arg0 : memref<8xf32>)
// CHECK-NOT: tsp.buffer.copy
func.func @state(%cache: tensor<8xf32> {tsp.alias = 0 : i64}, %x: tensor<f32>) -> tensor<8xf32> {
  %0 = tsp.launch @update(%cache, %x) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// An input is not: it is copied first.
// CHECK-LABEL: func.func @input
// CHECK: tsp.buffer.copy %arg0 to %arg2
// CHECK: tsp.buffer.launch @update ins(%arg2, %arg1 : {{.*}}) outs(%arg2 : memref<8xf32>)
func.func @input(%cache: tensor<8xf32>, %x: tensor<f32>) -> tensor<8xf32> {
  %0 = tsp.launch @update(%cache, %x) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// States that change places are saved before they are overwritten.
// CHECK-LABEL: func.func @swap
// CHECK: tsp.buffer.copy %arg1 to %{{.*}} :
// CHECK: tsp.buffer.copy %arg0 to %{{.*}} :
// CHECK: tsp.buffer.copy %{{.*}} to %arg0 :
// CHECK: tsp.buffer.copy %{{.*}} to %arg1 :
func.func @swap(%a: tensor<8xf32> {tsp.alias = 0 : i64}, %b: tensor<8xf32> {tsp.alias = 1 : i64})
    -> (tensor<8xf32>, tensor<8xf32>) {
  return %b, %a : tensor<8xf32>, tensor<8xf32>
}

// -----

func.func private @less(tensor<i32>) -> tensor<i1> attributes {tsp.kernel, tsp.tied = array<i64: -1>}
func.func private @next(tensor<i32>) -> tensor<i32> attributes {tsp.kernel, tsp.tied = array<i64: 0>}
func.func private @step(tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {tsp.kernel, tsp.tied = array<i64: 0>}

// A loop's variables stay in place; what it only hands on is not copied at all.
// CHECK-LABEL: func.func @while
// CHECK: tsp.buffer.copy %arg0 to %{{.*}} : memref<i32>
// CHECK: tsp.buffer.copy %arg1 to %arg3 : memref<8xf32>
// CHECK-NOT: tsp.buffer.copy
// CHECK: scf.while
// CHECK: tsp.buffer.launch @less
// CHECK: %[[P:.*]] = tsp.buffer.read
// CHECK: scf.condition(%[[P]])
// CHECK: tsp.buffer.launch @step ins(%arg3, %arg2 : {{.*}}) outs(%arg3 :
func.func @while(%i: tensor<i32>, %x: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %r:3 = stablehlo.while(%a = %i, %b = %x, %c = %w) : tensor<i32>, tensor<8xf32>, tensor<8xf32>
  cond {
    %p = tsp.launch @less(%a) : (tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = tsp.launch @next(%a) : (tensor<i32>) -> tensor<i32>
    %y = tsp.launch @step(%b, %c) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    stablehlo.return %n, %y, %c : tensor<i32>, tensor<8xf32>, tensor<8xf32>
  }
  return %r#1 : tensor<8xf32>
}

// A loop that swaps its variables copies by way of a third buffer.
// CHECK-LABEL: func.func @while_swap
// CHECK: scf.while
// CHECK: do
// CHECK-COUNT-4: tsp.buffer.copy
// CHECK-NOT: tsp.buffer.copy
func.func @while_swap(%i: tensor<i32>, %x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %r:3 = stablehlo.while(%a = %i, %b = %x, %c = %y) : tensor<i32>, tensor<8xf32>, tensor<8xf32>
  cond {
    %p = tsp.launch @less(%a) : (tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = tsp.launch @next(%a) : (tensor<i32>) -> tensor<i32>
    stablehlo.return %n, %c, %b : tensor<i32>, tensor<8xf32>, tensor<8xf32>
  }
  return %r#1 : tensor<8xf32>
}

// Both branches write the result itself.
// CHECK-LABEL: func.func @case
// CHECK: %[[I:.*]] = tsp.buffer.read %arg0
// CHECK: scf.index_switch
// CHECK: case 0
// CHECK: tsp.buffer.launch @step ins(%arg1, %arg2 : {{.*}}) outs(%arg3
// CHECK: default
// CHECK: tsp.buffer.copy %arg1 to %arg3
func.func @case(%i: tensor<i32>, %x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %r = "stablehlo.case"(%i) ({
    %0 = tsp.launch @step(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    stablehlo.return %0 : tensor<8xf32>
  }, {
    stablehlo.return %x : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
