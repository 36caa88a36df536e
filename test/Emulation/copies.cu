// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels with the barriers and copies of sm_90a that a test of the emulation
// compiles with nvcc.

#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda_bf16.h>

#include <cstdint>
#include <cstdio>

#include "shared.cuh"

using Barrier = cuda::barrier<cuda::thread_scope_block>;
namespace ptx = cuda::ptx;

static __device__ bool electOne() {
  uint32_t elected;
  asm volatile("{\n"
               ".reg .pred p;\n"
               "elect.sync _|p, 0xffffffff;\n"
               "selp.u32 %0, 1, 0, p;\n"
               "}"
               : "=r"(elected));
  return elected;
}

static __device__ void loadTile(void *to, const CUtensorMap *map, int x, int y,
                                uint64_t *barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
      "complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(sharedAddress(to)),
      "l"(map), "r"(x), "r"(y), "r"(sharedAddress(barrier))
      : "memory");
}

// One box, as it lies in shared memory.
#define LOAD_BOX(RANK, COORDINATES, ...)                                       \
  extern "C" __global__ void load_box_##RANK(                                  \
      const __grid_constant__ CUtensorMap map, uint4 *result, int bytes,       \
      int x, int y, int z, int u, int v) {                                     \
    extern __shared__ __align__(1024) unsigned char tile[];                    \
    __shared__ uint64_t full;                                                  \
    if (threadIdx.x == 0) {                                                    \
      init(&full, 1);                                                          \
      fenceBarrierInit();                                                      \
      expectBytes(&full, bytes);                                               \
      asm volatile("cp.async.bulk.tensor." #RANK                               \
                   "d.shared::cluster.global.tile.mbarrier::complete_tx::"     \
                   "bytes [%0], [%1, {" COORDINATES                            \
                   "}], [%2];" ::"r"(sharedAddress(tile)),                     \
                   "l"(&map), "r"(sharedAddress(&full)), __VA_ARGS__           \
                   : "memory");                                                \
    }                                                                          \
    __syncthreads();                                                           \
    wait(&full, 0);                                                            \
    for (int i = threadIdx.x; i < bytes / 16; i += blockDim.x)                 \
      result[i] = reinterpret_cast<uint4 *>(tile)[i];                          \
  }
LOAD_BOX(1, "%3", "r"(x))
LOAD_BOX(2, "%3, %4", "r"(x), "r"(y))
LOAD_BOX(3, "%3, %4, %5", "r"(x), "r"(y), "r"(z))
LOAD_BOX(4, "%3, %4, %5, %6", "r"(x), "r"(y), "r"(z), "r"(u))
LOAD_BOX(5, "%3, %4, %5, %6, %7", "r"(x), "r"(y), "r"(z), "r"(u), "r"(v))

// What `seeded` does wrong.
enum Fault {
  NoWaitForFull = 1,
  NoWaitForEmpty,
  NoRelease,
  TooManyBytes,
  TooFewBytes,
  TwoArrivals,
  NoInit,
  NoFence,
  NoBlockBarrier,
  EarlyRelease,
  NoWarpBarrier,
};

// The last warp fetches tiles of 16 rows of 32 floats into a ring of stages;
// the others sum each column over all rows.
static __device__ void sumColumns(const CUtensorMap *map, float *sums,
                                  int tiles, int fault) {
  constexpr int stages = 3, rows = 16, columns = 32;
  __shared__ __align__(1024) float buffers[stages][rows][columns];
  __shared__ uint64_t full[stages], empty[stages];
  // The same in all lanes, as the compiler cannot know.
  int warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
  int consumers = blockDim.x / 32 - 1, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < stages; ++stage) {
      if (fault != NoInit)
        init(&full[stage], 1);
      init(&empty[stage], consumers);
    }
    if (fault != NoFence)
      fenceBarrierInit();
  }
  if (fault != NoBlockBarrier)
    __syncthreads();
  if (warp == consumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (electOne()) {
      for (int tile = 0; tile < tiles; ++tile) {
        int stage = tile % stages;
        if (fault != NoWaitForEmpty)
          wait(&empty[stage], (tile / stages + 1) % 2);
        expectBytes(&full[stage], sizeof(buffers[0]) +
                                      (fault == TooManyBytes ? 16 : 0) -
                                      (fault == TooFewBytes ? 16 : 0));
        if (fault == TwoArrivals)
          arrive(&full[stage]);
        loadTile(buffers[stage], map, blockIdx.x * columns, tile * rows,
                 &full[stage]);
      }
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  float sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    int stage = tile % stages;
    if (fault != NoWaitForFull)
      wait(&full[stage], tile / stages % 2);
    if (lane == 0 && fault == EarlyRelease)
      arrive(&empty[stage]);
    for (int row = warp; row < rows; row += consumers)
      sum += buffers[stage][row][lane];
    if (fault != NoWarpBarrier)
      __syncwarp();
    if (lane == 0 && fault != NoRelease && fault != EarlyRelease)
      arrive(&empty[stage]);
  }
  atomicAdd(&sums[blockIdx.x * columns + lane], sum);
}

extern "C" __global__ void ring(const __grid_constant__ CUtensorMap map,
                                float *sums, int tiles) {
  sumColumns(&map, sums, tiles, 0);
}

extern "C" __global__ void seeded(const __grid_constant__ CUtensorMap map,
                                  float *sums, int tiles, int fault) {
  sumColumns(&map, sums, tiles, fault);
}

// The barrier of libcu++: phases with tokens, one bulk copy, and lanes of one
// warp that wait for each other.
extern "C" __global__ void library_barrier(const int *x, int *y, int n) {
  __shared__ Barrier barrier, pairs;
  __shared__ alignas(16) int fetched[256], reversed[64];
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    init(&pairs, blockDim.x);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(fetched, x, cuda::aligned_size_t<16>(n * 4),
                                  barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, n * 4);
  } else {
    token = barrier.arrive();
  }
  barrier.wait(std::move(token));
  int sum = 0;
  for (int i = 0; i < n; ++i)
    sum += fetched[i] * (i + int(threadIdx.x));
  if (threadIdx.x % 2) {
    reversed[threadIdx.x] = sum;
    pairs.arrive_and_wait();
    sum += reversed[threadIdx.x - 1];
  } else {
    reversed[threadIdx.x] = sum;
    pairs.arrive_and_wait();
    sum -= reversed[threadIdx.x + 1];
  }
  y[threadIdx.x] = sum;
}

// Warp 0 hands over numbers through flags that it polls in shared memory.
extern "C" __global__ void flags(int *y, int n) {
  __shared__ volatile int flag;
  if (threadIdx.x == 0)
    flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < n; ++i) {
      while (flag != 2 * i + 1) {
      }
      y[i] = flag * 10;
      flag = 2 * i + 2;
    }
  } else if (threadIdx.x == 32) {
    for (int i = 0; i < n; ++i) {
      flag = 2 * i + 1;
      while (flag != 2 * i + 2) {
      }
    }
  }
}

static __device__ void fenceAsync() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// What `tile_store` does wrong.
enum StoreFault { NoProxyFence = 1, NoStoreWait, OverwriteEarly, NoBarrier };

// Each block fills a tile of 8 x 32 floats twice, stores the first to `map` and
// adds the second.
extern "C" __global__ void tile_store(const __grid_constant__ CUtensorMap map,
                                      int y, int fault) {
  __shared__ __align__(128) float tile[8][32];
  int x = blockIdx.x * 32;
  for (int round = 0; round < 2; ++round) {
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
      tile[i / 32][i % 32] = (x + i) * (round + 1);
    if (fault != NoProxyFence)
      fenceAsync();
    if (fault != NoBarrier)
      __syncthreads();
    if (threadIdx.x == 0) {
      if (round == 0)
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_"
                     "group [%0, {%1, %2}], [%3];" ::"l"(&map),
                     "r"(x), "r"(y), "r"(sharedAddress(tile))
                     : "memory");
      else
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add."
                     "tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
                     "r"(x), "r"(y), "r"(sharedAddress(tile))
                     : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      if (round == 0 && fault != OverwriteEarly)
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
      if (round == 1 && fault != NoStoreWait)
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    __syncthreads();
  }
}

// Makes a map of other rows of the same tensor from `map`, in shared memory,
// and copies it to `made`, by which the block loads a box.
extern "C" __global__ void replaced_map(const __grid_constant__ CUtensorMap map,
                                        CUtensorMap *made, const float *rows,
                                        int count, uint64_t stride,
                                        float4 *result) {
  __shared__ __align__(128) CUtensorMap shared;
  __shared__ __align__(128) float tile[8][32];
  __shared__ uint64_t full;
  uint32_t lane = threadIdx.x, to = sharedAddress(&shared);
  reinterpret_cast<uint32_t *>(&shared)[lane] =
      reinterpret_cast<const uint32_t *>(&map)[lane];
  __syncwarp();
  if (lane == 0) {
    init(&full, 1);
    fenceBarrierInit();
    asm volatile(
        "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], "
        "%1;\n"
        "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, "
        "%2;\n"
        "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 4, 1;\n"
        "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, "
        "%3;" ::"r"(to),
        "l"(rows), "r"(count), "l"(stride)
        : "memory");
  }
  __syncwarp();
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release."
      "gpu.sync.aligned [%0], [%1], 128;\n"
      "fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(made),
      "r"(to)
      : "memory");
  if (lane == 0) {
    expectBytes(&full, sizeof(tile));
    loadTile(tile, made, 0, 0, &full);
  }
  __syncwarp();
  wait(&full, 0);
  for (int i = lane; i < 64; i += 32)
    result[i] = reinterpret_cast<float4 *>(tile)[i];
}

// Plain bulk copies there and back, and reductions of four types.
extern "C" __global__ void bulk_sums(const int *x, int *copy, int *sums,
                                     uint64_t *largest, float *reals,
                                     __nv_bfloat16 *halves) {
  constexpr int n = 64;
  __shared__ __align__(16) int values[n];
  __shared__ __align__(16) uint64_t wide[n];
  __shared__ __align__(16) float real[n];
  __shared__ __align__(16) __nv_bfloat16 half[n];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) {
    init(&full, 1);
    fenceBarrierInit();
    ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, values,
                       x + blockIdx.x * n, sizeof(values), &full);
    expectBytes(&full, sizeof(values));
  }
  __syncthreads();
  wait(&full, 0);
  int i = threadIdx.x;
  wide[i] = static_cast<uint64_t>(values[i]) << 32;
  real[i] = values[i] * 0.5f;
  half[i] = __float2bfloat16(float(values[i]));
  fenceAsync();
  __syncthreads();
  if (threadIdx.x)
    return;
  ptx::cp_async_bulk(ptx::space_global, ptx::space_shared,
                     copy + blockIdx.x * n, values, sizeof(values));
  ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add,
                            sums, values, sizeof(values));
  ptx::cp_async_bulk_commit_group();
  ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_max,
                            largest, wide, sizeof(wide));
  ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add,
                            reals, real, sizeof(real));
  ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add,
                            halves, half, sizeof(half));
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group_read(ptx::n32_t<1>());
  ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

// A barrier that cp.async arrives at, with and without its own arrival counted.
extern "C" __global__ void async_arrive(const int *x, int *y) {
  __shared__ int values[128];
  __shared__ uint64_t counted, extra;
  if (threadIdx.x == 0) {
    init(&counted, blockDim.x);
    init(&extra, 1);
  }
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(
                   sharedAddress(&values[threadIdx.x])),
               "l"(x + threadIdx.x)
               : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(
                   sharedAddress(&counted))
               : "memory");
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(
                   sharedAddress(&values[64 + threadIdx.x])),
               "l"(x + 64 + threadIdx.x)
               : "memory");
  asm volatile(
      "cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(sharedAddress(&extra))
      : "memory");
  __syncthreads();
  if (threadIdx.x == 0)
    arrive(&extra);
  wait(&counted, 0);
  y[threadIdx.x] = values[63 - threadIdx.x];
  wait(&extra, 0);
  y[64 + threadIdx.x] = values[127 - threadIdx.x];
}

extern "C" __global__ void print(const char *name) {
  if (threadIdx.x % 2)
    printf("%s %d: %5.2f %lld %c%% %08x|\n", name, threadIdx.x,
           threadIdx.x * 0.25, -1ll - threadIdx.x, 'a' + threadIdx.x,
           0xabcu + threadIdx.x);
}
