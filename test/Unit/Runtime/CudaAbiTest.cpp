//===- CudaAbiTest.cpp - own declarations against the vendor's headers ----===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/nccl/Nccl.h"

#include <cuda.h>
#include <gtest/gtest.h>
#include <nccl.h>

using namespace tsp::runtime;

// The classes of types that look the same to a caller.
template <typename T> static char abiClass() {
  if constexpr (std::is_class_v<T>)
    return 'c';
  else
    return sizeof(T) == 1 ? 'b' : sizeof(T) == 4 ? 'i' : 'l';
}

template <typename Result, typename... Parameters>
static std::string abiOf(Result (*)(Parameters...)) {
  return std::string{abiClass<Result>(), abiClass<Parameters>()...};
}

TEST(CudaAbi, Functions) {
#define TSP_COMPARE(member, symbol, parameters)                                \
  EXPECT_EQ(abiOf(decltype(cuda::Driver::member)(nullptr)),                    \
            abiOf(decltype (&symbol)(nullptr)))                                \
      << #symbol;
  TSP_CUDA_FUNCTIONS(TSP_COMPARE)
  TSP_CUDA_12_FUNCTIONS(TSP_COMPARE)
#undef TSP_COMPARE
}

TEST(CudaAbi, Values) {
  EXPECT_EQ(cuda::success, CUDA_SUCCESS);
  EXPECT_EQ(cuda::notReady, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuda::peerAlreadyEnabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(cuda::streamNonBlocking, unsigned(CU_STREAM_NON_BLOCKING));
  EXPECT_EQ(cuda::eventWithoutTiming, unsigned(CU_EVENT_DISABLE_TIMING));
  EXPECT_EQ(cuda::capabilityMajor,
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(cuda::capabilityMinor,
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(cuda::maxDynamicShared,
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  EXPECT_EQ(cuda::captureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(cuda::jitErrorLog, CU_JIT_ERROR_LOG_BUFFER);
  EXPECT_EQ(cuda::jitErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  EXPECT_EQ(sizeof(int), sizeof(CUjit_option));
  EXPECT_EQ(cuda::memoryUnified, unsigned(CU_MEMORYTYPE_UNIFIED));
  EXPECT_EQ(cuda::clusterDimension,
            unsigned(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION));
  EXPECT_EQ(cuda::interleaveNone, CU_TENSOR_MAP_INTERLEAVE_NONE);
  EXPECT_EQ(cuda::promotionOf128Bytes, CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
  EXPECT_EQ(cuda::fillWithZeros, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  EXPECT_EQ(cuda::swizzleNone, CU_TENSOR_MAP_SWIZZLE_NONE);
  EXPECT_EQ(cuda::swizzle32, CU_TENSOR_MAP_SWIZZLE_32B);
  EXPECT_EQ(cuda::swizzle64, CU_TENSOR_MAP_SWIZZLE_64B);
  EXPECT_EQ(cuda::swizzle128, CU_TENSOR_MAP_SWIZZLE_128B);
}

TEST(CudaAbi, TensorMapAndLaunchConfig) {
  EXPECT_EQ(sizeof(cuda::TensorMap), sizeof(CUtensorMap));
  EXPECT_EQ(alignof(cuda::TensorMap), alignof(CUtensorMap));
  EXPECT_EQ(sizeof(cuda::LaunchAttribute), sizeof(CUlaunchAttribute));
  EXPECT_EQ(offsetof(cuda::LaunchAttribute, cluster),
            offsetof(CUlaunchAttribute, value.clusterDim));
  EXPECT_EQ(sizeof(cuda::LaunchConfig), sizeof(CUlaunchConfig));
#define TSP_SAME(mine, theirs)                                                 \
  EXPECT_EQ(offsetof(cuda::LaunchConfig, mine),                                \
            offsetof(CUlaunchConfig, theirs))
  TSP_SAME(grid, gridDimX);
  TSP_SAME(block, blockDimX);
  TSP_SAME(sharedBytes, sharedMemBytes);
  TSP_SAME(stream, hStream);
  TSP_SAME(attributes, attrs);
  TSP_SAME(numAttributes, numAttrs);
#undef TSP_SAME
}

TEST(CudaAbi, Copy3D) {
  EXPECT_EQ(sizeof(cuda::Copy3D), sizeof(CUDA_MEMCPY3D));
#define TSP_SAME(mine, theirs)                                                 \
  EXPECT_EQ(offsetof(cuda::Copy3D, mine), offsetof(CUDA_MEMCPY3D, theirs))
  TSP_SAME(srcX, srcXInBytes);
  TSP_SAME(srcType, srcMemoryType);
  TSP_SAME(srcDevice, srcDevice);
  TSP_SAME(srcPitch, srcPitch);
  TSP_SAME(srcHeight, srcHeight);
  TSP_SAME(dstX, dstXInBytes);
  TSP_SAME(dstType, dstMemoryType);
  TSP_SAME(dstDevice, dstDevice);
  TSP_SAME(dstPitch, dstPitch);
  TSP_SAME(dstHeight, dstHeight);
  TSP_SAME(width, WidthInBytes);
  TSP_SAME(height, Height);
  TSP_SAME(depth, Depth);
#undef TSP_SAME
}

TEST(NcclAbi, FunctionsAndValues) {
#define TSP_COMPARE(member, symbol, parameters)                                \
  EXPECT_EQ(abiOf(decltype(nccl::Nccl::member)(nullptr)),                      \
            abiOf(decltype (&symbol)(nullptr)))                                \
      << #symbol;
  TSP_NCCL_FUNCTIONS(TSP_COMPARE)
  TSP_NCCL_LATER_FUNCTIONS(TSP_COMPARE)
#undef TSP_COMPARE
  EXPECT_EQ(nccl::success, ncclSuccess);
  EXPECT_EQ(nccl::inProgress, ncclInProgress);
  EXPECT_EQ(nccl::int8, ncclInt8);
  EXPECT_EQ(sizeof(nccl::UniqueId), sizeof(ncclUniqueId));
}
