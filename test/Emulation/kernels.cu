// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that a test of the emulation compiles with nvcc: code that this
// project's compiler did not make.

#include <cstdint>

extern "C" __global__ void vector_add(const float *a, const float *b, float *c,
                                      int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

extern "C" __global__ void reduce(const float *x, float *sums, int n) {
  __shared__ float partial[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    sum += x[i];
  for (int distance = 16; distance; distance /= 2)
    sum += __shfl_down_sync(~0u, sum, distance);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32)
    return;
  sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
  for (int distance = 16; distance; distance /= 2)
    sum += __shfl_xor_sync(~0u, sum, distance);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = sum;
}

extern "C" __global__ void tree_reduce(const float *x, float *sums) {
  extern __shared__ float values[];
  values[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  for (int half = blockDim.x / 2; half; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      values[threadIdx.x] += values[threadIdx.x + half];
  }
  if (threadIdx.x == 0)
    sums[blockIdx.x] = values[0];
}

extern "C" __global__ void tiled_matmul(const float *a, const float *b,
                                        float *c, int m, int n, int k) {
  __shared__ float as[16][17], bs[16][17];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int start = 0; start < k; start += 16) {
    int inA = start + threadIdx.x, inB = start + threadIdx.y;
    as[threadIdx.y][threadIdx.x] = row < m && inA < k ? a[row * k + inA] : 0;
    bs[threadIdx.y][threadIdx.x] = inB < k && column < n ? b[inB * n + column] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i)
      sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n)
    c[row * n + column] = sum;
}

extern "C" __global__ void histogram(const int *x, int *counts, int *largest,
                                     unsigned long long *sum, int n) {
  __shared__ int local[64];
  for (int i = threadIdx.x; i < 64; i += blockDim.x)
    local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x) {
    atomicAdd(&local[x[i] & 63], 1);
    atomicMax(largest, x[i]);
    atomicAdd(sum, static_cast<unsigned long long>(x[i]));
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 64; i += blockDim.x)
    atomicAdd(&counts[i], local[i]);
}

/// A lock by compare-and-swap in each thread's own turn, and wrapping counters.
extern "C" __global__ void exchange(unsigned *slots, unsigned *wrapped,
                                    float *total) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned old = slots[i % 7], seen;
  do {
    seen = old;
    old = atomicCAS(&slots[i % 7], seen, seen * 3 + 1);
  } while (old != seen);
  atomicInc(wrapped, 12);
  atomicExch(&slots[8 + i % 4], 42);
  atomicAdd(total, 0.5f);
}

/// Nested loops that lanes leave at different times, in every way there is.
extern "C" __global__ void nested(const int *x, int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int v = x[i], sum = 0;
  for (int j = 0; j < 10; ++j) {
    if ((v >> j) & 1)
      continue;
    int w = v + j;
    while (true) {
      sum += w & 3;
      if (w % 7 == 3)
        break;
      if (w % 11 == 5) {
        sum ^= 0x55;
        goto next;
      }
      if (w > 4000) {
        y[i] = -sum;
        return;
      }
      w += 1 + (w & 1);
      do {
        sum += 2;
        if (sum % 5 == 0)
          break;
      } while (sum % 3);
    }
    sum += j;
  next:;
    if (sum > 300)
      break;
  }
  y[i] = sum;
}

extern "C" __global__ void choose(const int *x, int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int v = x[i], r;
  switch (v % 13) {
  case 0: r = v * 3; break;
  case 1: r = v ^ 77; break;
  case 2: r = v - 9; // falls through
  case 3: r = v / 5; break;
  case 4: r = v % 17; break;
  case 5: r = -v; break;
  case 6: r = v << 3; break;
  case 7: r = v >> 2; break;
  case 8: r = v | 1024; break;
  case 9: r = v & 127; break;
  case 10: r = ~v; break;
  default: r = 4242;
  }
  y[i] = r;
}

/// Votes and the like, whole and by parts of a warp.
extern "C" __global__ void votes(const int *x, unsigned *y) {
  int i = threadIdx.x, v = x[i];
  unsigned *out = y + i * 8;
  out[0] = __ballot_sync(~0u, v & 1);
  out[1] = __any_sync(~0u, v == 7) + 2 * __all_sync(~0u, v >= 0);
  out[2] = __match_any_sync(~0u, v & 3);
  out[3] = __reduce_add_sync(~0u, v);
  out[4] = __reduce_max_sync(~0u, v);
  if (i < 12)
    out[5] = __ballot_sync(0xfffu, v & 2) + __popc(__activemask());
  else
    out[5] = __shfl_sync(0xfffff000u, v, 20);
  out[6] = __shfl_up_sync(~0u, v, 3, 8);
  out[7] = __syncthreads_count(v & 1) + 100 * __syncthreads_or(v == 5) +
           1000 * __syncthreads_and(v >= 0);
}

__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

extern "C" __global__ void recursive(const int *x, int *y) {
  y[threadIdx.x] = fibonacci(x[threadIdx.x]);
}

/// An array that is indexed by data lives in local memory.
extern "C" __global__ void local_array(const int *x, int *y, int n) {
  int values[24];
  for (int i = 0; i < 24; ++i)
    values[i] = x[threadIdx.x] * i;
  for (int i = 0; i < n; ++i) {
    int from = (values[i % 24] + i) & 15;
    values[from] += values[(from + threadIdx.x) % 24];
  }
  int sum = 0;
  for (int i = 0; i < 24; ++i)
    sum += values[i] ^ i;
  y[threadIdx.x] = sum;
}

__constant__ float weights[8] = {1, -2, 3, -4, 5, -6, 7, -8};
__device__ float table[4] = {0.5f, 0.25f, 2.0f, 4.0f};

extern "C" __global__ void variables(float *y) {
  y[threadIdx.x] = weights[threadIdx.x % 8] * table[threadIdx.x % 4];
}

/// The maths of <cmath>, most of it code that nvcc brings along.
extern "C" __global__ void maths(const float *x, float *y, const double *xd,
                                 double *yd, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n)
    return;
  float v = x[i];
  float *out = y + i * 16;
  out[0] = expf(v);
  out[1] = logf(fabsf(v));
  out[2] = sinf(v * 100);
  out[3] = cosf(v);
  out[4] = tanhf(v);
  out[5] = erff(v);
  out[6] = powf(fabsf(v), 1.7f);
  out[7] = rsqrtf(fabsf(v));
  out[8] = v / 3.3f;
  out[9] = sqrtf(fabsf(v));
  out[10] = fmodf(v, 0.7f);
  out[11] = rintf(v * 10);
  out[12] = __expf(v);
  out[13] = atan2f(v, 2.0f);
  out[14] = float(int(v * 1000) / 7) + float(static_cast<long long>(v * 1e6f) % 1001);
  out[15] = sinf(v * 1e6f);
  yd[i * 4] = exp(xd[i]);
  yd[i * 4 + 1] = sin(xd[i]) / xd[i];
  yd[i * 4 + 2] = sqrt(fabs(xd[i]));
  yd[i * 4 + 3] = xd[i] * xd[i] + 1.0 / xd[i];
}

/// The lanes of a warp exchange values through shared memory.
extern "C" __global__ void swap_lanes(const int *x, int *y) {
  __shared__ int values[64];
  values[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  y[threadIdx.x] = values[threadIdx.x ^ 1];
}

/// Only the threads below a limit wait.
extern "C" __global__ void wait_below(int *y, int limit) {
  if (threadIdx.x < limit)
    __syncthreads();
  y[threadIdx.x] = 1;
}

/// Four floats at once, from any float on.
extern "C" __global__ void load_four(const float *x, float *y, int first) {
  float4 v = *reinterpret_cast<const float4 *>(x + first);
  y[threadIdx.x] = v.x + v.w;
}

/// Every step-th float.
extern "C" __global__ void strided(const float *x, float *y, int step) {
  y[threadIdx.x] = x[threadIdx.x * step];
}

/// A lock that the lanes of a warp take one after the other: one that has it must
/// get on while the others spin.
extern "C" __global__ void spin_lock(int *lock, volatile int *count) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  *count = *count + 1;
  __threadfence();
  atomicExch(lock, 0);
}
