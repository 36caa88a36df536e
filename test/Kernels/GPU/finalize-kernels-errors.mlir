// RUN: tsp-opt %s --tsp-gpu-finalize-kernels=architectures=sm_80,sm_86 --split-input-file --verify-diagnostics

func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {tsp.kernel, tsp.tied = array<i64: -1>} {
  // expected-error@+1 {{the cuda target has no kernel for 'stablehlo.negate' on 'tensor<4xf32>'; compile for --target=host, or write it with other ops}}
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

gpu.module @tsp_device {
  // expected-error@+1 {{'gpu.func' op has 65536 bytes of static shared memory, more than 49152; use gpu.dynamic_shared_memory}}
  gpu.func @k(%x: memref<4xf32>)
      workgroup(%s : memref<16384xf32, #gpu.address_space<workgroup>>) kernel
      attributes {known_block_size = array<i32: 32, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @tsp_device {
  // expected-error@+1 {{'gpu.func' op has blocks of 2048 threads, more than 1024}}
  gpu.func @k(%x: memref<4xf32>) kernel
      attributes {known_block_size = array<i32: 1024, 2, 1>} {
    gpu.return
  }
}

// -----

gpu.module @tsp_device {
  gpu.func @k(%x: memref<4xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    gpu.return
  }
}
// expected-error@+1 {{kernel @k needs 131072 bytes of shared memory, but a block on sm_86 has at most 101376; kernels are shaped for the first architecture: give sm_86 first, or compile for it alone}}
func.func private @k(memref<4xf32>)
  attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 131072 : i64,
              tsp.device_workspace = 0 : i64}

// -----

// A variant has the memory of its architecture alone.
gpu.module @tsp_device {
  gpu.func @k_sm_86(%x: memref<4xf32>) kernel attributes {
      known_block_size = array<i32: 32, 1, 1>, tsp.device_architecture = "sm_86"} {
    gpu.return
  }
}
// expected-error@+1 {{kernel @k_sm_86 needs 131072 bytes of shared memory, but a block on sm_86 has at most 101376}}
func.func private @k_sm_86(memref<4xf32>)
  attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.device_grid = array<i64: 1, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 131072 : i64,
              tsp.device_workspace = 0 : i64, tsp.device_architecture = "sm_86"}

// -----

gpu.module @tsp_device {
  gpu.func @k(%x: memref<4xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    gpu.return
  }
}
// expected-error@+1 {{kernel @k has a grid of [3, 1, 1] blocks, which is not made of clusters of [2, 1, 1]}}
func.func private @k(memref<4xf32>)
  attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.device_grid = array<i64: 3, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 0 : i64,
              tsp.device_workspace = 0 : i64, tsp.device_cluster = array<i64: 2, 1, 1>}

// -----

gpu.module @tsp_device {
  gpu.func @k(%x: memref<4xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    gpu.return
  }
}
// expected-error@+1 {{kernel @k has clusters of 9 blocks, more than 8}}
func.func private @k(memref<4xf32>)
  attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.device_grid = array<i64: 9, 1, 1>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 0 : i64,
              tsp.device_workspace = 0 : i64, tsp.device_cluster = array<i64: 9, 1, 1>}

// -----

gpu.module @tsp_device {
  gpu.func @k(%x: memref<4xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    gpu.return
  }
}
// expected-error@+1 {{kernel @k has a grid of [4, 1, 65536] blocks, more than devices take, which is [2147483647, 65535, 65535]; divide the tensors into parts}}
func.func private @k(memref<4xf32>)
  attributes {tsp.kernel, tsp.tied = array<i64: -1>, tsp.device_grid = array<i64: 4, 1, 65536>,
              tsp.device_block = array<i64: 32, 1, 1>, tsp.device_shared = 0 : i64,
              tsp.device_workspace = 0 : i64}
