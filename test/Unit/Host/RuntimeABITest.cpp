//===- RuntimeABITest.cpp - RuntimeABI.h against tsp_runtime.h ------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Host/RuntimeABI.h"
#include "tsp_runtime.h"

#include "core/Types.h"
#include "gtest/gtest.h"



template <typename T> static char letter() {
  if constexpr (std::is_void_v<T>)
    return 'v';
  else if constexpr (std::is_pointer_v<T>)
    return 'p';
  else
    return sizeof(T) == 4 ? 'i' : 'l';
}

template <typename Result, typename... Parameters>
static std::string signature(Result (*)(Parameters...)) {
  return std::string{letter<Result>(), letter<Parameters>()...};
}

TEST(RuntimeABI, Signatures) {
  EXPECT_EQ(tsp::abi::launch.signature, signature(tsp_launch));
  EXPECT_EQ(tsp::abi::deviceLaunch.signature, signature(tsp_device_launch));
  EXPECT_EQ(tsp::abi::write.signature, signature(tsp_write));
  EXPECT_EQ(tsp::abi::constant.signature, signature(tsp_constant));
  EXPECT_EQ(tsp::abi::axisIndex.signature, signature(tsp_axis_index));
  EXPECT_EQ(tsp::abi::copy.signature, signature(tsp_copy));
  EXPECT_EQ(tsp::abi::read.signature, signature(tsp_read));
  EXPECT_EQ(tsp::abi::allGather.signature, signature(tsp_all_gather_start));
  EXPECT_EQ(tsp::abi::reduceScatter.signature, signature(tsp_reduce_scatter_start));
  EXPECT_EQ(tsp::abi::allReduce.signature, signature(tsp_all_reduce_start));
  EXPECT_EQ(tsp::abi::allToAll.signature, signature(tsp_all_to_all_start));
  EXPECT_EQ(tsp::abi::broadcast.signature, signature(tsp_broadcast_start));
  EXPECT_EQ(tsp::abi::sendRecv.signature, signature(tsp_send_recv_start));
  EXPECT_EQ(tsp::abi::staging.signature, signature(tsp_staging));
  EXPECT_EQ(tsp::abi::wait.signature, signature(tsp_wait));
}

TEST(RuntimeABI, Names) {
  // A name that the header lacks does not link: the tests above take addresses.
  EXPECT_STREQ(tsp::abi::launch.name, "tsp_launch");
  EXPECT_EQ(tsp::abi::spaceHost, TSP_SPACE_HOST);
  EXPECT_EQ(tsp::abi::spaceDevice, TSP_SPACE_DEVICE);
  EXPECT_EQ(tsp::abi::streamCompute, TSP_STREAM_COMPUTE);
  EXPECT_EQ(tsp::abi::streamComm, TSP_STREAM_COMM);
}

// What compiled objects lay out themselves.
TEST(RuntimeABI, Layouts) {
  EXPECT_EQ(sizeof(tsp_device_kernel), 120u);
  EXPECT_EQ(offsetof(tsp_device_kernel, grid), 8u);
  EXPECT_EQ(offsetof(tsp_device_kernel, block), 32u);
  EXPECT_EQ(offsetof(tsp_device_kernel, shared_bytes), 56u);
  EXPECT_EQ(offsetof(tsp_device_kernel, workspace_bytes), 64u);
  EXPECT_EQ(offsetof(tsp_device_kernel, cluster), 72u);
  EXPECT_EQ(offsetof(tsp_device_kernel, num_maps), 96u);
  EXPECT_EQ(offsetof(tsp_device_kernel, maps), 104u);
  EXPECT_EQ(offsetof(tsp_device_kernel, variant), 112u);
  EXPECT_EQ(sizeof(tsp_tensor_map), 152u);
  EXPECT_EQ(offsetof(tsp_tensor_map, sizes), 32u);
  EXPECT_EQ(offsetof(tsp_tensor_map, strides), 72u);
  EXPECT_EQ(offsetof(tsp_tensor_map, box), 104u);
  EXPECT_EQ(offsetof(tsp_tensor_map, swizzle), 144u);
  EXPECT_EQ(sizeof(tsp_device_image), 16u);
  EXPECT_EQ(sizeof(tsp_entry_point), 16u);
}

TEST(RuntimeABI, DataTypes) {
  for (int i = 0; i < tsp::runtime::numDtypes; ++i)
    EXPECT_STREQ(tsp::abi::dtypeNames[i], tsp::runtime::dtypeName(i));
}
