//===- DeviceOps.cpp - what transfers do to device buffers ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/DeviceOps.h"

using namespace tsp::runtime;
using namespace tsp::runtime::cuda;

/// Adds the places of the sources to a kernel's parameters.
static void addSources(std::vector<void *> &parameters,
                       const BufferOps::Sources &sources) {
  for (const void *const &source : sources)
    parameters.push_back(const_cast<void **>(&source));
}

void DeviceOps::combine(const Transfer &transfer, char *dst,
                        const Sources &sources, int64_t count) {
  if (count == 0)
    return;
  std::string name =
      format("tsp_reduce_%s_%s_%zu", combineName(transfer.combine),
             dtypeName(transfer.dtype), sources.size());
  std::vector<void *> parameters = {&dst};
  addSources(parameters, sources);
  parameters.push_back(&count);
  device.enqueueKernel(stream, name.c_str(), count, parameters.data());
}

void DeviceOps::combinePairs(const Transfer &transfer, char *dst, char *dst2,
                             const Sources &sources, const Sources &sources2,
                             int64_t rows) {
  if (rows == 0)
    return;
  std::string name = format(
      "tsp_reduce_%s_%s_%s_%zu", combineName(transfer.combine),
      dtypeName(transfer.dtype), dtypeName(transfer.dtype2), sources.size());
  int64_t inner = transfer.inner / dtypeSize(transfer.dtype);
  std::vector<void *> parameters = {&dst, &dst2};
  addSources(parameters, sources);
  addSources(parameters, sources2);
  parameters.push_back(&rows);
  parameters.push_back(&inner);
  device.enqueueKernel(stream, name.c_str(), rows, parameters.data());
}
