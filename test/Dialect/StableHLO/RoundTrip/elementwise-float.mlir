// Every unary op on floats: what JAX prints is printed again, from both forms.
// RUN: grep -v '^//' %s > %t.jax
// RUN: tsp-opt %s | grep . | diff %t.jax -
// RUN: tsp-opt %s -mlir-print-op-generic | tsp-opt | grep . | diff %t.jax -
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x6xf32>) -> (tensor<4x6xf32> {jax.result_info = "result[0]"}, tensor<4x6xf32> {jax.result_info = "result[1]"}, tensor<4x6xf32> {jax.result_info = "result[2]"}, tensor<4x6xf32> {jax.result_info = "result[3]"}, tensor<4x6xf32> {jax.result_info = "result[4]"}, tensor<4x6xf32> {jax.result_info = "result[5]"}, tensor<4x6xf32> {jax.result_info = "result[6]"}, tensor<4x6xf32> {jax.result_info = "result[7]"}, tensor<4x6xf32> {jax.result_info = "result[8]"}, tensor<4x6xf32> {jax.result_info = "result[9]"}, tensor<4x6xf32> {jax.result_info = "result[10]"}, tensor<4x6xf32> {jax.result_info = "result[11]"}, tensor<4x6xf32> {jax.result_info = "result[12]"}, tensor<4x6xf32> {jax.result_info = "result[13]"}, tensor<4x6xf32> {jax.result_info = "result[14]"}, tensor<4x6xf32> {jax.result_info = "result[15]"}, tensor<4x6xf32> {jax.result_info = "result[16]"}, tensor<4x6xf32> {jax.result_info = "result[17]"}, tensor<4x6xf32> {jax.result_info = "result[18]"}, tensor<4x6xf32> {jax.result_info = "result[19]"}, tensor<4x6xf32> {jax.result_info = "result[20]"}, tensor<4x6xf32> {jax.result_info = "result[21]"}, tensor<4x6xf32> {jax.result_info = "result[22]"}, tensor<4x6xf32> {jax.result_info = "result[23]"}, tensor<4x6xf32> {jax.result_info = "result[24]"}, tensor<4x6xf32> {jax.result_info = "result[25]"}, tensor<4x6xf32> {jax.result_info = "result[26]"}, tensor<4x6xi1> {jax.result_info = "result[27]"}, tensor<4x6xi1> {jax.result_info = "result[28]"}, tensor<4x6xi1> {jax.result_info = "result[29]"}, tensor<4x6xf32> {jax.result_info = "result[30]"}, tensor<4x6xf32> {jax.result_info = "result[31]"}, tensor<4x6xf32> {jax.result_info = "result[32]"}, tensor<4x6xf32> {jax.result_info = "result[33]"}, tensor<4x6xf32> {jax.result_info = "result[34]"}, tensor<4x6xf32> {jax.result_info = "result[35]"}, tensor<4x6xf32> {jax.result_info = "result[36]"}, tensor<4x6xf32> {jax.result_info = "result[37]"}, tensor<4x6xf32> {jax.result_info = "result[38]"}, tensor<4x6xf32> {jax.result_info = "result[39]"}, tensor<4x6xf32> {jax.result_info = "result[40]"}) {
    %0 = stablehlo.sine %arg0 : tensor<4x6xf32>
    %1 = stablehlo.cosine %arg0 : tensor<4x6xf32>
    %2 = stablehlo.tan %arg0 : tensor<4x6xf32>
    %3 = chlo.asin %arg0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %4 = chlo.acos %arg0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %5 = chlo.atan %arg0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %6 = chlo.sinh %arg0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %7 = chlo.cosh %arg0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %8 = stablehlo.tanh %arg0 : tensor<4x6xf32>
    %9 = chlo.asinh %arg0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %10 = call @arccosh(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %11 = chlo.atanh %arg0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %12 = stablehlo.exponential %arg0 : tensor<4x6xf32>
    %cst = stablehlo.constant dense<0.693147182> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %14 = stablehlo.multiply %13, %arg0 : tensor<4x6xf32>
    %15 = stablehlo.exponential %14 : tensor<4x6xf32>
    %16 = stablehlo.exponential_minus_one %arg0 : tensor<4x6xf32>
    %17 = stablehlo.log %arg0 : tensor<4x6xf32>
    %18 = stablehlo.log_plus_one %arg0 : tensor<4x6xf32>
    %19 = stablehlo.log %arg0 : tensor<4x6xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %20 = stablehlo.log %cst_0 : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %22 = stablehlo.divide %19, %21 : tensor<4x6xf32>
    %23 = stablehlo.sqrt %arg0 : tensor<4x6xf32>
    %24 = stablehlo.cbrt %arg0 : tensor<4x6xf32>
    %25 = chlo.square %arg0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %26 = stablehlo.abs %arg0 : tensor<4x6xf32>
    %27 = stablehlo.sign %arg0 : tensor<4x6xf32>
    %28 = stablehlo.floor %arg0 : tensor<4x6xf32>
    %29 = stablehlo.ceil %arg0 : tensor<4x6xf32>
    %30 = call @rint(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %31 = call @round(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %32 = stablehlo.is_finite %arg0 : (tensor<4x6xf32>) -> tensor<4x6xi1>
    %33 = stablehlo.compare NE, %arg0, %arg0, FLOAT : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
    %34 = call @isinf(%arg0) : (tensor<4x6xf32>) -> tensor<4x6xi1>
    %35 = stablehlo.negate %arg0 : tensor<4x6xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %37 = stablehlo.divide %36, %arg0 : tensor<4x6xf32>
    %38 = chlo.erf %arg0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %39 = chlo.erfc %arg0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %40 = chlo.erf_inv %arg0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %41 = chlo.lgamma %arg0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %42 = chlo.digamma %arg0 : tensor<4x6xf32> -> tensor<4x6xf32>
    %43 = stablehlo.negate %arg0 : tensor<4x6xf32>
    %44 = stablehlo.exponential %43 : tensor<4x6xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %45 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %46 = stablehlo.add %45, %44 : tensor<4x6xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %48 = stablehlo.divide %47, %46 : tensor<4x6xf32>
    %49 = stablehlo.rsqrt %arg0 : tensor<4x6xf32>
    %50 = stablehlo.round_nearest_afz %arg0 : tensor<4x6xf32>
    %51 = stablehlo.round_nearest_even %arg0 : tensor<4x6xf32>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %15, %16, %17, %18, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %37, %38, %39, %40, %41, %42, %48, %49, %50, %51 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xi1>, tensor<4x6xi1>, tensor<4x6xi1>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
  }
  func.func private @arccosh(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = chlo.acosh %arg0 : tensor<4x6xf32> -> tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
  func.func private @rint(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = stablehlo.round_nearest_even %arg0 : tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
  func.func private @round(%arg0: tensor<4x6xf32>) -> tensor<4x6xf32> {
    %0 = stablehlo.round_nearest_even %arg0 : tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
  func.func private @isinf(%arg0: tensor<4x6xf32>) -> tensor<4x6xi1> {
    %0 = stablehlo.abs %arg0 : tensor<4x6xf32>
    %cst = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %2 = stablehlo.compare EQ, %0, %1, FLOAT : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xi1>
    return %2 : tensor<4x6xi1>
  }
}
