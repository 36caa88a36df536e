// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C = A * B on tensor cores: tiles of 128 x 128 x 32 come through cp.async into
// three buffers of shared memory, fragments through ldmatrix. M and N are
// multiples of 128, K of 32. A and B are row-major.

#include <cstdint>

#include "shared.cuh"

constexpr int tile = 128, depth = 32, stages = 3, pad = 8;
constexpr int aPitch = depth + pad, bPitch = tile + pad;

struct Buffers {
  uint16_t a[stages][tile][aPitch];
  uint16_t b[stages][depth][bPitch];
};

__device__ void copy16(void *to, const void *from) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(sharedAddress(to)),
      "l"(from));
}

template <bool isBFloat>
__device__ void multiply(float (&c)[4], const uint32_t (&a)[4],
                         const uint32_t *b) {
  if (isBFloat)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
        "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

template <bool isBFloat>
__device__ void gemm(const uint16_t *a, const uint16_t *b, float *c, int m,
                     int n, int k) {
  extern __shared__ __align__(16) char memory[];
  Buffers &buffers = *reinterpret_cast<Buffers *>(memory);
  int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  int rowOfBlock = blockIdx.y * tile, columnOfBlock = blockIdx.x * tile;
  int rowOfWarp = warp / 2 * 64, columnOfWarp = warp % 2 * 64;
  int steps = k / depth;
  float sums[4][8][4] = {};

  auto fetch = [&](int step) {
    if (step < steps) {
      int buffer = step % stages;
      for (int i = thread; i < tile * depth / 8; i += blockDim.x) {
        int row = i / (depth / 8), column = i % (depth / 8) * 8;
        copy16(&buffers.a[buffer][row][column],
               a + size_t(rowOfBlock + row) * k + step * depth + column);
      }
      for (int i = thread; i < depth * tile / 8; i += blockDim.x) {
        int row = i / (tile / 8), column = i % (tile / 8) * 8;
        copy16(&buffers.b[buffer][row][column],
               b + size_t(step * depth + row) * n + columnOfBlock + column);
      }
    }
    asm volatile("cp.async.commit_group;");
  };
  for (int step = 0; step < stages - 1; ++step)
    fetch(step);
  for (int step = 0; step < steps; ++step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2));
    __syncthreads();
    fetch(step + stages - 1);
    int buffer = step % stages;
    for (int kk = 0; kk < depth; kk += 16) {
      uint32_t af[4][4], bf[8][2];
      for (int i = 0; i < 4; ++i)
        asm volatile(
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
            : "=r"(af[i][0]), "=r"(af[i][1]), "=r"(af[i][2]), "=r"(af[i][3])
            : "r"(sharedAddress(
                &buffers.a[buffer][rowOfWarp + i * 16 +
                                   lane % 16][kk + lane / 16 * 8])));
      for (int j = 0; j < 8; j += 2)
        asm volatile(
            "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
            "{%0,%1,%2,%3}, [%4];"
            : "=r"(bf[j][0]), "=r"(bf[j][1]), "=r"(bf[j + 1][0]),
              "=r"(bf[j + 1][1])
            : "r"(sharedAddress(
                &buffers.b[buffer][kk + lane % 16][columnOfWarp + j * 8 +
                                                   lane / 16 * 8])));
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 8; ++j)
          multiply<isBFloat>(sums[i][j], af[i], bf[j]);
    }
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j) {
      int row = rowOfBlock + rowOfWarp + i * 16 + lane / 4;
      int column = columnOfBlock + columnOfWarp + j * 8 + lane % 4 * 2;
      float *to = c + size_t(row) * n + column;
      *reinterpret_cast<float2 *>(to) = {sums[i][j][0], sums[i][j][1]};
      *reinterpret_cast<float2 *>(to + 8 * size_t(n)) = {sums[i][j][2],
                                                         sums[i][j][3]};
    }
}

extern "C" __global__ void __launch_bounds__(128)
    gemm_bf16(const uint16_t *a, const uint16_t *b, float *c, int m, int n,
              int k) {
  gemm<true>(a, b, c, m, n, k);
}

extern "C" __global__ void __launch_bounds__(128)
    gemm_f16(const uint16_t *a, const uint16_t *b, float *c, int m, int n,
             int k) {
  gemm<false>(a, b, c, m, n, k);
}
