//===- Capability.h - what generation a device is ---------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_DRIVER_CAPABILITY_H
#define TSP_EMULATION_DRIVER_CAPABILITY_H

#include <string>

namespace tsp::emulation {

/// What devices of a compute capability have ("Compute Capabilities" of the
/// CUDA C++ Programming Guide).
struct DeviceLimits {
  int capability;              ///< 80
  int sharedBytes;             ///< of a block that opts in
  int threadsOfMultiprocessor; ///< at a time
  int blocksOfMultiprocessor;  ///< at a time
};

/// A compute capability, 8.0.
struct Capability {
  int major = 8;
  int minor = 0;

  int number() const { return major * 10 + minor; }
  std::string str() const {
    return std::to_string(major) + "." + std::to_string(minor);
  }
  /// Those of the newest generation that is not newer.
  const DeviceLimits &limits() const;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_DRIVER_CAPABILITY_H
