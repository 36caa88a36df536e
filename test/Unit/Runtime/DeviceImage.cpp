//===- DeviceImage.cpp - device code for tests ----------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceImage.h"
#include "TestKernels.h"
#include "backends/cuda/Emulation.h"

#include <dlfcn.h>

using namespace tsp::runtime;
using namespace tsp::runtime::test;

const tsp_device_image *tsp::runtime::test::testImage() {
  static const tsp_device_image image = {testKernels, sizeof(testKernels)};
  return &image;
}

RankProgram tsp::runtime::test::makeProgram(Where where, int64_t ranks,
                                            tsp_options options,
                                            const std::string &values) {
  if (where == Where::Host)
    return RankProgram(lineMesh(ranks), values, options);
  static const bool hasDriver = dlopen("libcuda.so.1", RTLD_NOW) != nullptr;
  if (!hasDriver)
    useEmulation("");
  if (where != Where::Devices)
    options.devices = where == Where::OneDevice ? "0" : "0,1";
  return RankProgram(lineMesh(ranks), values, options, testImage());
}
