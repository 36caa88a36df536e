//===- Driver.cpp - the CUDA driver, opened at run time -------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/Driver.h"
#include "backends/cuda/Emulation.h"

using namespace tsp::runtime;
using namespace tsp::runtime::cuda;

static const char *advice =
    "\nThis model is compiled for CUDA devices. Run it on a machine with an "
    "NVIDIA driver,\nor on the CPU with --emulate (slow; for tests), or "
    "compile it with --target=host.";

static Driver openDriver() {
  DynamicLibrary library(libraryNames("libcuda.so.1"));
  if (!library.isOpen())
    throw Error("there is no CUDA driver on this machine (" + library.error() +
                ")" + advice);
  Driver driver;
#define TSP_OPEN(member, symbol, parameters)                                   \
  library.get(#symbol, driver.member);
  TSP_CUDA_FUNCTIONS(TSP_OPEN)
#undef TSP_OPEN
#define TSP_FIND(member, symbol, parameters)                                   \
  driver.member =                                                              \
      reinterpret_cast<decltype(driver.member)>(library.find(#symbol));
  TSP_CUDA_12_FUNCTIONS(TSP_FIND)
#undef TSP_FIND
  Result result = driver.init(0);
  if (result != success)
    throw Error("the CUDA driver does not start: " + driver.text(result) +
                advice);
  int count = 0;
  driver.check(driver.deviceGetCount(&count), "cuDeviceGetCount");
  if (count == 0)
    throw Error(std::string("the CUDA driver finds no device") + advice);
  return driver;
}

const Driver &Driver::get() {
  static const Driver driver = openDriver();
  return driver;
}

std::string Driver::text(Result result) const {
  const char *name = nullptr, *meaning = nullptr;
  getErrorName(result, &name);
  getErrorString(result, &meaning);
  std::string out = name ? name : format("CUDA error %d", result);
  return meaning ? out + " (" + meaning + ")" : out;
}
