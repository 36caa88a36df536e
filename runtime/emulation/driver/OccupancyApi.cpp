//===- OccupancyApi.cpp - how many blocks fit on a multiprocessor ---------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Module.h"
#include "driver/Options.h"

#include <algorithm>

using namespace tsp::emulation;

static const DeviceLimits &limitsOf(CUfunction function) {
  return options().capabilities[function->module->context->device].limits();
}

/// Blocks of a kernel that fit, by threads and shared memory. Registers are
/// ptxas's business, which an emulated device knows nothing of.
static int blocksThatFit(CUfunction function, int blockSize,
                         size_t dynamicShared) {
  const DeviceLimits &limits = limitsOf(function);
  int warps = (blockSize + 31) / 32;
  int byThreads = limits.threadsOfMultiprocessor / 32 / warps;
  int64_t shared = int64_t(function->kernel->staticSharedBytes) +
                   int64_t(dynamicShared) + reservedSharedBytes;
  int64_t byShared = (limits.sharedBytes + reservedSharedBytes) / shared;
  return int(
      std::min<int64_t>({byThreads, byShared, limits.blocksOfMultiprocessor}));
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, CUfunction handle, int blockSize, size_t dynamicShared,
    unsigned flags) {
  CUfunction function;
  if (CUresult error = findFunction(handle, function))
    return error;
  if (!blocks || blockSize <= 0 ||
      (flags & ~unsigned(CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)))
    return CUDA_ERROR_INVALID_VALUE;
  int largest = 0;
  getAttribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, largest);
  bool launches = blockSize <= largest &&
                  dynamicShared <= size_t(function->maxDynamicShared);
  *blocks = launches ? blocksThatFit(function, blockSize, dynamicShared) : 0;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(
    int *blocks, CUfunction function, int blockSize, size_t dynamicShared) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      blocks, function, blockSize, dynamicShared, CU_OCCUPANCY_DEFAULT);
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSizeWithFlags(
    int *minGrid, int *blockSize, CUfunction handle,
    CUoccupancyB2DSize sharedOfBlock, size_t dynamicShared, int limit,
    unsigned flags) {
  CUfunction function;
  if (CUresult error = findFunction(handle, function))
    return error;
  if (!minGrid || !blockSize)
    return CUDA_ERROR_INVALID_VALUE;
  int largest = 0, bestThreads = 0;
  getAttribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, largest);
  if (limit > 0)
    largest = std::min(largest, limit);
  *minGrid = *blockSize = 0;
  for (int size = largest / 32 * 32; size > 0; size -= 32) {
    int blocks = 0;
    size_t shared = sharedOfBlock ? sharedOfBlock(size) : dynamicShared;
    if (CUresult error = cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            &blocks, handle, size, shared, flags))
      return error;
    if (blocks * size <= bestThreads)
      continue;
    bestThreads = blocks * size;
    *blockSize = size;
    *minGrid = blocks * options().multiprocessors;
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(
    int *minGrid, int *blockSize, CUfunction function,
    CUoccupancyB2DSize sharedOfBlock, size_t dynamicShared, int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(minGrid, blockSize, function,
                                                   sharedOfBlock, dynamicShared,
                                                   limit, CU_OCCUPANCY_DEFAULT);
}

CUresult CUDAAPI cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes,
                                                         CUfunction handle,
                                                         int blocks,
                                                         int blockSize) {
  CUfunction function;
  if (CUresult error = findFunction(handle, function))
    return error;
  if (!bytes || blocks <= 0 || blockSize <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  int64_t taken = int64_t(function->kernel->staticSharedBytes);
  int64_t most = limitsOf(function).sharedBytes;
  int64_t each =
      (most + reservedSharedBytes) / blocks - reservedSharedBytes - taken;
  *bytes = size_t(std::clamp<int64_t>(each, 0, most - taken));
  return CUDA_SUCCESS;
}
