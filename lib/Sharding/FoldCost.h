//===- FoldCost.h - legality and cost of the schedules of a fold -*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_SHARDING_FOLDCOST_H
#define TSP_LIB_SHARDING_FOLDCOST_H

#include "tsp/Dialect/TSP/IR/TspDialect.h"

#include "llvm/ADT/DenseMap.h"
#include <string>

namespace tsp {

/// Why `fold` may not run under schedule ring; empty when it may. `ranks` is the
/// size of its axis.
std::string whyNotRing(FoldOp fold, int64_t ranks);

/// Speeds of a machine.
struct MachineModel {
  double linkGBs, latencyUs, gflops;

  double transferUs(double bytes) const { return latencyUs + bytes / (linkGBs * 1e3); }
};

/// Times in microseconds.
struct FoldCost {
  int64_t ranks, steps;
  double partBytes;  ///< of all parts of one step
  double stepUs;     ///< body for one part, with its collectives
  double sendUs;     ///< one step's parts over one link
  double broadcastUs;///< one step's parts to all ranks
  double gatherUs;   ///< all parts at once

  FoldCost(FoldOp fold, int64_t ranks, const MachineModel &machine);
  double total(Schedule schedule) const;
  /// Parts in flight that hide a transfer behind the body, at most 2.
  int64_t prefetchFor(Schedule schedule) const;
};

} // namespace tsp

#endif // TSP_LIB_SHARDING_FOLDCOST_H
