//===- Launch.h - what a launcher says in the environment -------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_LAUNCH_H
#define TSP_RUNTIME_CORE_LAUNCH_H

#include "core/Types.h"

namespace tsp::runtime {

/// One of several processes that run a model together.
struct ProcessLaunch {
  std::string launcher; ///< "torchrun", "mpirun", "srun"; "" for one process
  int64_t index = 0, count = 1;
  int64_t localIndex = 0; ///< among those of this machine

  /// Where process 0 listens; no host: to be exchanged by MPI.
  std::string host;
  int port = 0;

  /// Whether an MPI knows of the processes; else they meet at `host`.
  bool hasMpi = false;

  bool alone() const { return count == 1; }
};

/// Reads the variables of torchrun, Open MPI, PMI and Slurm, in this order.
/// Throws an Error when they contradict themselves.
ProcessLaunch findLaunch();

/// The first host of a Slurm node list: "node07" of "node[07-09,12],login".
std::string firstHost(const std::string &nodeList);

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_LAUNCH_H
