//===- Options.h - what the emulated machine is -----------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_DRIVER_OPTIONS_H
#define TSP_EMULATION_DRIVER_OPTIONS_H

#include "driver/Capability.h"

#include <cstdint>
#include <vector>

namespace tsp::emulation {

/// The emulated machine, from environment variables that docs/Emulation.md
/// lists.
struct Options {
  int devices = 8;
  /// The device of the machine that each of the process's devices is: all, or
  /// those of CUDA_VISIBLE_DEVICES.
  std::vector<int> visible;
  /// Of each of the process's devices.
  std::vector<Capability> capabilities;
  int multiprocessors = 108;
  int64_t memoryBytes = int64_t(80) << 30;
  /// Work is taken in the order of its submission under seed 0; any other seed
  /// shuffles the order and holds some work back.
  uint64_t seed = 0;
  int threads = 2;
  bool verbose = false;
  /// Whether the order of tasks is checked, as kernels are.
  bool checks = false;
  /// Why the environment could not be understood; empty if it could.
  std::string error;
};

/// Whether TSP_EMULATION_CHECK asks for the checker now.
bool wantsChecker();

/// Read once, at the first call.
const Options &options();

} // namespace tsp::emulation

#endif // TSP_EMULATION_DRIVER_OPTIONS_H
