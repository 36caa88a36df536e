//===- DeviceImage.h - device code for tests --------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_TEST_UNIT_RUNTIME_DEVICEIMAGE_H
#define TSP_TEST_UNIT_RUNTIME_DEVICEIMAGE_H

#include "RankProgram.h"

namespace tsp::runtime::test {

/// Kernels written by hand, as PTX.
const tsp_device_image *testImage();

/// Where the ranks of a test program are.
enum class Where {
  Host,
  OneDevice,  ///< all on device 0: the local communicator
  TwoDevices, ///< the local communicator, over devices that see each other
  Devices     ///< each on its own: NCCL
};

/// A program whose ranks are there. Machines without a CUDA driver run it on
/// the emulation.
RankProgram makeProgram(Where where, int64_t ranks,
                        tsp_options options = RankProgram::defaults(),
                        const std::string &values = "");

} // namespace tsp::runtime::test

#endif // TSP_TEST_UNIT_RUNTIME_DEVICEIMAGE_H
