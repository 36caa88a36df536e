// RUN: tsp-opt %s -split-input-file -verify-diagnostics

func.func @buffer_copy_c1(%a: memref<4xf32>, %b: memref<6xf32>) {
  // expected-error@+1 {{'tsp.buffer.copy' op (buffer_copy_c1) expected buffers of equal element type and count, found 'memref<4xf32>' and 'memref<6xf32>'}}
  tsp.buffer.copy %a to %b : memref<4xf32>, memref<6xf32>
  return
}

// -----

func.func @buffer_transfer_c1_rank(%a: memref<4xf32>, %b: memref<2x4xf32>) {
  // expected-error@+1 {{'tsp.buffer.all_gather' op (buffer_transfer_c1) expected buffers of equal element type and number of dims, found 'memref<4xf32>' and 'memref<2x4xf32>'}}
  %0 = tsp.buffer.all_gather %a to %b {axis = "t", dim = 0 : i64, layout = #tsp.layout<contiguous>, total = 8 : i64, unit = 1 : i64} : memref<4xf32>, memref<2x4xf32>
  return
}

// -----

func.func @buffer_transfer_c1_type(%a: memref<4xf32>, %b: memref<4xbf16>) {
  // expected-error@+1 {{'tsp.buffer.send_recv' op (buffer_transfer_c1) expected buffers of equal element type and number of dims, found 'memref<4xf32>' and 'memref<4xbf16>'}}
  %0 = tsp.buffer.send_recv %a to %b {axis = "t", shift = 1 : i64} : memref<4xf32>, memref<4xbf16>
  return
}
