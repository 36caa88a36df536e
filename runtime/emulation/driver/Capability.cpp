//===- Capability.cpp - what generation a device is -----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Capability.h"

using namespace tsp::emulation;

const DeviceLimits &Capability::limits() const {
  constexpr int KB = 1024;
  static const DeviceLimits table[] = {
      {50, 48 * KB, 2048, 32},   {70, 96 * KB, 2048, 32},
      {75, 64 * KB, 1024, 16},   {80, 163 * KB, 2048, 32},
      {86, 99 * KB, 1536, 16},   {87, 163 * KB, 1536, 16},
      {89, 99 * KB, 1536, 24},   {90, 227 * KB, 2048, 32},
      {100, 227 * KB, 2048, 32}, {110, 227 * KB, 1536, 24},
      {120, 99 * KB, 1536, 24},
  };
  const DeviceLimits *found = table;
  for (const DeviceLimits &limits : table)
    if (limits.capability <= number())
      found = &limits;
  return *found;
}
