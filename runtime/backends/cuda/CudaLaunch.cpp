//===- CudaLaunch.cpp - kernels on a CUDA device --------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What launches of a kernel have in common is looked up and filled in once. A
// tensor map depends on the address of its buffer, of which a program has few:
// each is encoded once.
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/CudaUpload.h"

#include <algorithm>

using namespace tsp::runtime;
using namespace tsp::runtime::cuda;

static void fillConfig(const tsp_device_kernel &form, LaunchConfig &config,
                       LaunchAttribute &cluster) {
  for (int i = 0; i < 3; ++i) {
    config.grid[i] = unsigned(form.grid[i]);
    config.block[i] = unsigned(form.block[i]);
    cluster.cluster[i] = unsigned(form.cluster[i]);
  }
  config.sharedBytes = unsigned(form.shared_bytes);
  if (form.cluster[0] * form.cluster[1] * form.cluster[2] <= 1)
    return;
  cluster.id = clusterDimension;
  config.attributes = &cluster;
  config.numAttributes = 1;
}

void CudaDevice::require(bool found, const char *function,
                         const char *kernel) const {
  if (!found)
    throw Error(format("%s: kernel %s needs %s, which this driver does not "
                       "have; install one of CUDA 12 or newer",
                       device.name.c_str(), kernel, function));
}

CudaDevice::Launchable &
CudaDevice::findKernel(const tsp_device_kernel &kernel) {
  Launchable &found = kernels[&kernel];
  if (found.function)
    return found;
  Function function = nullptr;
  for (const tsp_device_kernel *form = &kernel; form && !function;
       form = form->variant)
    if ((function = device.find(form->name)))
      found.form = form;
  if (!function)
    throw Error(device.name + ": the model's code has no kernel " +
                kernel.name);
  const tsp_device_kernel &form = *found.form;
  if (form.workspace_bytes > workspace->size())
    throw Error(format("kernel %s needs a workspace of %lld bytes, but the "
                       "description says %lld",
                       form.name, (long long)form.workspace_bytes,
                       (long long)workspace->size()));
  if (form.shared_bytes > 0)
    driver().check(driver().funcSetAttribute(function, maxDynamicShared,
                                             int(form.shared_bytes)),
                   format("%s: %lld bytes of shared memory for kernel %s",
                          device.name.c_str(), (long long)form.shared_bytes,
                          form.name));
  fillConfig(form, found.config, found.cluster);
  if (found.config.numAttributes)
    require(driver().launchKernelEx, "cuLaunchKernelEx", form.name);
  if (form.num_maps)
    require(driver().tensorMapEncodeTiled, "cuTensorMapEncodeTiled", form.name);
  found.maps.resize(size_t(form.num_maps));
  found.function = function;
  return found;
}

/// CUtensorMapSwizzle of a number of bytes.
static int swizzleOf(int64_t bytes) {
  switch (bytes) {
  case 0:
    return swizzleNone;
  case 32:
    return swizzle32;
  case 64:
    return swizzle64;
  case 128:
    return swizzle128;
  }
  throw Error(
      format("no tensor map has a swizzle of %lld bytes", (long long)bytes));
}

TensorMap *CudaDevice::findMap(Launchable &kernel, int64_t number,
                               void *buffer) {
  auto [place, isNew] = kernel.maps[size_t(number)].try_emplace(buffer);
  TensorMap &encoded = place->second;
  if (!isNew)
    return &encoded;
  const tsp_tensor_map &map = kernel.form->maps[number];
  unsigned long long sizes[5], strides[4];
  unsigned box[5], steps[5] = {1, 1, 1, 1, 1};
  std::copy_n(map.sizes, 5, sizes);
  std::copy_n(map.strides, 4, strides);
  std::copy_n(map.box, 5, box);
  Result result = driver().tensorMapEncodeTiled(
      &encoded, int(map.element), unsigned(map.rank),
      static_cast<char *>(buffer) + map.offset, sizes, strides, box, steps,
      interleaveNone, swizzleOf(map.swizzle), promotionOf128Bytes,
      fillWithZeros);
  if (result != success) {
    kernel.maps[size_t(number)].erase(place);
    driver().check(result, format("%s: tensor map %lld of kernel %s",
                                  device.name.c_str(), (long long)number,
                                  kernel.form->name));
  }
  return &encoded;
}

void CudaDevice::launch(int32_t stream, const tsp_device_kernel &kernel,
                        int64_t nargs, void **args) {
  if (kernel.grid[0] <= 0 || kernel.grid[1] <= 0 || kernel.grid[2] <= 0)
    return;
  Launchable &found = findKernel(kernel);
  const tsp_device_kernel &form = *found.form;
  const int64_t most = 256;
  if (nargs + 1 + form.num_maps > most)
    throw Error(format("kernel %s has %lld arguments and %lld tensor maps; at "
                       "most %lld in all are possible",
                       form.name, (long long)nargs, (long long)form.num_maps,
                       (long long)most - 1));
  void *parameters[most];
  for (int64_t i = 0; i < nargs; ++i)
    parameters[i] = &args[i];
  void **next = parameters + nargs;
  void *scratch = workspace->data();
  if (form.workspace_bytes > 0)
    *next++ = &scratch;
  for (int64_t i = 0; i < form.num_maps; ++i)
    *next++ = findMap(found, i, args[form.maps[i].argument]);
  times->open(streams[stream], 0, form.name, -1);
  LaunchConfig &config = found.config;
  config.stream = streams[stream];
  Result result =
      config.numAttributes
          ? driver().launchKernelEx(&config, found.function, parameters,
                                    nullptr)
          : driver().launchKernel(
                found.function, config.grid[0], config.grid[1], config.grid[2],
                config.block[0], config.block[1], config.block[2],
                config.sharedBytes, config.stream, parameters, nullptr);
  if (result != success)
    driver().check(result, device.name + ": launch of kernel " + form.name);
  times->close(streams[stream]);
  if (!isCapturing)
    times->launched(streams[stream], form.name);
}

void CudaDevice::enqueueKernel(Stream stream, const char *name, int64_t threads,
                               void **parameters) {
  Function &function = ownKernels[name];
  if (!function)
    function = device.find(name);
  if (!function)
    throw Error(device.name + ": the model's code has no kernel " + name);
  const int64_t block = 256, mostBlocks = 1024;
  int64_t blocks =
      std::clamp<int64_t>((threads + block - 1) / block, 1, mostBlocks);
  driver().check(driver().launchKernel(function, unsigned(blocks), 1, 1,
                                       unsigned(block), 1, 1, 0, stream,
                                       parameters, nullptr),
                 device.name + ": launch of kernel " + name);
}
