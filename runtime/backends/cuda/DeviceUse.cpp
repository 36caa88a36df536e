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

void DeviceUse::load() {
  std::lock_guard<std::mutex> lock(mutex);
  if (module)
    return;
  std::string log(4096, '\0');
  int options[] = {jitErrorLog, jitErrorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  Result result =
      driver.moduleLoadDataEx(&module, image.data, 2, options, values);
  if (result == success)
    return loadFunctions();
  module = nullptr;
  log.resize(strlen(log.c_str()));
  int version = 0;
  driver.getVersion(&version);
  throw Error(format("%s: the driver, which is of CUDA %d.%d, cannot load the "
                     "model's code: %s%s%s\nCompile the model for this device "
                     "(--target=cuda:sm_..), or install a newer driver",
                     name.c_str(), version / 1000, version % 1000 / 10,
                     driver.text(result).c_str(), log.empty() ? "" : "\n",
                     log.c_str()));
}

/// Drivers before CUDA 12.4 do not list functions; most of them load all with
/// the module.
void DeviceUse::loadFunctions() {
  if (!driver.moduleGetFunctionCount || !driver.moduleEnumerateFunctions ||
      !driver.funcLoad)
    return;
  unsigned count = 0;
  driver.check(driver.moduleGetFunctionCount(&count, module),
               name + ": cuModuleGetFunctionCount");
  std::vector<Function> functions(count);
  driver.check(driver.moduleEnumerateFunctions(functions.data(), count, module),
               name + ": cuModuleEnumerateFunctions");
  for (Function function : functions)
    driver.check(driver.funcLoad(function), name + ": cuFuncLoad");
}

Function DeviceUse::find(const char *kernel) {
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
