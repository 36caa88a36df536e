// RUN: tsp-opt %s --tsp-name-arguments="params=p*,w?" | FileCheck %s

// CHECK: func.func public @locations(%arg0: tensor<8xf32> {tsp.kind = "parameter", tsp.name = "p['w']"}
// CHECK-SAME: %arg1: tensor<8xf32> {tsp.kind = "input", tsp.name = "x"}
// CHECK-SAME: %arg2: tensor<8xf32> {tsp.kind = "input"}
func.func public @locations(%arg0: tensor<8xf32> loc("p['w']"), %arg1: tensor<8xf32> loc("x"),
                            %arg2: tensor<8xf32>) {
  return
}

// A name that two arguments have by location names neither.
// CHECK: func.func public @ambiguous(%arg0: tensor<8xf32> {tsp.kind = "input"}, %arg1: tensor<8xf32> {tsp.kind = "input"})
func.func public @ambiguous(%arg0: tensor<8xf32> loc("x"), %arg1: tensor<8xf32> loc("x")) {
  return
}

// CHECK: func.func public @given(%arg0: tensor<8xf32> {tsp.kind = "state", tsp.name = "w1"}
// CHECK-SAME: %arg1: tensor<8xf32> {tsp.kind = "parameter", tsp.name = "w2"}
func.func public @given(%arg0: tensor<8xf32> {tsp.kind = "state", tsp.name = "w1"} loc("y"),
                        %arg1: tensor<8xf32> {tsp.name = "w2"}) {
  return
}

// CHECK: func.func public @donated(%arg0: tensor<8xf32> {tsp.alias = 1 : i64, tsp.kind = "state"}
// CHECK-SAME: %arg1: tensor<4xf32> {tsp.alias = 2 : i64, tsp.kind = "state"}
// CHECK-SAME: %arg2: tensor<4xf32> {tsp.kind = "input"}
func.func public @donated(%arg0: tensor<8xf32> {tf.aliasing_output = 1 : i32}, %arg1: tensor<4xf32> {jax.buffer_donor = true},
                          %arg2: tensor<4xf32> {jax.buffer_donor = true}) -> (tensor<8xf32>, tensor<8xf32>, tensor<4xf32>) {
  return %arg0, %arg0, %arg1 : tensor<8xf32>, tensor<8xf32>, tensor<4xf32>
}

// The export wrapper hands its arguments on.
// CHECK: func.func public @wrapper(%arg0: tensor<8xf32> {tsp.kind = "parameter", tsp.name = "p[0]"})
func.func public @wrapper(%arg0: tensor<8xf32>) {
  call @wrapped(%arg0) : (tensor<8xf32>) -> ()
  return
}
func.func private @wrapped(%arg0: tensor<8xf32> loc("p[0]")) {
  return
}
