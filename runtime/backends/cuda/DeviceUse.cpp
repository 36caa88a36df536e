//===- DeviceUse.cpp - a device, its context and the model's code ---------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/CudaDevice.h"

using namespace tsp::runtime;
using namespace tsp::runtime::cuda;

DeviceUse::DeviceUse(const Driver &driver, int number,
                     const tsp_device_image &image)
    : driver(driver), number(number), image(image) {
  driver.check(driver.deviceGet(&handle, number), "cuDeviceGet");
  char text[256] = "";
  int major = 0, minor = 0;
  driver.deviceGetName(text, sizeof(text), handle);
  driver.deviceGetAttribute(&major, capabilityMajor, handle);
  driver.deviceGetAttribute(&minor, capabilityMinor, handle);
  name = format("device %d (%s, sm_%d%d)", number, text, major, minor);
  driver.check(driver.primaryCtxRetain(&context, handle),
               name + ": cuDevicePrimaryCtxRetain");
}

DeviceUse::~DeviceUse() {
  if (module) {
    CurrentContext current(*this);
    driver.moduleUnload(module);
  }
  driver.primaryCtxRelease(handle);
}

Function DeviceUse::find(const char *kernel) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!module)
    driver.check(driver.moduleLoadData(&module, image.data),
                 name + ": cannot load the model's code");
  Function function = nullptr;
  return driver.moduleGetFunction(&function, module, kernel) == success
             ? function
             : nullptr;
}

CudaBlock::CudaBlock(DeviceUse &device, int64_t size) : device(device) {
  if (size <= 0)
    return;
  CurrentContext current(device);
  Pointer pointer = 0;
  device.driver.check(
      device.driver.memAlloc(&pointer, size_t(size)),
      format("%s: %lld bytes of memory", device.name.c_str(), (long long)size));
  base = reinterpret_cast<char *>(pointer);
  bytes = size;
}

CudaBlock::~CudaBlock() {
  if (!base)
    return;
  CurrentContext current(device);
  device.driver.memFree(reinterpret_cast<Pointer>(base));
}
