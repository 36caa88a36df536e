//===- Link.h - simulated links between devices -----------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_NCCL_LINK_H
#define TSP_EMULATION_NCCL_LINK_H

#include <cstddef>
#include <cstdint>

namespace tsp::emulation {

/// When bytes that a peer sends from now on have reached a device: all that is
/// on its way to the device shares its link, which TSP_EMULATED_LINK=GB/s,us
/// describes. Without the variable that is now.
int64_t deliveryTimeNs(int device, size_t bytes);

/// What is wrong with TSP_EMULATED_LINK, or null.
const char *linkError();

/// Nanoseconds of a monotonic clock.
int64_t monotonicNs();

} // namespace tsp::emulation

#endif // TSP_EMULATION_NCCL_LINK_H
