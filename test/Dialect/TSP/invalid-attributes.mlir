// RUN: tsp-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{(mesh_c1) expected a size for each of 2 mesh axes, found 1}}
module attributes {tsp.mesh = #tsp.mesh<["d", "t"] sizes [2]>} {}

// -----

// expected-error@+1 {{(mesh_c1) expected mesh axis "t" to have a size of at least 1, found 0}}
module attributes {tsp.mesh = #tsp.mesh<["t"] sizes [0]>} {}

// -----

// expected-error@+1 {{(mesh_c2) mesh axis "t" is given twice}}
module attributes {tsp.mesh = #tsp.mesh<["t", "t"] sizes [2, 2]>} {}

// -----

// expected-error@+1 {{(dim_c1) axis "t" is given twice}}
module attributes {a = #tsp.dim<["t", "t"]>} {}

// -----

// expected-error@+1 {{(dim_c1) expected a unit of at least 1, found 0}}
module attributes {a = #tsp.dim<["t"], unit = 0>} {}

// -----

// expected-error@+1 {{(dim_c2) expected steps of a fold, found 0}}
module attributes {a = #tsp.dim<[], fold = "t">} {}

// -----

// expected-error@+1 {{(dim_c2) expected no steps without a fold, found 2}}
module attributes {a = #tsp.dim<[], steps = 2>} {}

// -----

// expected-error@+1 {{expected unit, layout, blocks, fold or steps, found 'chunk'}}
module attributes {a = #tsp.dim<[], chunk = 2>} {}

// -----

// expected-error@+1 {{(placement_c1) axis "t" is used twice}}
module attributes {a = #tsp.placement<[#tsp.dim<["t"]>, #tsp.dim<["t"]>]>} {}

// -----

func.func @place_c1(%x: tensor<8x6xf32>) {
  // expected-error@+1 {{'tsp.place' op (place_c1) expected a placement of 2 dims, found 1}}
  %0 = tsp.place %x in <[#tsp.dim<["t"]>]> : tensor<8x6xf32>
  return
}
// -----

// expected-error@+1 {{(codec_c1) expected a codec that this compiler expands, none; found fp8}}
module attributes {a = #tsp.codec<fp8>} {}
