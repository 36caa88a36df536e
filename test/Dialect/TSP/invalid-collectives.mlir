// RUN: tsp-opt %s -split-input-file -verify-diagnostics

// expected-note@+1 {{the mesh is #tsp.mesh<["t"] sizes[4]>}}
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @axis_c1() {
  // expected-error@+1 {{'tsp.axis_index' op expected an axis of the mesh, found "u"}}
  %0 = tsp.axis_index "u" : tensor<i32>
  return
}
}

// -----

// expected-note@+1 {{the mesh is #tsp.mesh<["t"] sizes[4]>}}
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @axis_c1_all_reduce(%x: tensor<3x2xf32>) {
  // expected-error@+1 {{'tsp.all_reduce' op expected an axis of the mesh, found "u"}}
  %0 = tsp.all_reduce %x {axis = "u"} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}
}

// -----

// expected-note@+1 {{the mesh is #tsp.mesh<["t"] sizes[4]>}}
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @axis_c1_send_recv(%x: tensor<3x2xf32>) {
  // expected-error@+1 {{'tsp.send_recv' op expected an axis of the mesh, found "u"}}
  %0 = tsp.send_recv %x {axis = "u", shift = 1 : i64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return
}
}

// -----

// expected-note@+1 {{the mesh is #tsp.mesh<["t"] sizes[4]>}}
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @axis_c1_all_gather(%x: tensor<3x2xf32>) {
  // expected-error@+1 {{'tsp.all_gather' op expected an axis of the mesh, found "u"}}
  %0 = tsp.all_gather %x {axis = "u", dim = 1 : i64, total = 5 : i64} : (tensor<3x2xf32>) -> tensor<3x5xf32>
  return
}
}

// -----

func.func @all_gather_c1_dim(%x: tensor<3x2xf32>) {
  // expected-error@+1 {{'tsp.all_gather' op expected dim in [0, 2), found 2}}
  %0 = tsp.all_gather %x {axis = "t", dim = 2 : i64, total = 5 : i64} : (tensor<3x2xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @all_gather_c1_type(%x: tensor<3x2xf32>) {
  // expected-error@+1 {{'tsp.all_gather' op expected a result with the element type and rank of 'tensor<3x2xf32>', found 'tensor<3x5xbf16>'}}
  %0 = tsp.all_gather %x {axis = "t", dim = 1 : i64, total = 5 : i64} : (tensor<3x2xf32>) -> tensor<3x5xbf16>
  return
}

// -----

func.func @all_gather_c1_size(%x: tensor<3x2xf32>) {
  // expected-error@+1 {{'tsp.all_gather' op expected size 3 in dim 0 of the result, found 4}}
  %0 = tsp.all_gather %x {axis = "t", dim = 1 : i64, total = 5 : i64} : (tensor<3x2xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @all_gather_c2(%x: tensor<3x2xf32>) {
  // expected-error@+1 {{'tsp.all_gather' op (all_gather_c2) expected 5 elements in dim 1 of the result, found 6}}
  %0 = tsp.all_gather %x {axis = "t", dim = 1 : i64, total = 5 : i64} : (tensor<3x2xf32>) -> tensor<3x6xf32>
  return
}

// -----

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @all_gather_c3(%x: tensor<3x2xf32>) {
  // expected-error@+1 {{'tsp.all_gather' op (all_gather_c3) expected the shard of 9 elements over 4 ranks, 3, in dim 1 of the input, found 2}}
  %0 = tsp.all_gather %x {axis = "t", dim = 1 : i64, total = 9 : i64} : (tensor<3x2xf32>) -> tensor<3x9xf32>
  return
}
}

// -----

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @all_gather_c3_zigzag(%x: tensor<3x2xf32>) {
  // expected-error@+1 {{'tsp.all_gather' op (all_gather_c3) expected the shard of 9 elements over 4 ranks, 4, in dim 1 of the input, found 2}}
  %0 = tsp.all_gather %x {axis = "t", dim = 1 : i64, layout = #tsp.layout<zigzag>, total = 9 : i64} : (tensor<3x2xf32>) -> tensor<3x9xf32>
  return
}
}

// -----

func.func @all_gather_unit(%x: tensor<3x2xf32>) {
  // expected-error@+1 {{'tsp.all_gather' op expected a unit of at least 1, found 0}}
  %0 = tsp.all_gather %x {axis = "t", dim = 1 : i64, total = 5 : i64, unit = 0 : i64} : (tensor<3x2xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @reduce_scatter_c1(%x: tensor<3x5xf32>) {
  // expected-error@+1 {{'tsp.reduce_scatter' op expected size 3 in dim 0 of the result, found 2}}
  %0 = tsp.reduce_scatter %x {axis = "t", dim = 1 : i64, total = 5 : i64} : (tensor<3x5xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @reduce_scatter_c2(%x: tensor<3x5xf32>) {
  // expected-error@+1 {{'tsp.reduce_scatter' op (reduce_scatter_c2) expected 6 elements in dim 1 of the input, found 5}}
  %0 = tsp.reduce_scatter %x {axis = "t", dim = 1 : i64, total = 6 : i64} : (tensor<3x5xf32>) -> tensor<3x2xf32>
  return
}

// -----

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @reduce_scatter_c3(%x: tensor<3x5xf32>) {
  // expected-error@+1 {{'tsp.reduce_scatter' op (reduce_scatter_c3) expected the shard of 5 elements over 4 ranks, 2, in dim 1 of the result, found 3}}
  %0 = tsp.reduce_scatter %x {axis = "t", dim = 1 : i64, total = 5 : i64} : (tensor<3x5xf32>) -> tensor<3x3xf32>
  return
}
}

// -----

func.func @all_reduce_c1(%x: tensor<3x5xf32>) {
  // expected-error@+1 {{'tsp.all_reduce' op expected a result of type 'tensor<3x5xf32>', found 'tensor<5x3xf32>'}}
  %0 = tsp.all_reduce %x {axis = "t"} : (tensor<3x5xf32>) -> tensor<5x3xf32>
  return
}

// -----

func.func @send_recv_c1(%x: tensor<3x5xf32>) {
  // expected-error@+1 {{'tsp.send_recv' op expected a result of type 'tensor<3x5xf32>', found 'tensor<3x5xbf16>'}}
  %0 = tsp.send_recv %x {axis = "t", shift = 1 : i64} : (tensor<3x5xf32>) -> !tsp.future<tensor<3x5xbf16>>
  return
}

// -----

func.func @all_to_all_c1_dim(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{'tsp.all_to_all' op expected split_dim in [0, 2), found 2}}
  %0 = tsp.all_to_all %x {axis = "t", split_dim = 2 : i64, split_total = 4 : i64, concat_dim = 0 : i64, concat_total = 12 : i64} : (tensor<3x4xf32>) -> tensor<12x1xf32>
  return
}

// -----

func.func @all_to_all_c1_concat_dim(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{'tsp.all_to_all' op expected concat_dim in [0, 2), found -1}}
  %0 = tsp.all_to_all %x {axis = "t", split_dim = 1 : i64, split_total = 4 : i64, concat_dim = -1 : i64, concat_total = 12 : i64} : (tensor<3x4xf32>) -> tensor<12x1xf32>
  return
}

// -----

func.func @all_to_all_c1_type(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{'tsp.all_to_all' op expected a result with the element type and rank of 'tensor<3x4xf32>', found 'tensor<12x1xi32>'}}
  %0 = tsp.all_to_all %x {axis = "t", split_dim = 1 : i64, split_total = 4 : i64, concat_dim = 0 : i64, concat_total = 12 : i64} : (tensor<3x4xf32>) -> tensor<12x1xi32>
  return
}

// -----

func.func @all_to_all_c2(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{'tsp.all_to_all' op (all_to_all_c2) expected split_dim and concat_dim to differ, found both 1}}
  %0 = tsp.all_to_all %x {axis = "t", split_dim = 1 : i64, split_total = 4 : i64, concat_dim = 1 : i64, concat_total = 12 : i64} : (tensor<3x4xf32>) -> tensor<12x1xf32>
  return
}

// -----

func.func @all_to_all_c3_split(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{'tsp.all_to_all' op (all_to_all_c3) expected 5 elements in dim 1 of the input, found 4}}
  %0 = tsp.all_to_all %x {axis = "t", split_dim = 1 : i64, split_total = 5 : i64, concat_dim = 0 : i64, concat_total = 12 : i64} : (tensor<3x4xf32>) -> tensor<12x1xf32>
  return
}

// -----

func.func @all_to_all_c3_concat(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{'tsp.all_to_all' op (all_to_all_c3) expected 11 elements in dim 0 of the result, found 12}}
  %0 = tsp.all_to_all %x {axis = "t", split_dim = 1 : i64, split_total = 4 : i64, concat_dim = 0 : i64, concat_total = 11 : i64} : (tensor<3x4xf32>) -> tensor<12x1xf32>
  return
}

// -----

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @all_to_all_c4_split(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{'tsp.all_to_all' op (all_to_all_c4) expected the shard of 4 elements over 4 ranks, 1, in dim 1 of the result, found 2}}
  %0 = tsp.all_to_all %x {axis = "t", split_dim = 1 : i64, split_total = 4 : i64, concat_dim = 0 : i64, concat_total = 12 : i64} : (tensor<3x4xf32>) -> tensor<12x2xf32>
  return
}
}

// -----

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @all_to_all_c4_concat(%x: tensor<3x4xf32>) {
  // expected-error@+1 {{'tsp.all_to_all' op (all_to_all_c4) expected the shard of 16 elements over 4 ranks, 4, in dim 0 of the input, found 3}}
  %0 = tsp.all_to_all %x {axis = "t", split_dim = 1 : i64, split_total = 4 : i64, concat_dim = 0 : i64, concat_total = 16 : i64} : (tensor<3x4xf32>) -> tensor<16x1xf32>
  return
}
}

// -----

func.func @broadcast_c1(%x: tensor<3xf32>, %o: tensor<i32>) {
  // expected-error@+1 {{'tsp.broadcast' op expected a result with the element type and rank of 'tensor<3xf32>', found 'tensor<2x1xf32>'}}
  %0 = tsp.broadcast %x at %o {axis = "t", dim = 0 : i64, total = 12 : i64} : (tensor<3xf32>, tensor<i32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @broadcast_c2(%x: tensor<3xf32>, %o: tensor<i64>) {
  // expected-error@+1 {{'tsp.broadcast' op (broadcast_c2) expected an offset of type tensor<i32>, found 'tensor<i64>'}}
  %0 = tsp.broadcast %x at %o {axis = "t", dim = 0 : i64, total = 12 : i64} : (tensor<3xf32>, tensor<i64>) -> tensor<2xf32>
  return
}

// -----

func.func @broadcast_c3(%x: tensor<3xf32>, %o: tensor<i32>) {
  // expected-error@+1 {{'tsp.broadcast' op (broadcast_c3) expected at most 12 elements in dim 0 of the result, found 13}}
  %0 = tsp.broadcast %x at %o {axis = "t", dim = 0 : i64, total = 12 : i64} : (tensor<3xf32>, tensor<i32>) -> tensor<13xf32>
  return
}

// -----

module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [4]>} {
func.func @broadcast_c4(%x: tensor<3xf32>, %o: tensor<i32>) {
  // expected-error@+1 {{'tsp.broadcast' op (broadcast_c4) expected the shard of 16 elements over 4 ranks, 4, in dim 0 of the input, found 3}}
  %0 = tsp.broadcast %x at %o {axis = "t", dim = 0 : i64, total = 16 : i64} : (tensor<3xf32>, tensor<i32>) -> tensor<2xf32>
  return
}
}

// -----

func.func @wait_c1(%f: !tsp.future<tensor<3xf32>>) {
  // expected-error@+1 {{'tsp.wait' op (wait_c1) expected a result of type 'tensor<3xf32>', found 'tensor<4xf32>'}}
  %0 = tsp.wait %f : !tsp.future<tensor<3xf32>> -> tensor<4xf32>
  return
}

// -----

func.func @wait_c2(%f: !tsp.future<tensor<3xf32>>) {
  // expected-error@+1 {{'tsp.wait' op (wait_c2) expected the future to be waited for once, found 2 uses}}
  %0 = tsp.wait %f : !tsp.future<tensor<3xf32>> -> tensor<3xf32>
  %1 = tsp.wait %f : !tsp.future<tensor<3xf32>> -> tensor<3xf32>
  return
}
