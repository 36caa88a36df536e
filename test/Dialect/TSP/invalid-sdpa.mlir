// RUN: tsp-opt %s -split-input-file -verify-diagnostics

func.func @sdpa_c1(%q: tensor<2x5x5x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x7x3x8xf32>) {
  // expected-error@+1 {{'tsp.sdpa' op (sdpa_c1) expected key heads to divide the query heads, found 3 and 5}}
  %o, %lse = tsp.sdpa %q, %k, %v {scale = 1.0 : f64} : (tensor<2x5x5x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x8xf32>) -> (tensor<2x5x5x8xf32>, tensor<2x5x5xf32>)
  return
}

// -----

func.func @sdpa_c2_causal(%q: tensor<2x5x6x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x7x3x8xf32>) {
  // expected-error@+1 {{'tsp.sdpa' op (sdpa_c2) causal and window need positions, found none}}
  %o, %lse = tsp.sdpa %q, %k, %v {scale = 1.0 : f64, causal} : (tensor<2x5x6x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x8xf32>) -> (tensor<2x5x6x8xf32>, tensor<2x5x6xf32>)
  return
}

// -----

func.func @sdpa_c2_one_side(%q: tensor<2x5x6x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x7x3x8xf32>, %i: tensor<5xi32>) {
  // expected-error@+1 {{'tsp.sdpa' op (sdpa_c2) expected positions and segments of both sides}}
  %o, %lse = "tsp.sdpa"(%q, %k, %v, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 0, 0, 0>, scale = 1.0 : f64}> : (tensor<2x5x6x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x8xf32>, tensor<5xi32>) -> (tensor<2x5x6x8xf32>, tensor<2x5x6xf32>)
  return
}

// -----

func.func @sdpa_c3_rank(%q: tensor<2x5x6xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x7x3x8xf32>) {
  // expected-error@+1 {{'tsp.sdpa' op (sdpa_c3) expected q, k, v of rank 4 ([B,S,H,E]), found 'tensor<2x5x6xf32>', 'tensor<2x7x3x4xf32>', 'tensor<2x7x3x8xf32>'}}
  %o, %lse = tsp.sdpa %q, %k, %v {scale = 1.0 : f64} : (tensor<2x5x6xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x8xf32>) -> (tensor<2x5x6x8xf32>, tensor<2x5x6xf32>)
  return
}

// -----

func.func @sdpa_c3_shape(%q: tensor<2x5x6x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x6x3x8xf32>) {
  // expected-error@+1 {{'tsp.sdpa' op (sdpa_c3) expected q [B,Sq,Hq,E], k [B,Skv,Hkv,E], v [B,Skv,Hkv,Ev], found 'tensor<2x5x6x4xf32>', 'tensor<2x7x3x4xf32>', 'tensor<2x6x3x8xf32>'}}
  %o, %lse = tsp.sdpa %q, %k, %v {scale = 1.0 : f64} : (tensor<2x5x6x4xf32>, tensor<2x7x3x4xf32>, tensor<2x6x3x8xf32>) -> (tensor<2x5x6x8xf32>, tensor<2x5x6xf32>)
  return
}

// -----

func.func @sdpa_c3_type(%q: tensor<2x5x6x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x7x3x8xbf16>) {
  // expected-error@+1 {{'tsp.sdpa' op (sdpa_c3) expected q, k, v of one float type, found 'tensor<2x5x6x4xf32>', 'tensor<2x7x3x4xf32>', 'tensor<2x7x3x8xbf16>'}}
  %o, %lse = tsp.sdpa %q, %k, %v {scale = 1.0 : f64} : (tensor<2x5x6x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x8xbf16>) -> (tensor<2x5x6x8xf32>, tensor<2x5x6xf32>)
  return
}

// -----

func.func @sdpa_c4_shape(%q: tensor<2x5x6x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x7x3x8xf32>) {
  // expected-error@+1 {{'tsp.sdpa' op (sdpa_c4) expected results [B,Sq,Hq,Ev] and [B,Sq,Hq], found 'tensor<2x5x6x8xf32>' and 'tensor<2x6x5xf32>'}}
  %o, %lse = tsp.sdpa %q, %k, %v {scale = 1.0 : f64} : (tensor<2x5x6x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x8xf32>) -> (tensor<2x5x6x8xf32>, tensor<2x6x5xf32>)
  return
}

// -----

func.func @sdpa_c4_type(%q: tensor<2x5x6x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x7x3x8xf32>) {
  // expected-error@+1 {{'tsp.sdpa' op (sdpa_c4) expected o of floats and lse of 'f32', found 'tensor<2x5x6x8xf32>' and 'tensor<2x5x6xbf16>'}}
  %o, %lse = tsp.sdpa %q, %k, %v {scale = 1.0 : f64} : (tensor<2x5x6x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x8xf32>) -> (tensor<2x5x6x8xf32>, tensor<2x5x6xbf16>)
  return
}

// -----

func.func @sdpa_c5_bias(%q: tensor<2x5x6x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x7x3x8xf32>, %b: tensor<2x3x5x7xf32>) {
  // expected-error@+1 {{'tsp.sdpa' op (sdpa_c5) expected bias of shape [2|1,6|1,5|1,7], found 'tensor<2x3x5x7xf32>'}}
  %o, %lse = tsp.sdpa %q, %k, %v bias(%b : tensor<2x3x5x7xf32>) {scale = 1.0 : f64} : (tensor<2x5x6x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x8xf32>) -> (tensor<2x5x6x8xf32>, tensor<2x5x6xf32>)
  return
}

// -----

func.func @sdpa_c5_bias_type(%q: tensor<2x5x6x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x7x3x8xf32>, %b: tensor<2x6x5x7xi32>) {
  // expected-error@+1 {{'tsp.sdpa' op (sdpa_c5) expected bias of floats, found 'tensor<2x6x5x7xi32>'}}
  %o, %lse = tsp.sdpa %q, %k, %v bias(%b : tensor<2x6x5x7xi32>) {scale = 1.0 : f64} : (tensor<2x5x6x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x8xf32>) -> (tensor<2x5x6x8xf32>, tensor<2x5x6xf32>)
  return
}

// -----

func.func @sdpa_c5_mask(%q: tensor<2x5x6x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x7x3x8xf32>, %b: tensor<2x6x5x1xi1>) {
  // expected-error@+1 {{'tsp.sdpa' op (sdpa_c5) expected mask of shape [2|1,6|1,5|1,7], found 'tensor<2x6x5x1xi1>'}}
  %o, %lse = tsp.sdpa %q, %k, %v mask(%b : tensor<2x6x5x1xi1>) {scale = 1.0 : f64} : (tensor<2x5x6x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x8xf32>) -> (tensor<2x5x6x8xf32>, tensor<2x5x6xf32>)
  return
}

// -----

func.func @sdpa_c5_mask_type(%q: tensor<2x5x6x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x7x3x8xf32>, %b: tensor<1x1x1x7xf32>) {
  // expected-error@+1 {{'tsp.sdpa' op (sdpa_c5) expected mask of i1, found 'tensor<1x1x1x7xf32>'}}
  %o, %lse = tsp.sdpa %q, %k, %v mask(%b : tensor<1x1x1x7xf32>) {scale = 1.0 : f64} : (tensor<2x5x6x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x8xf32>) -> (tensor<2x5x6x8xf32>, tensor<2x5x6xf32>)
  return
}

// -----

func.func @sdpa_c6_positions(%q: tensor<2x5x6x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x7x3x8xf32>, %i: tensor<5xi32>) {
  // expected-error@+1 {{'tsp.sdpa' op (sdpa_c6) expected kv_positions to be integers [7] or [2,7], found 'tensor<5xi32>'}}
  %o, %lse = tsp.sdpa %q, %k, %v positions(%i, %i : tensor<5xi32>, tensor<5xi32>) {scale = 1.0 : f64} : (tensor<2x5x6x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x8xf32>) -> (tensor<2x5x6x8xf32>, tensor<2x5x6xf32>)
  return
}

// -----

func.func @sdpa_c6_segments(%q: tensor<2x5x6x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x7x3x8xf32>, %i: tensor<2x5xf32>, %j: tensor<7xi32>) {
  // expected-error@+1 {{'tsp.sdpa' op (sdpa_c6) expected q_segments to be integers [5] or [2,5], found 'tensor<2x5xf32>'}}
  %o, %lse = tsp.sdpa %q, %k, %v segments(%i, %j : tensor<2x5xf32>, tensor<7xi32>) {scale = 1.0 : f64} : (tensor<2x5x6x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x8xf32>) -> (tensor<2x5x6x8xf32>, tensor<2x5x6xf32>)
  return
}

// -----

func.func @sdpa_c7_window(%q: tensor<2x5x6x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x7x3x8xf32>, %i: tensor<5xi32>, %j: tensor<7xi32>) {
  // expected-error@+1 {{'tsp.sdpa' op (sdpa_c7) expected a window of at least 1, found 0}}
  %o, %lse = tsp.sdpa %q, %k, %v positions(%i, %j : tensor<5xi32>, tensor<7xi32>) {scale = 1.0 : f64, window = 0 : i64} : (tensor<2x5x6x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x8xf32>) -> (tensor<2x5x6x8xf32>, tensor<2x5x6xf32>)
  return
}

// -----

func.func @sdpa_c7_softcap(%q: tensor<2x5x6x4xf32>, %k: tensor<2x7x3x4xf32>, %v: tensor<2x7x3x8xf32>) {
  // expected-error@+1 {{'tsp.sdpa' op (sdpa_c7) expected a softcap over 0, found 0.000000e+00}}
  %o, %lse = tsp.sdpa %q, %k, %v {scale = 1.0 : f64, softcap = 0.0 : f64} : (tensor<2x5x6x4xf32>, tensor<2x7x3x4xf32>, tensor<2x7x3x8xf32>) -> (tensor<2x5x6x8xf32>, tensor<2x5x6xf32>)
  return
}
