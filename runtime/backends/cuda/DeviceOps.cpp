//===- DeviceOps.cpp - what transfers do to device buffers ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/DeviceOps.h"

using namespace tsp::runtime;
using namespace tsp::runtime::cuda;

void DeviceOps::combine(const Transfer &transfer, char *dst,
                        const Sources &sources, int64_t count) {
  if (count == 0)
    return;
  std::string name = format("tsp_reduce_%s_%s", combineName(transfer.combine),
                            dtypeName(transfer.dtype));
  Pointer table = device.pointerTable(sources);
  int64_t ranks = int64_t(sources.size());
  void *parameters[] = {&dst, &table, &count, &ranks};
  device.enqueueKernel(stream, name.c_str(), count, parameters);
}

void DeviceOps::combinePairs(const Transfer &transfer, char *dst, char *dst2,
                             const Sources &sources, const Sources &sources2,
                             int64_t rows) {
  if (rows == 0)
    return;
  std::string name =
      format("tsp_reduce_%s_%s_%s", combineName(transfer.combine),
             dtypeName(transfer.dtype), dtypeName(transfer.dtype2));
  Pointer table = device.pointerTable(sources);
  Pointer table2 = device.pointerTable(sources2);
  int64_t inner = transfer.inner / dtypeSize(transfer.dtype);
  int64_t ranks = int64_t(sources.size());
  void *parameters[] = {&dst, &dst2, &table, &table2, &rows, &inner, &ranks};
  device.enqueueKernel(stream, name.c_str(), rows, parameters);
}
