// RUN: tsp-opt %s -split-input-file | tsp-opt -split-input-file | FileCheck %s
// RUN: tsp-opt %s -split-input-file --mlir-print-op-generic | tsp-opt -split-input-file | FileCheck %s

// CHECK: module attributes {tsp.mesh = #tsp.mesh<["d", "t"] sizes[2, 4]>}
module attributes {tsp.mesh = #tsp.mesh<["d", "t"] sizes [2, 4]>} {

// CHECK-LABEL: @collectives
func.func @collectives(%x: tensor<3x2xf32>, %whole: tensor<3x5xf32>, %offset: tensor<i32>) {
  // CHECK: tsp.axis_index "t" : tensor<i32>
  %r = tsp.axis_index "t" : tensor<i32>
  // CHECK: tsp.all_gather %{{.*}} {axis = "t", dim = 1 : i64, total = 5 : i64} : (tensor<3x2xf32>) -> tensor<3x5xf32>
  %0 = tsp.all_gather %x {axis = "t", dim = 1 : i64, total = 5 : i64} : (tensor<3x2xf32>) -> tensor<3x5xf32>
  // CHECK: tsp.all_gather %{{.*}} {axis = "t", dim = 1 : i64, layout = #tsp.layout<zigzag>, total = 7 : i64}
  %1 = tsp.all_gather %x {axis = "t", dim = 1 : i64, layout = #tsp.layout<zigzag>, total = 7 : i64} : (tensor<3x2xf32>) -> tensor<3x7xf32>
  // CHECK: tsp.all_gather %{{.*}} : (tensor<3x2xf32>) -> !tsp.future<tensor<3x5xf32>>
  %f = tsp.all_gather %x {axis = "t", dim = 1 : i64, total = 5 : i64} : (tensor<3x2xf32>) -> !tsp.future<tensor<3x5xf32>>
  // CHECK: tsp.wait %{{.*}} : <tensor<3x5xf32>> -> tensor<3x5xf32>
  %2 = tsp.wait %f : !tsp.future<tensor<3x5xf32>> -> tensor<3x5xf32>
  // CHECK: tsp.reduce_scatter %{{.*}} {axis = "t", combine = #tsp.combine<max>, dim = 1 : i64, total = 5 : i64} : (tensor<3x5xf32>) -> tensor<3x2xf32>
  %3 = tsp.reduce_scatter %whole {axis = "t", combine = #tsp.combine<max>, dim = 1 : i64, total = 5 : i64} : (tensor<3x5xf32>) -> tensor<3x2xf32>
  // CHECK: tsp.all_reduce %{{.*}} {axis = "d"} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %4 = tsp.all_reduce %x {axis = "d"} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  // CHECK: tsp.all_to_all %{{.*}} {axis = "d", concat_dim = 0 : i64, concat_total = 6 : i64, split_dim = 1 : i64, split_total = 5 : i64} : (tensor<3x5xf32>) -> tensor<6x3xf32>
  %5 = tsp.all_to_all %whole {axis = "d", concat_dim = 0 : i64, concat_total = 6 : i64, split_dim = 1 : i64, split_total = 5 : i64} : (tensor<3x5xf32>) -> tensor<6x3xf32>
  // CHECK: tsp.broadcast %{{.*}} at %{{.*}} {axis = "t", dim = 1 : i64, total = 8 : i64, unit = 2 : i64} : (tensor<3x2xf32>, tensor<i32>) -> tensor<3x4xf32>
  %6 = tsp.broadcast %x at %offset {axis = "t", dim = 1 : i64, total = 8 : i64, unit = 2 : i64} : (tensor<3x2xf32>, tensor<i32>) -> tensor<3x4xf32>
  // CHECK: tsp.send_recv %{{.*}} {axis = "t", shift = 1 : i64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %7 = tsp.send_recv %x {axis = "t", shift = 1 : i64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}

// CHECK-LABEL: @place
func.func @place(%x: tensor<8x6xf32>) {
  // CHECK: tsp.place %{{.*}} in <[<["t"]>, <[]>]> : tensor<8x6xf32>
  %0 = tsp.place %x in <[#tsp.dim<["t"]>, #tsp.dim<[]>]> : tensor<8x6xf32>
  // CHECK: tsp.place %{{.*}} in <[<["d", "t"], unit = 2, layout = zigzag>, <[], fold = "f", steps = 4>], partial = ["p"], combine = max> : tensor<8x6xf32>
  %1 = tsp.place %x in <[#tsp.dim<["d", "t"], unit = 2, layout = zigzag>, #tsp.dim<[], fold = "f", steps = 4>], partial = ["p"], combine = max> : tensor<8x6xf32>
  return
}

// CHECK-LABEL: @sdpa
func.func @sdpa(%q: tensor<2x5x6x4xbf16>, %k: tensor<2x7x3x4xbf16>, %v: tensor<2x7x3x8xbf16>,
                %bias: tensor<1x6x5x7xf32>, %mask: tensor<2x1x1x7xi1>, %i: tensor<5xi32>,
                %j: tensor<2x7xi32>) {
  // CHECK: tsp.sdpa %{{.*}}, %{{.*}}, %{{.*}} {scale = 5.000000e-01 : f64} : (tensor<2x5x6x4xbf16>, tensor<2x7x3x4xbf16>, tensor<2x7x3x8xbf16>) -> (tensor<2x5x6x8xbf16>, tensor<2x5x6xf32>)
  %o, %lse = tsp.sdpa %q, %k, %v {scale = 0.5 : f64} : (tensor<2x5x6x4xbf16>, tensor<2x7x3x4xbf16>, tensor<2x7x3x8xbf16>) -> (tensor<2x5x6x8xbf16>, tensor<2x5x6xf32>)
  // CHECK: bias(%{{.*}} : tensor<1x6x5x7xf32>) mask(%{{.*}} : tensor<2x1x1x7xi1>) positions(%{{.*}}, %{{.*}} : tensor<5xi32>, tensor<2x7xi32>) segments(%{{.*}}, %{{.*}} : tensor<5xi32>, tensor<2x7xi32>) {causal, empty = #tsp.empty_rows<mean>, scale = 5.000000e-01 : f64, softcap = 3.000000e+01 : f64, window = 4 : i64}
  %p, %lse2 = tsp.sdpa %q, %k, %v bias(%bias : tensor<1x6x5x7xf32>) mask(%mask : tensor<2x1x1x7xi1>)
      positions(%i, %j : tensor<5xi32>, tensor<2x7xi32>) segments(%i, %j : tensor<5xi32>, tensor<2x7xi32>)
      {scale = 0.5 : f64, softcap = 30.0 : f64, causal, window = 4 : i64, empty = #tsp.empty_rows<mean>}
      : (tensor<2x5x6x4xbf16>, tensor<2x7x3x4xbf16>, tensor<2x7x3x8xbf16>) -> (tensor<2x5x6x8xbf16>, tensor<2x5x6xf32>)
  return
}

// CHECK-LABEL: @folds
func.func @folds(%x: tensor<2x6xf32>, %wg: tensor<6x3xf32>, %wd: tensor<3x6xf32>) {
  // CHECK: tsp.fold(%{{.*}}, %{{.*}}) attributes {axis = "t", combines = [#tsp.combine<sum>, #tsp.concat<1>], part_dims = array<i64: 1, 0>, part_sizes = array<i64: 3, 3>, part_starts = array<i64: 0, 0>, part_totals = array<i64: 12, 12>, schedule = #tsp.schedule<ring>, steps = 4 : i64} : (tensor<6x3xf32>, tensor<3x6xf32>) -> (tensor<2x6xf32>, tensor<6x12xf32>) {
  %y:2 = tsp.fold(%wg, %wd) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1, 0>, part_sizes = array<i64: 3, 3>,
      part_starts = array<i64: 0, 0>, part_totals = array<i64: 12, 12>, combines = [#tsp.combine<sum>, #tsp.concat<1>],
      schedule = #tsp.schedule<ring>} : (tensor<6x3xf32>, tensor<3x6xf32>) -> (tensor<2x6xf32>, tensor<6x12xf32>) {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>, %b: tensor<3x6xf32>):
    // CHECK: tsp.yield %{{.*}}, %{{.*}} : tensor<2x6xf32>, tensor<6x3xf32>
    tsp.yield %x, %a : tensor<2x6xf32>, tensor<6x3xf32>
  }
  // CHECK: tsp.fold_loop(%{{.*}} : tensor<6x3xf32>) iter(%{{.*}} : tensor<2x6xf32>) attributes {axis = "t", part_dims = array<i64: 1>, part_sizes = array<i64: 3>, part_starts = array<i64: 0>, part_totals = array<i64: 12>, prefetch = 2 : i64, schedule = #tsp.schedule<broadcast>, steps = 4 : i64} -> tensor<2x6xf32> {
  %z = tsp.fold_loop(%wg : tensor<6x3xf32>) iter(%x : tensor<2x6xf32>) attributes {axis = "t", steps = 4 : i64, part_dims = array<i64: 1>,
      part_sizes = array<i64: 3>, part_starts = array<i64: 0>, part_totals = array<i64: 12>, prefetch = 2 : i64,
      schedule = #tsp.schedule<broadcast>} -> tensor<2x6xf32> {
  ^bb0(%g: tensor<i32>, %a: tensor<6x3xf32>, %c: tensor<2x6xf32>):
    tsp.yield %c : tensor<2x6xf32>
  }
  // CHECK: tsp.undefined : tensor<2x6xf32>
  %u = tsp.undefined : tensor<2x6xf32>
  // CHECK: tsp.logsumexp %{{.*}} {dim = 1 : i64} : tensor<2x6xf32> -> tensor<2xf32>
  %l = tsp.logsumexp %x {dim = 1 : i64} : tensor<2x6xf32> -> tensor<2xf32>
  // CHECK: tsp.all_reduce %{{.*}} {axis = "t", codec = #tsp.codec<none>}
  %r = tsp.all_reduce %x {axis = "t", codec = #tsp.codec<none>} : (tensor<2x6xf32>) -> tensor<2x6xf32>
  return
}

// CHECK-LABEL: @blocks
func.func @blocks(%x: tensor<1x8x16xf32>, %wq: tensor<16x24xf32>, %wk: tensor<16x12xf32>, %wo: tensor<24x16xf32>,
                  %table: tensor<8x4xf32>, %i: tensor<8xi32>, %mask: tensor<1x1x8x8xi1>,
                  %wg: tensor<16x44xf32>, %wd: tensor<44x16xf32>) {
  // CHECK: tsp.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} over "t" {heads = 6 : i64, kv_heads = 3 : i64}
  %0 = tsp.attention %x, %wq, %wk, %wk, %wo over "t" {heads = 6 : i64, kv_heads = 3 : i64}
      : (tensor<1x8x16xf32>, tensor<16x24xf32>, tensor<16x12xf32>, tensor<16x12xf32>, tensor<24x16xf32>) -> tensor<1x8x16xf32>
  // CHECK: tsp.attention %{{.*}} rotary(%{{.*}}, %{{.*}} : tensor<8x4xf32>, tensor<8x4xf32>) positions(%{{.*}} : tensor<8xi32>) mask(%{{.*}} : tensor<1x1x8x8xi1>) over "t" {causal, heads = 6 : i64, kv_heads = 3 : i64, scale = 5.000000e-01 : f64, softcap = 5.000000e+01 : f64, window = 4 : i64}
  %1 = tsp.attention %x, %wq, %wk, %wk, %wo rotary(%table, %table : tensor<8x4xf32>, tensor<8x4xf32>) positions(%i : tensor<8xi32>)
      mask(%mask : tensor<1x1x8x8xi1>) over "t" {heads = 6 : i64, kv_heads = 3 : i64, causal, window = 4 : i64, scale = 0.5 : f64, softcap = 50.0 : f64}
      : (tensor<1x8x16xf32>, tensor<16x24xf32>, tensor<16x12xf32>, tensor<16x12xf32>, tensor<24x16xf32>) -> tensor<1x8x16xf32>
  // CHECK: tsp.gated_mlp %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} over "t" {activation = #tsp.activation<gelu_tanh>} : (tensor<1x8x16xf32>, tensor<16x44xf32>, tensor<16x44xf32>, tensor<44x16xf32>) -> tensor<1x8x16xf32>
  %2 = tsp.gated_mlp %x, %wg, %wg, %wd over "t" {activation = #tsp.activation<gelu_tanh>}
      : (tensor<1x8x16xf32>, tensor<16x44xf32>, tensor<16x44xf32>, tensor<44x16xf32>) -> tensor<1x8x16xf32>
  return
}
}

// -----

func.func private @add_0(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> attributes {tsp.kernel, tsp.tied = array<i64: 0>} {
  %0 = stablehlo.add %a, %b : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// CHECK-LABEL: @launch
func.func @launch(%x: tensor<2xf32>) -> tensor<2xf32> {
  // CHECK: tsp.launch @add_0(%{{.*}}, %{{.*}}) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %0 = tsp.launch @add_0(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// A program of one rank has a mesh without axes.
// CHECK: func.func private @one_rank() attributes {mesh = #tsp.mesh<[] sizes[]>}
func.func private @one_rank() attributes {mesh = #tsp.mesh<[] sizes []>}
