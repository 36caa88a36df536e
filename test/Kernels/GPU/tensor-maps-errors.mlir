// What the driver would refuse at run time is refused here.
// RUN: tsp-opt %s --tsp-gpu-finalize-kernels --split-input-file --verify-diagnostics

gpu.module @tsp_device {}
// expected-error@+1 {{kernel @k, tensor map 0: it has no buffer of number 2}}
func.func private @k(memref<64x64xbf16>)
  attributes {tsp.kernel, tsp.tied = array<i64>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 0 : i64, tsp.device_workspace = 0 : i64,
              tsp.device_maps = [{buffer = 2 : i64, offset = 0 : i64, element = bf16,
                                  sizes = array<i64: 64, 64>, strides = array<i64: 128>,
                                  box = array<i64: 64, 32>, swizzle = 128 : i64}]}

// -----

gpu.module @tsp_device {}
// expected-error@+1 {{kernel @k, tensor map 0: its element type is none that the driver has}}
func.func private @k(memref<64x64xbf16>)
  attributes {tsp.kernel, tsp.tied = array<i64>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 0 : i64, tsp.device_workspace = 0 : i64,
              tsp.device_maps = [{buffer = 0 : i64, offset = 0 : i64, element = i1,
                                  sizes = array<i64: 64, 64>, strides = array<i64: 128>,
                                  box = array<i64: 64, 32>, swizzle = 128 : i64}]}

// -----

gpu.module @tsp_device {}
// expected-error@+1 {{kernel @k, tensor map 0: expected 1 to 5 sizes, as many box sizes, and a stride less}}
func.func private @k(memref<64x64xbf16>)
  attributes {tsp.kernel, tsp.tied = array<i64>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 0 : i64, tsp.device_workspace = 0 : i64,
              tsp.device_maps = [{buffer = 0 : i64, offset = 0 : i64, element = bf16,
                                  sizes = array<i64: 64, 64>, strides = array<i64>,
                                  box = array<i64: 64, 32>, swizzle = 128 : i64}]}

// -----

gpu.module @tsp_device {}
// expected-error@+1 {{kernel @k, tensor map 0: expected offset and strides that are multiples of 16 bytes}}
func.func private @k(memref<64x64xbf16>)
  attributes {tsp.kernel, tsp.tied = array<i64>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 0 : i64, tsp.device_workspace = 0 : i64,
              tsp.device_maps = [{buffer = 0 : i64, offset = 8 : i64, element = bf16,
                                  sizes = array<i64: 64, 64>, strides = array<i64: 128>,
                                  box = array<i64: 64, 32>, swizzle = 128 : i64}]}

// -----

gpu.module @tsp_device {}
// expected-error@+1 {{kernel @k, tensor map 0: expected offset and strides that are multiples of 16 bytes}}
func.func private @k(memref<64x64xbf16>)
  attributes {tsp.kernel, tsp.tied = array<i64>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 0 : i64, tsp.device_workspace = 0 : i64,
              tsp.device_maps = [{buffer = 0 : i64, offset = 0 : i64, element = bf16,
                                  sizes = array<i64: 64, 64>, strides = array<i64: 72>,
                                  box = array<i64: 64, 32>, swizzle = 128 : i64}]}

// -----

gpu.module @tsp_device {}
// expected-error@+1 {{kernel @k, tensor map 0: expected sizes from 1 to 2^32}}
func.func private @k(memref<64x64xbf16>)
  attributes {tsp.kernel, tsp.tied = array<i64>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 0 : i64, tsp.device_workspace = 0 : i64,
              tsp.device_maps = [{buffer = 0 : i64, offset = 0 : i64, element = bf16,
                                  sizes = array<i64: 64, 0>, strides = array<i64: 128>,
                                  box = array<i64: 64, 32>, swizzle = 128 : i64}]}

// -----

gpu.module @tsp_device {}
// expected-error@+1 {{kernel @k, tensor map 0: expected box sizes from 1 to 256}}
func.func private @k(memref<64x64xbf16>)
  attributes {tsp.kernel, tsp.tied = array<i64>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 0 : i64, tsp.device_workspace = 0 : i64,
              tsp.device_maps = [{buffer = 0 : i64, offset = 0 : i64, element = bf16,
                                  sizes = array<i64: 64, 64>, strides = array<i64: 128>,
                                  box = array<i64: 64, 257>, swizzle = 128 : i64}]}

// -----

gpu.module @tsp_device {}
// expected-error@+1 {{kernel @k, tensor map 0: expected lines of a box that are multiples of 16 bytes}}
func.func private @k(memref<64x64xbf16>)
  attributes {tsp.kernel, tsp.tied = array<i64>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 0 : i64, tsp.device_workspace = 0 : i64,
              tsp.device_maps = [{buffer = 0 : i64, offset = 0 : i64, element = bf16,
                                  sizes = array<i64: 64, 64>, strides = array<i64: 128>,
                                  box = array<i64: 20, 32>, swizzle = 128 : i64}]}

// -----

gpu.module @tsp_device {}
// expected-error@+1 {{kernel @k, tensor map 0: lines of a box have 128 bytes, more than the swizzle's 64}}
func.func private @k(memref<64x64xbf16>)
  attributes {tsp.kernel, tsp.tied = array<i64>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 0 : i64, tsp.device_workspace = 0 : i64,
              tsp.device_maps = [{buffer = 0 : i64, offset = 0 : i64, element = bf16,
                                  sizes = array<i64: 64, 64>, strides = array<i64: 128>,
                                  box = array<i64: 64, 32>, swizzle = 64 : i64}]}

// -----

gpu.module @tsp_device {}
// expected-error@+1 {{kernel @k, tensor map 0: expected a swizzle of 0, 32, 64 or 128 bytes}}
func.func private @k(memref<64x64xbf16>)
  attributes {tsp.kernel, tsp.tied = array<i64>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 0 : i64, tsp.device_workspace = 0 : i64,
              tsp.device_maps = [{buffer = 0 : i64, offset = 0 : i64, element = bf16,
                                  sizes = array<i64: 64, 64>, strides = array<i64: 128>,
                                  box = array<i64: 64, 32>, swizzle = 16 : i64}]}

// -----

gpu.module @tsp_device {}
// expected-error@+1 {{kernel @k, tensor map 0: it ends at byte 8208 of a buffer that has 8192}}
func.func private @k(memref<64x64xbf16>)
  attributes {tsp.kernel, tsp.tied = array<i64>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 0 : i64, tsp.device_workspace = 0 : i64,
              tsp.device_maps = [{buffer = 0 : i64, offset = 16 : i64, element = bf16,
                                  sizes = array<i64: 64, 64>, strides = array<i64: 128>,
                                  box = array<i64: 64, 32>, swizzle = 128 : i64}]}
