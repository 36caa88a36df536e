//===- TargetDescription.h - facts about GPU architectures ------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_KERNELS_GPU_TARGETDESCRIPTION_H
#define TSP_KERNELS_GPU_TARGETDESCRIPTION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace tsp {

/// What generators, the cost model and the tools need to know of an
/// architecture. Rates are those of the best known board with it.
struct TargetDescription {
  llvm::StringRef name;        // "sm_80", as ptxas takes it
  int64_t capability;          // 80
  llvm::StringRef ptxFeatures; // for LLVM: "+ptx80"
  bool isSpecific;             // "a" variant: its PTX runs on no other chip

  // Resources.
  int64_t numProcessors;         // streaming multiprocessors
  int64_t sharedPerProcessor;    // bytes
  int64_t sharedPerBlock;        // bytes at most, with opt-in
  int64_t registersPerProcessor; // of 32 bits
  int64_t threadsPerProcessor;
  int64_t blocksPerProcessor;

  // Peak rates.
  double bf16TeraFlops; // tensor cores, f32 accumulation
  double f32TeraFlops;  // vector units
  double f64TeraFlops;  // tensor cores; 0: no faster than vector units
  double memoryGBs;

  // Instructions.
  bool hasFp8Mma; // mma.sync with f8 operands at full rate
  bool hasWgmma;  // warpgroup products and bulk tensor copies
};

/// The description of "sm_80", or null.
const TargetDescription *findTargetDescription(llvm::StringRef name);

/// "sm_80, sm_86, ..." for messages.
std::string listTargetNames();

} // namespace tsp

#endif // TSP_KERNELS_GPU_TARGETDESCRIPTION_H
