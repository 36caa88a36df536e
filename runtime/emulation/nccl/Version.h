//===- Version.h - the release that the emulation is ------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_NCCL_VERSION_H
#define TSP_EMULATION_NCCL_VERSION_H

namespace tsp::emulation {

/// What ncclGetVersion tells: that of nccl.h, or TSP_EMULATED_NCCL_VERSION
/// ("2.28.9"); 0 if that is not understood.
int ncclVersion();

/// The release that brought registered buffers.
constexpr int versionOfRegistration = 21900;

} // namespace tsp::emulation

#endif // TSP_EMULATION_NCCL_VERSION_H
