// RUN: tsp-opt %s --tsp-form-kernels=remarks --verify-diagnostics

// expected-remark@+1 {{form-kernels: 2 launches of 1 different kernels}}
module {
  func.func public @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = stablehlo.tanh %x : tensor<4xf32>
    %1 = stablehlo.tanh %y : tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}
