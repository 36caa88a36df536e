//===- CostModel.cpp - times that planners compare ------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CostModel.h"

#include <algorithm>

using namespace tsp;

double tsp::estimateReading(double bytes, int64_t blocks, int64_t bytesInFlight,
                            const TargetDescription &target) {
  int64_t resident = std::min(blocks, 8 * target.numProcessors);
  double rate = resident * double(bytesInFlight) / 600;
  return bytes / std::min(rate, target.memoryGBs) + kBlockTime;
}
