//===- TargetDescription.cpp - facts about GPU architectures --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/GPU/TargetDescription.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace tsp;

static constexpr int64_t KB = 1024;

// Shared memory of a block: what a multiprocessor has less 1 KB for the driver.
static const TargetDescription descriptions[] = {
    // A100
    {"sm_80", 80, "+ptx80", false, /*processors=*/108, 164 * KB, 163 * KB,
     65536, 2048, 32,
     /*bf16=*/312, /*f32=*/19.5, /*f64=*/19.5, /*GB/s=*/2039, /*fp8=*/false,
     /*wgmma=*/false},
    // RTX 3090, A40
    {"sm_86", 86, "+ptx80", false, 84, 100 * KB, 99 * KB, 65536, 1536, 16, 150,
     37.4, 0, 696, false, false},
    // L40S
    {"sm_89", 89, "+ptx84", false, 142, 100 * KB, 99 * KB, 65536, 1536, 24, 362,
     91.6, 0, 864, true, false},
    // H100 SXM
    {"sm_90", 90, "+ptx80", false, 132, 228 * KB, 227 * KB, 65536, 2048, 32,
     989, 67, 67, 3350, false, false},
    {"sm_90a", 90, "+ptx80", true, 132, 228 * KB, 227 * KB, 65536, 2048, 32,
     989, 67, 67, 3350, false, true},
    // B200
    {"sm_100", 100, "+ptx86", false, 148, 228 * KB, 227 * KB, 65536, 2048, 32,
     2250, 80, 37, 8000, false, false},
    // RTX PRO 6000
    {"sm_120", 120, "+ptx87", false, 188, 100 * KB, 99 * KB, 65536, 1536, 24,
     503, 125, 0, 1792, true, false},
};

const TargetDescription *tsp::findTargetDescription(llvm::StringRef name) {
  const auto *found =
      llvm::find_if(descriptions, [&](const TargetDescription &target) {
        return target.name == name;
      });
  return found == std::end(descriptions) ? nullptr : found;
}

std::string tsp::listTargetNames() {
  return llvm::join(llvm::map_range(descriptions,
                                    [](const TargetDescription &target) {
                                      return target.name.str();
                                    }),
                    ", ");
}
