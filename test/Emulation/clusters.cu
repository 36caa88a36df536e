// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels with clusters and cooperative launches that a test of the emulation
// compiles with nvcc.

#include <cooperative_groups.h>
#include <cuda.h>

#include <cstdint>

#include "shared.cuh"

namespace cg = cooperative_groups;

// Every block adds what the others have, by loads and atomics that reach into
// their shared memory. `fault`: 1: no barrier before it; 2: none after it; 3: one
// before it whose arrival is relaxed; 4: that behind a fence, which is right.
extern "C" __global__ void all_to_all(const int *x, int *sums, int fault) {
  cg::cluster_group cluster = cg::this_cluster();
  __shared__ int mine[64];
  __shared__ int touched;
  int i = blockIdx.x * 64 + threadIdx.x;
  mine[threadIdx.x] = x[i];
  if (threadIdx.x == 0)
    touched = 0;
  if (fault == 4)
    __threadfence();
  if (fault >= 3)
    asm volatile("barrier.cluster.arrive.relaxed;\n"
                 "barrier.cluster.wait;" ::
                     : "memory");
  else if (fault != 1)
    cluster.sync();
  int sum = 0;
  for (int rank = 0; rank < int(cluster.num_blocks()); ++rank)
    sum += cluster.map_shared_rank(mine, rank)[63 - threadIdx.x];
  if (threadIdx.x == 0)
    atomicAdd(cluster.map_shared_rank(&touched, (cluster.block_rank() + 1) %
                                                    cluster.num_blocks()),
              int(cluster.block_rank()) + 1);
  if (fault != 2)
    cluster.sync();
  mine[threadIdx.x] = sum;
  __syncthreads();
  sums[i] = mine[threadIdx.x] + 1000 * touched;
}

// The first block fetches a tile for all blocks of its cluster; each waits for
// it, and tells the first by a remote arrival when it has read it.
extern "C" __global__ void multicast(const __grid_constant__ CUtensorMap map,
                                     float *results, int tiles) {
  constexpr int rows = 4, columns = 32;
  __shared__ __align__(128) float tile[rows][columns];
  __shared__ uint64_t full, empty;
  cg::cluster_group cluster = cg::this_cluster();
  uint32_t rank = cluster.block_rank(), blocks = cluster.num_blocks();
  if (threadIdx.x == 0) {
    init(&full, 1);
    init(&empty, blocks);
    fenceBarrierInit();
  }
  cluster.sync();
  for (int step = 0; step < tiles; ++step) {
    if (threadIdx.x == 0) {
      expectBytes(&full, sizeof(tile));
      if (rank == 0) {
        wait(&empty, (step + 1) % 2);
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_"
            "tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::
                "r"(sharedAddress(tile)),
            "l"(&map), "r"(0), "r"(step * rows), "r"(sharedAddress(&full)),
            "h"(uint16_t((1 << blocks) - 1))
            : "memory");
      }
    }
    __syncthreads();
    wait(&full, step % 2);
    for (int row = 0; row < rows; ++row)
      results[((step * rows + row) * gridDim.x + blockIdx.x) * columns +
              threadIdx.x] = tile[row][threadIdx.x] * (rank + 1);
    __syncthreads();
    if (threadIdx.x == 0)
      asm volatile("{\n"
                   ".reg .b32 remote;\n"
                   "mapa.shared::cluster.u32 remote, %0, 0;\n"
                   "mbarrier.arrive.release.cluster.shared::cluster.b64 _, "
                   "[remote];\n"
                   "}" ::"r"(sharedAddress(&empty))
                   : "memory");
  }
  cluster.sync();
}

// Each block writes into the next one's shared memory, whose generic address
// becomes one of shared::cluster.
extern "C" __global__ void pass_on(int *received) {
  __shared__ int mine;
  cg::cluster_group cluster = cg::this_cluster();
  unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  cluster.sync();
  asm volatile("{\n"
               ".reg .b64 theirs;\n"
               "cvta.to.shared::cluster.u64 theirs, %0;\n"
               "st.shared::cluster.b32 [theirs], %1;\n"
               "}" ::"l"(cluster.map_shared_rank(&mine, next)),
               "r"(blockIdx.x)
               : "memory");
  cluster.sync();
  received[blockIdx.x] = mine;
}

// Each thread stores a number in the next block's shared memory, then each
// block copies what it has got to the one after: both tell a barrier there.
// `fault`: 1: the copy's source changes while it may be read; 2: nobody waits
// for the store.
extern "C" __global__ void send(const int *x, int *received, int fault) {
  __shared__ __align__(16) int first[64], second[64];
  __shared__ uint64_t barriers[2];
  cg::cluster_group cluster = cg::this_cluster();
  unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  if (threadIdx.x == 0)
    for (uint64_t &barrier : barriers)
      asm volatile(
          "{\n"
          ".reg .b64 state;\n"
          "mbarrier.init.shared::cta.b64 [%0], 1;\n"
          "fence.mbarrier_init.release.cluster;\n"
          "mbarrier.arrive.expect_tx.shared::cta.b64 state, [%0], %1;\n"
          "}" ::"r"(sharedAddress(&barrier)),
          "r"(int(sizeof(first)))
          : "memory");
  cluster.sync();
  auto inNext = [&](const void *pointer) {
    uint32_t result;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(result)
        : "r"(sharedAddress(pointer)), "r"(next));
    return result;
  };
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 "
               "[%0], %1, [%2];" ::"r"(inNext(&first[threadIdx.x])),
               "r"(x[blockIdx.x * 64 + threadIdx.x]), "r"(inNext(&barriers[0]))
               : "memory");
  if (fault != 2)
    wait(&barriers[0], 0);
  first[threadIdx.x] += 1000;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_"
                 "tx::bytes [%0], [%1], %2, [%3];" ::"r"(inNext(second)),
                 "r"(sharedAddress(first)), "r"(int(sizeof(first))),
                 "r"(inNext(&barriers[1]))
                 : "memory");
  if (fault == 1)
    first[threadIdx.x] = 0;
  wait(&barriers[1], 0);
  received[blockIdx.x * 64 + threadIdx.x] = second[threadIdx.x];
  cluster.sync();
  first[threadIdx.x] = 0; // All copies have come.
}

// Which addresses are in shared memory of the cluster, and of the block.
extern "C" __global__ void spaces(int *results) {
  __shared__ int mine;
  cg::cluster_group cluster = cg::this_cluster();
  auto ask = [](const void *pointer) {
    uint32_t isCluster, isOwn;
    asm("{\n"
        ".reg .pred p, q;\n"
        "isspacep.shared::cluster p, %2;\n"
        "isspacep.shared::cta q, %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "selp.u32 %1, 1, 0, q;\n"
        "}"
        : "=r"(isCluster), "=r"(isOwn)
        : "l"(pointer));
    return int(2 * isCluster + isOwn);
  };
  unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  const void *pointers[3] = {&mine, cluster.map_shared_rank(&mine, next),
                             results};
  results[blockIdx.x * 32 + threadIdx.x] = ask(pointers[threadIdx.x % 3]);
  cluster.sync();
}

// Blocks of the whole grid wait for each other.
extern "C" __global__ void grid_sum(const int *x, int *partial, int *sum,
                                    int n) {
  cg::grid_group grid = cg::this_grid();
  int own = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.num_threads())
    own += x[i];
  partial[grid.thread_rank()] = own;
  grid.sync();
  if (grid.thread_rank() == 0) {
    int total = 0;
    for (int i = 0; i < int(grid.num_threads()); ++i)
      total += partial[i];
    *sum = total;
  }
  grid.sync();
  partial[grid.thread_rank()] = *sum;
}
