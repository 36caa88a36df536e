// RUN: tsp-opt %s -split-input-file -verify-diagnostics

func.func @logsumexp_c1(%x: tensor<4x7xf32>) {
  // expected-error@+1 {{'tsp.logsumexp' op (logsumexp_c1) expected dim in [0, 2), found 2}}
  %y = tsp.logsumexp %x {dim = 2 : i64} : tensor<4x7xf32> -> tensor<4xf32>
  return
}

// -----

func.func @logsumexp_c2(%x: tensor<4x7xf32>) {
  // expected-error@+1 {{'tsp.logsumexp' op (logsumexp_c2) expected a result of type 'tensor<4xf32>', found 'tensor<7xf32>'}}
  %y = tsp.logsumexp %x {dim = 1 : i64} : tensor<4x7xf32> -> tensor<7xf32>
  return
}

// -----

func.func @logsumexp_c3(%x: tensor<4x7xbf16>) {
  // expected-error@+1 {{'tsp.logsumexp' op (logsumexp_c3) expected elements of f32 or f64, found 'bf16'}}
  %y = tsp.logsumexp %x {dim = 1 : i64} : tensor<4x7xbf16> -> tensor<4xbf16>
  return
}
