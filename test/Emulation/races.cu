// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks that use the same global memory: with `fault` 0 rightly, with another
// number in a way that the hardware's order of blocks may make wrong.
#include <cooperative_groups.h>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

// Each block writes its part and reads it again; a wrong one reads another's.
extern "C" __global__ void parts(int *x, int *y, int fault) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  x[i] = i;
  y[i] = x[fault == 1 ? (i + blockDim.x) % n : i];
  if (fault == 2 && blockIdx.x == 1)
    x[threadIdx.x] = 7;
}

// Bytes that lie side by side are not the same bytes.
extern "C" __global__ void bytes(char *x, int fault) {
  unsigned i = threadIdx.x * gridDim.x + blockIdx.x;
  x[i] = char(i);
  if (fault && threadIdx.x == 5 && blockIdx.x == 1)
    x[i + 1] = 1;
}

// Sums of parts of a row; the last block to come adds them up.
extern "C" __global__ void split_sum(const int *x, int *partial, unsigned *count, int *sum, int fault) {
  __shared__ int total;
  __shared__ bool isLast;
  if (threadIdx.x == 0)
    total = 0;
  __syncthreads();
  atomicAdd(&total, x[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = total;
    if (fault != 1)
      __threadfence();
    isLast = fault == 2 || atomicAdd(count, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!isLast || threadIdx.x)
    return;
  int result = 0;
  for (unsigned i = 0; i < gridDim.x; ++i)
    result += partial[i];
  *sum = result;
}

// Each block waits for the one before it.
extern "C" __global__ void chain(int *sums, volatile int *flags, int fault) {
  if (threadIdx.x)
    return;
  int before = 0;
  if (blockIdx.x) {
    while (fault != 1 && !flags[blockIdx.x - 1]) {
    }
    before = sums[blockIdx.x - 1];
  }
  sums[blockIdx.x] = before + blockIdx.x;
  if (fault != 2)
    __threadfence();
  flags[blockIdx.x] = 1;
}

extern "C" __global__ void counts(const int *x, int *bins, int *all, int fault) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (fault == 1 && threadIdx.x == 0)
    ++bins[x[i]];
  else
    atomicAdd(&bins[x[i]], 1);
  if (fault == 2 && threadIdx.x == 0)
    all[blockIdx.x] = bins[0];
}

// Halves of a grid that exchange what they wrote.
extern "C" __global__ void grid(int *x, int *y, int fault) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  x[i] = i;
  if (fault == 0)
    cg::this_grid().sync();
  y[i] = x[n - 1 - i];
}

// What one block writes another copies to its shared memory.
extern "C" __global__ void copy(int4 *x, int4 *y, int fault) {
  __shared__ int4 tile[32];
  unsigned i = blockIdx.x * 32 + threadIdx.x;
  x[i] = make_int4(i, i, i, i);
  __pipeline_memcpy_async(&tile[threadIdx.x], &x[fault ? i ^ 32 : i], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  y[i] = tile[threadIdx.x];
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void cluster(int *x, int *y, int fault) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = i;
  if (fault == 0)
    cg::this_cluster().sync();
  y[i] = x[i ^ blockDim.x];
}

// Tiles of two blocks' results, one of which may be the other's.
extern "C" __global__ void bulk(int *x, int fault) {
  __shared__ alignas(128) int tile[64];
  tile[threadIdx.x] = threadIdx.x;
  asm volatile("fence.proxy.async.shared::cta;");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(x + (fault ? 0 : 64 * blockIdx.x)),
                 "r"(unsigned(__cvta_generic_to_shared(tile)))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
}
#endif
