// Case, while and calls in regions: what JAX prints is printed again, from both forms.
// RUN: grep -v '^//' %s > %t.jax
// RUN: tsp-opt %s | grep . | diff %t.jax -
// RUN: tsp-opt %s -mlir-print-op-generic | tsp-opt | grep . | diff %t.jax -
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x6xf32>, %arg1: tensor<i32>) -> (tensor<4x6xf32> {jax.result_info = "result[0]"}, tensor<4x6xf32> {jax.result_info = "result[1]"}, tensor<i32> {jax.result_info = "result[2][0]"}, tensor<4x6xf32> {jax.result_info = "result[2][1]"}, tensor<4x6xf32> {jax.result_info = "result[3]"}, tensor<6xf32> {jax.result_info = "result[4][0]"}, tensor<4x6xf32> {jax.result_info = "result[4][1]"}) {
    %c = stablehlo.constant dense<2> : tensor<i32>
    %0 = stablehlo.compare GT, %arg1, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %1 = stablehlo.convert %0 : (tensor<i1>) -> tensor<i32>
    %2 = "stablehlo.case"(%1) ({
      %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %10 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
      %11 = stablehlo.multiply %arg0, %10 : tensor<4x6xf32>
      stablehlo.return %11 : tensor<4x6xf32>
    }, {
      %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %10 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
      %11 = stablehlo.add %arg0, %10 : tensor<4x6xf32>
      stablehlo.return %11 : tensor<4x6xf32>
    }) : (tensor<i32>) -> tensor<4x6xf32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<2> : tensor<i32>
    %3 = stablehlo.clamp %c_0, %arg1, %c_1 : tensor<i32>
    %4 = "stablehlo.case"(%3) ({
      stablehlo.return %arg0 : tensor<4x6xf32>
    }, {
      %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %10 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
      %11 = stablehlo.add %arg0, %10 : tensor<4x6xf32>
      stablehlo.return %11 : tensor<4x6xf32>
    }, {
      %10 = stablehlo.negate %arg0 : tensor<4x6xf32>
      stablehlo.return %10 : tensor<4x6xf32>
    }) : (tensor<i32>) -> tensor<4x6xf32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %5:3 = stablehlo.while(%iterArg = %arg1, %iterArg_6 = %c_2, %iterArg_7 = %arg0) : tensor<i32>, tensor<i32>, tensor<4x6xf32>
    cond {
      %10 = stablehlo.convert %iterArg_6 : tensor<i32>
      %11 = stablehlo.compare LT, %10, %iterArg, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %11 : tensor<i1>
    } do {
      %c_8 = stablehlo.constant dense<1> : tensor<i32>
      %10 = stablehlo.add %iterArg_6, %c_8 : tensor<i32>
      %cst_9 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %11 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
      %12 = stablehlo.multiply %iterArg_7, %11 : tensor<4x6xf32>
      stablehlo.return %iterArg, %10, %12 : tensor<i32>, tensor<i32>, tensor<4x6xf32>
    }
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %6:2 = stablehlo.while(%iterArg = %c_3, %iterArg_6 = %arg0) : tensor<i32>, tensor<4x6xf32>
    cond {
      %c_7 = stablehlo.constant dense<3> : tensor<i32>
      %10 = stablehlo.compare LT, %iterArg, %c_7, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    } do {
      %10 = func.call @closed_call(%iterArg_6) : (tensor<4x6xf32>) -> tensor<4x6xf32>
      %c_7 = stablehlo.constant dense<1> : tensor<i32>
      %11 = stablehlo.add %iterArg, %c_7 : tensor<i32>
      stablehlo.return %11, %10 : tensor<i32>, tensor<4x6xf32>
    }
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %9:4 = stablehlo.while(%iterArg = %arg0, %iterArg_6 = %c_5, %iterArg_7 = %7, %iterArg_8 = %8) : tensor<4x6xf32>, tensor<i32>, tensor<6xf32>, tensor<4x6xf32>
    cond {
      %c_9 = stablehlo.constant dense<4> : tensor<i32>
      %10 = stablehlo.compare LT, %iterArg_6, %c_9, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    } do {
      %10 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_6) : (tensor<4x6xf32>, tensor<i32>) -> tensor<6xf32>
      %11:2 = func.call @closed_call_0(%iterArg_7, %10) : (tensor<6xf32>, tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>)
      %12 = func.call @dynamic_update_index_in_dim(%iterArg_8, %11#1, %iterArg_6) : (tensor<4x6xf32>, tensor<6xf32>, tensor<i32>) -> tensor<4x6xf32>
      %c_9 = stablehlo.constant dense<1> : tensor<i32>
      %13 = stablehlo.add %iterArg_6, %c_9 : tensor<i32>
      stablehlo.return %iterArg, %13, %11#0, %12 : tensor<4x6xf32>, tensor<i32>, tensor<6xf32>, tensor<4x6xf32>
    }
    return %2, %4, %5#1, %5#2, %6#1, %9#2, %9#3 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<i32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<6xf32>, tensor<4x6xf32>
  }
  func.func private @closed_call(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<4x6xf32>
    return %1 : tensor<4x6xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<4x6xf32>, %arg1: tensor<i32>) -> tensor<6xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, sizes = [1, 6] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x6xf32>) -> tensor<6xf32>
    return %1 : tensor<6xf32>
  }
  func.func private @closed_call_0(%arg0: tensor<6xf32>, %arg1: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<6xf32>
    %1 = stablehlo.multiply %arg0, %arg1 : tensor<6xf32>
    return %0, %1 : tensor<6xf32>, tensor<6xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<4x6xf32>, %arg1: tensor<6xf32>, %arg2: tensor<i32>) -> tensor<4x6xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<6xf32>) -> tensor<1x6xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c : (tensor<4x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
    return %1 : tensor<4x6xf32>
  }
}
