// RUN: tsp-opt %s -split-input-file -verify-diagnostics

func.func @attention_c1(%x: tensor<1x8x16xf32>, %wq: tensor<16x24xf32>, %wk: tensor<16x12xf32>, %wv: tensor<16x12xf32>, %wo: tensor<24x16xf32>) {
  // expected-error@+1 {{'tsp.attention' op (attention_c1) expected kv_heads to divide heads, found 4 and 6}}
  %0 = tsp.attention %x, %wq, %wk, %wv, %wo over "t" {heads = 6 : i64, kv_heads = 4 : i64}
      : (tensor<1x8x16xf32>, tensor<16x24xf32>, tensor<16x12xf32>, tensor<16x12xf32>, tensor<24x16xf32>) -> tensor<1x8x16xf32>
  return
}

// -----

func.func @attention_c2_tokens(%x: tensor<8x16xf32>, %wq: tensor<16x24xf32>, %wk: tensor<16x12xf32>, %wv: tensor<16x12xf32>, %wo: tensor<24x16xf32>) {
  // expected-error@+1 {{'tsp.attention' op (attention_c2) expected x [B,S,h] of floats, found 'tensor<8x16xf32>'}}
  %0 = tsp.attention %x, %wq, %wk, %wv, %wo over "t" {heads = 6 : i64, kv_heads = 3 : i64}
      : (tensor<8x16xf32>, tensor<16x24xf32>, tensor<16x12xf32>, tensor<16x12xf32>, tensor<24x16xf32>) -> tensor<1x8x16xf32>
  return
}

// -----

func.func @attention_c2_weights(%x: tensor<1x8x16xf32>, %wq: tensor<16x24xf32>, %wk: tensor<16x13xf32>, %wv: tensor<16x12xf32>, %wo: tensor<24x16xf32>) {
  // expected-error@+1 {{'tsp.attention' op (attention_c2) expected wq [h,Hq E], wk [h,Hkv E], wv [h,Hkv Ev], wo [Hq Ev,o] and y [B,S,o] of one type for x 'tensor<1x8x16xf32>', 6 heads and 3 kv_heads, found 'tensor<16x24xf32>', 'tensor<16x13xf32>', 'tensor<16x12xf32>', 'tensor<24x16xf32>' and 'tensor<1x8x16xf32>'}}
  %0 = tsp.attention %x, %wq, %wk, %wv, %wo over "t" {heads = 6 : i64, kv_heads = 3 : i64}
      : (tensor<1x8x16xf32>, tensor<16x24xf32>, tensor<16x13xf32>, tensor<16x12xf32>, tensor<24x16xf32>) -> tensor<1x8x16xf32>
  return
}

// -----

func.func @attention_c3(%x: tensor<1x8x16xf32>, %wq: tensor<16x24xf32>, %wk: tensor<16x12xf32>, %wv: tensor<16x12xf32>, %wo: tensor<24x16xf32>, %t: tensor<8x2xf32>) {
  // expected-error@+1 {{'tsp.attention' op (attention_c3) expected rotary tables 'tensor<8x4xf32>' of an even number of features, found 'tensor<8x2xf32>'}}
  %0 = tsp.attention %x, %wq, %wk, %wv, %wo rotary(%t, %t : tensor<8x2xf32>, tensor<8x2xf32>) over "t" {heads = 6 : i64, kv_heads = 3 : i64}
      : (tensor<1x8x16xf32>, tensor<16x24xf32>, tensor<16x12xf32>, tensor<16x12xf32>, tensor<24x16xf32>) -> tensor<1x8x16xf32>
  return
}

// -----

func.func @attention_c3_one_table(%x: tensor<1x8x16xf32>, %wq: tensor<16x24xf32>, %wk: tensor<16x12xf32>, %wo: tensor<24x16xf32>, %t: tensor<8x4xf32>) {
  // expected-error@+1 {{'tsp.attention' op (attention_c3) expected both rotary tables}}
  %0 = "tsp.attention"(%x, %wq, %wk, %wk, %wo, %t) <{axis = "t", heads = 6 : i64, kv_heads = 3 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0>}>
      : (tensor<1x8x16xf32>, tensor<16x24xf32>, tensor<16x12xf32>, tensor<16x12xf32>, tensor<24x16xf32>, tensor<8x4xf32>) -> tensor<1x8x16xf32>
  return
}

// -----

func.func @attention_c4_unused(%x: tensor<1x8x16xf32>, %wq: tensor<16x24xf32>, %wk: tensor<16x12xf32>, %wv: tensor<16x12xf32>, %wo: tensor<24x16xf32>, %i: tensor<8xi32>) {
  // expected-error@+1 {{'tsp.attention' op (attention_c4) positions serve causal or window, found neither}}
  %0 = tsp.attention %x, %wq, %wk, %wv, %wo positions(%i : tensor<8xi32>) over "t" {heads = 6 : i64, kv_heads = 3 : i64}
      : (tensor<1x8x16xf32>, tensor<16x24xf32>, tensor<16x12xf32>, tensor<16x12xf32>, tensor<24x16xf32>) -> tensor<1x8x16xf32>
  return
}

// -----

func.func @attention_c4_shape(%x: tensor<1x8x16xf32>, %wq: tensor<16x24xf32>, %wk: tensor<16x12xf32>, %wv: tensor<16x12xf32>, %wo: tensor<24x16xf32>, %i: tensor<9xi32>) {
  // expected-error@+1 {{'tsp.attention' op (attention_c4) expected integer positions [8] or [1,8], found 'tensor<9xi32>'}}
  %0 = tsp.attention %x, %wq, %wk, %wv, %wo positions(%i : tensor<9xi32>) over "t" {heads = 6 : i64, kv_heads = 3 : i64, causal}
      : (tensor<1x8x16xf32>, tensor<16x24xf32>, tensor<16x12xf32>, tensor<16x12xf32>, tensor<24x16xf32>) -> tensor<1x8x16xf32>
  return
}

// -----

func.func @attention_c5(%x: tensor<1x8x16xf32>, %wq: tensor<16x24xf32>, %wk: tensor<16x12xf32>, %wv: tensor<16x12xf32>, %wo: tensor<24x16xf32>, %m: tensor<1x3x8x8xi1>) {
  // expected-error@+1 {{'tsp.attention' op (attention_c5) expected mask of i1 [1|1,6|1,8|1,8], found 'tensor<1x3x8x8xi1>'}}
  %0 = tsp.attention %x, %wq, %wk, %wv, %wo mask(%m : tensor<1x3x8x8xi1>) over "t" {heads = 6 : i64, kv_heads = 3 : i64}
      : (tensor<1x8x16xf32>, tensor<16x24xf32>, tensor<16x12xf32>, tensor<16x12xf32>, tensor<24x16xf32>) -> tensor<1x8x16xf32>
  return
}

// -----

func.func @gated_mlp_c1_tokens(%x: tensor<8x16xf32>, %wg: tensor<16x44xf32>, %wd: tensor<44x16xf32>) {
  // expected-error@+1 {{'tsp.gated_mlp' op (gated_mlp_c1) expected x [B,S,h] of floats, found 'tensor<8x16xf32>'}}
  %0 = tsp.gated_mlp %x, %wg, %wg, %wd over "t" : (tensor<8x16xf32>, tensor<16x44xf32>, tensor<16x44xf32>, tensor<44x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @gated_mlp_c1_weights(%x: tensor<1x8x16xf32>, %wg: tensor<16x44xf32>, %wd: tensor<40x16xf32>) {
  // expected-error@+1 {{'tsp.gated_mlp' op (gated_mlp_c1) expected wg and wu [h,f], wd [f,o] and y [B,S,o] of one type for x 'tensor<1x8x16xf32>', found 'tensor<16x44xf32>', 'tensor<16x44xf32>', 'tensor<40x16xf32>' and 'tensor<1x8x16xf32>'}}
  %0 = tsp.gated_mlp %x, %wg, %wg, %wd over "t" : (tensor<1x8x16xf32>, tensor<16x44xf32>, tensor<16x44xf32>, tensor<40x16xf32>) -> tensor<1x8x16xf32>
  return
}
