// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C = A * B on the tensor cores of sm_90a, without tensor maps: tiles of 128 x
// 128 x 64 come through cp.async into three buffers of shared memory with a
// swizzle of 128 bytes. Two warpgroups have 64 rows each. A is row-major; B is
// row-major (rows of k: "trans") or column-major (columns along k). M and N are
// multiples of 128, K of 64. And a ring that one thread of a warpgroup releases
// for all of it.

#include <cstdint>

#include "shared.cuh"

constexpr int tile = 128, depth = 64, stages = 3, rowsOfGroup = 64;
constexpr int bytesOfTile = tile * depth * 2;

// Lines of 128 bytes: 64 of k of a row, or 64 columns of one k.
__device__ uint32_t swizzled(uint32_t line, uint32_t piece) {
  return line * 128 + (piece ^ line % 8) * 16;
}

__device__ void copy16(uint32_t to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to),
               "l"(from));
}

__device__ uint64_t descriptor(uint32_t address, uint32_t leading,
                               uint32_t stride) {
  auto encoded = [](uint32_t x) { return uint64_t((x & 0x3ffff) >> 4); };
  return encoded(address) | encoded(leading) << 16 | encoded(stride) << 32 |
         uint64_t(1) << 62;
}

#define SUMS8(d, i)                                                            \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]),  \
      "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define SUMS64(d)                                                              \
  SUMS8(d, 0), SUMS8(d, 8), SUMS8(d, 16), SUMS8(d, 24), SUMS8(d, 32),          \
      SUMS8(d, 40), SUMS8(d, 48), SUMS8(d, 56)
#define NAMES64                                                                \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%"   \
  "20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"                            \
  "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%"  \
  "50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,"                            \
  "%62,%63}"

template <bool isTransposed>
__device__ void multiply(float (&d)[64], uint64_t a, uint64_t b,
                         int accumulates) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " NAMES64
               ", %64, %65, p, 1, 1, 0, %67;\n}"
               : SUMS64(d)
               : "l"(a), "l"(b), "r"(accumulates), "n"(int(isTransposed)));
}

// A in registers, as ldmatrix gives it.
template <bool isTransposed>
__device__ void multiply(float (&d)[64], const uint32_t (&a)[4], uint64_t b,
                         int accumulates) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " NAMES64
               ", {%64,%65,%66,%67}, %68, p, 1, 1, %70;\n}"
               : SUMS64(d)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),
                 "r"(accumulates), "n"(int(isTransposed)));
}

__device__ void beginProducts() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ void commitProducts() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int pending> __device__ void waitForProducts(float (&d)[64]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
  // What follows uses the sums as they are now.
#pragma unroll
  for (int i = 0; i < 64; ++i)
    asm volatile("" : "+f"(d[i])::"memory");
}

template <bool isTransposed, bool fromRegisters>
__device__ void gemm(const uint16_t *a, const uint16_t *b, float *c, int m,
                     int n, int k) {
  extern __shared__ __align__(1024) char memory[];
  int thread = threadIdx.x, lane = thread % 32, warp = thread / 32,
      group = warp / 4;
  int rowOfBlock = blockIdx.y * tile, columnOfBlock = blockIdx.x * tile,
      steps = k / depth;
  uint32_t tilesOfA = sharedAddress(memory),
           tilesOfB = tilesOfA + stages * bytesOfTile;
  float sums[64];

  auto fetch = [&](int step) {
    if (step < steps) {
      int buffer = step % stages;
      for (int i = thread; i < tile * 8; i += blockDim.x) {
        int line = i / 8, piece = i % 8;
        copy16(tilesOfA + buffer * bytesOfTile + swizzled(line, piece),
               a + size_t(rowOfBlock + line) * k + step * depth + piece * 8);
        // Transposed: 64 columns each of two tiles.
        const uint16_t *from =
            isTransposed ? b + size_t(step * depth + line % depth) * n +
                               columnOfBlock + line / depth * 64 + piece * 8
                         : b + size_t(columnOfBlock + line) * k + step * depth +
                               piece * 8;
        copy16(tilesOfB + buffer * bytesOfTile + swizzled(line, piece), from);
      }
    }
    asm volatile("cp.async.commit_group;");
  };
  for (int step = 0; step < stages - 1; ++step)
    fetch(step);
  for (int step = 0; step < steps; ++step) {
    asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    uint32_t tileOfA =
        tilesOfA + step % stages * bytesOfTile + group * rowsOfGroup * 128;
    uint32_t tileOfB = tilesOfB + step % stages * bytesOfTile;
    uint32_t fragments[4][4];
    if (fromRegisters)
      for (int i = 0; i < 4; ++i) {
        uint32_t row = warp % 4 * 16 + lane % 16;
        asm volatile(
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
            : "=r"(fragments[i][0]), "=r"(fragments[i][1]),
              "=r"(fragments[i][2]), "=r"(fragments[i][3])
            : "r"(tileOfA + swizzled(row, 2 * i + lane / 16)));
      }
    beginProducts();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      uint64_t ofB = isTransposed
                         ? descriptor(tileOfB + i * 2048, depth * 128, 1024)
                         : descriptor(tileOfB + i * 32, 16, 1024);
      int accumulates = step > 0 || i > 0;
      if (fromRegisters)
        multiply<isTransposed>(sums, fragments[i], ofB, accumulates);
      else
        multiply<isTransposed>(sums, descriptor(tileOfA + i * 32, 16, 1024),
                               ofB, accumulates);
    }
    commitProducts();
    waitForProducts<0>(sums);
    __syncthreads();
    fetch(step + stages - 1);
  }
  for (int j = 0; j < 16; ++j)
    for (int upper = 0; upper < 2; ++upper) {
      int row = rowOfBlock + group * rowsOfGroup + warp % 4 * 16 + lane / 4 +
                8 * upper;
      int column = columnOfBlock + j * 8 + lane % 4 * 2;
      *reinterpret_cast<float2 *>(c + size_t(row) * n + column) = {
          sums[4 * j + 2 * upper], sums[4 * j + 2 * upper + 1]};
    }
}

#define GEMM(name, isTransposed, fromRegisters)                                \
  extern "C" __global__ void __launch_bounds__(256) name(                      \
      const uint16_t *a, const uint16_t *b, float *c, int m, int n, int k) {   \
    gemm<isTransposed, fromRegisters>(a, b, c, m, n, k);                       \
  }
GEMM(wgmma_kk, false, false)
GEMM(wgmma_kn, true, false)
GEMM(wgmma_registers, false, true)

// Sums the products of `tiles` of A, 64 x 16, and of B, 16 x 8, which lie in
// memory as they come to the one buffer: pieces of 8 x 8 elements. The products
// of a group are those of all four warps: when one of them has waited for it,
// it may give the buffer back. `isEarly`: it does not wait.
extern "C" __global__ void __launch_bounds__(160)
    wgmma_release(const char *tiles, float *sums, int count, int isEarly) {
  constexpr int bytesOfA = 64 * 16 * 2, bytes = bytesOfA + 16 * 8 * 2;
  __shared__ __align__(128) char buffer[bytes];
  __shared__ uint64_t full, empty;
  if (threadIdx.x == 0) {
    init(&full, 1);
    init(&empty, 1);
    fenceBarrierInit();
  }
  __syncthreads();
  uint32_t to = sharedAddress(buffer);
  if (threadIdx.x >= 128) {
    for (int i = 0; i < count && threadIdx.x == 128; ++i) {
      wait(&empty, (i + 1) % 2);
      expectBytes(&full, bytes);
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
                   "bytes [%0], [%1], %2, [%3];" ::"r"(to),
                   "l"(tiles + i * bytes), "r"(bytes), "r"(sharedAddress(&full))
                   : "memory");
    }
    return;
  }
  // Without a swizzle.
  uint64_t ofA = descriptor(to, 1024, 128) & ~(3ull << 62),
           ofB = descriptor(to + bytesOfA, 128, 128) & ~(3ull << 62);
  float d[4];
  auto release = [&] {
    if (threadIdx.x == 0)
      arrive(&empty);
  };
  for (int i = 0; i < count; ++i) {
    wait(&full, i % 2);
    beginProducts();
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3}, "
        "%4, %5, p, 1, 1, 0, 0;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "l"(ofA), "l"(ofB), "r"(i));
    commitProducts();
    if (isEarly)
      release();
    asm volatile("wgmma.wait_group.sync.aligned 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
    if (!isEarly)
      release();
  }
  reinterpret_cast<float4 *>(sums)[threadIdx.x] = {d[0], d[1], d[2], d[3]};
}
