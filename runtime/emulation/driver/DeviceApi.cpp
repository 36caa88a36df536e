//===- DeviceApi.cpp - calls on the driver and on devices -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Context.h"
#include "driver/Module.h"
#include "driver/Options.h"

#include <cstring>

using namespace tsp::emulation;

CUresult CUDAAPI cuInit(unsigned flags) {
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  if (!options().error.empty()) {
    report(options().error);
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (options().devices == 0)
    return CUDA_ERROR_NO_DEVICE;
  setInitialized();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDriverGetVersion(int *version) {
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

/// A bus for each device of the machine.
static int busOf(CUdevice device) { return options().visible[device] + 1; }

CUresult CUDAAPI cuDeviceGetCount(int *count) {
  if (!isInitialized())
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!count)
    return CUDA_ERROR_INVALID_VALUE;
  *count = options().devices;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal) {
  if (CUresult error = checkDevice(ordinal))
    return error;
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int length, CUdevice device) {
  if (CUresult error = checkDevice(device))
    return error;
  if (!name || length < 1)
    return CUDA_ERROR_INVALID_VALUE;
  std::string text = "Emulated GPU " + options().capabilities[device].str();
  snprintf(name, size_t(length), "%s", text.c_str());
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
  if (CUresult error = checkDevice(device))
    return error;
  if (!uuid)
    return CUDA_ERROR_INVALID_VALUE;
  memset(uuid, 0, sizeof(*uuid));
  snprintf(uuid->bytes, sizeof(uuid->bytes), "emulated %d", busOf(device));
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceTotalMem(size_t *bytes, CUdevice device) {
  if (CUresult error = checkDevice(device))
    return error;
  if (!bytes)
    return CUDA_ERROR_INVALID_VALUE;
  *bytes = size_t(options().memoryBytes);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *id, int length, CUdevice device) {
  if (CUresult error = checkDevice(device))
    return error;
  if (!id || length < 13)
    return CUDA_ERROR_INVALID_VALUE;
  snprintf(id, size_t(length), "0000:%02x:00.0", busOf(device));
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *device, const char *id) {
  if (!isInitialized())
    return CUDA_ERROR_NOT_INITIALIZED;
  unsigned bus;
  if (!device || !id || sscanf(id, "%*x:%x:00.0", &bus) != 1)
    return CUDA_ERROR_INVALID_VALUE;
  for (*device = 0; isDevice(*device); ++*device)
    if (busOf(*device) == int(bus))
      return CUDA_SUCCESS;
  return CUDA_ERROR_INVALID_DEVICE;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                      CUdevice device) {
  if (CUresult error = checkDevice(device))
    return error;
  if (!value)
    return CUDA_ERROR_INVALID_VALUE;
  const Options &machine = options();
  const Capability &capability = machine.capabilities[device];
  const DeviceLimits &limits = capability.limits();
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
    *value = 1024;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
    *value = 64;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
  case CU_DEVICE_ATTRIBUTE_MAX_PITCH:
    *value = INT32_MAX;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
    *value = 65535;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
    *value = defaultSharedBytes;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *value = limits.sharedBytes;
    break;
  case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
    *value = reservedSharedBytes;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    *value = limits.sharedBytes + reservedSharedBytes;
    break;
  case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
    *value = 65536;
    break;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    *value = 32;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
    *value = 65536;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
    *value = limits.threadsOfMultiprocessor;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
    *value = limits.blocksOfMultiprocessor;
    break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = machine.multiprocessors;
    break;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    *value = 1410000;
    break;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
    *value = 1215000;
    break;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
    *value = 5120;
    break;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
    *value = 40 << 20;
    break;
  case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT:
  case CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT:
    *value = 512;
    break;
  case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT:
    *value = 32;
    break;
  case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
    *value = 3;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = capability.major;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = capability.minor;
    break;
  case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
    *value = busOf(device);
    break;
  case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO:
    *value = 2;
    break;
  case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
  case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
  case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
  case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    *value = 1;
    break;
  default:
    // All that is left says whether the device has something, or how much:
    // textures, managed and virtual memory, clusters... It has not.
    if (attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
      return CUDA_ERROR_INVALID_VALUE;
    *value = 0;
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int *can, CUdevice device,
                                       CUdevice peer) {
  for (CUdevice one : {device, peer})
    if (CUresult error = checkDevice(one))
      return error;
  if (!can)
    return CUDA_ERROR_INVALID_VALUE;
  *can = device != peer;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetP2PAttribute(int *value,
                                         CUdevice_P2PAttribute attribute,
                                         CUdevice device, CUdevice peer) {
  for (CUdevice one : {device, peer})
    if (CUresult error = checkDevice(one))
      return error;
  if (!value || device == peer)
    return CUDA_ERROR_INVALID_VALUE;
  *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
  return CUDA_SUCCESS;
}
