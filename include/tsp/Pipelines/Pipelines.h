//===- Pipelines.h - the phases of the compiler -----------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_PIPELINES_PIPELINES_H
#define TSP_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"

#include <string>
#include <vector>

namespace tsp {

/// What the phases are told. Command-line flags are turned into this in tools.
struct PipelineOptions {
  /// How mesh axes are used, as `--strategy` takes it.
  std::string strategy = "none";
  /// Patterns of the names of arguments that are parameters.
  std::vector<std::string> params;
  /// Schedules of folds, as tsp-select-schedule takes them: "ring" or
  /// "attention=broadcast"; empty: chosen by the cost model.
  std::vector<std::string> schedules;
  /// Parts in flight; -1: chosen by the cost model.
  int64_t prefetch = -1;
  /// Print why things were decided as they were.
  bool remarks = false;
  /// Widest vectors that kernels may use.
  int64_t vectorBits = 512;
  /// Architectures of the cuda target, the first being the one that kernels are
  /// shaped for; none: the host target.
  std::vector<std::string> architectures;

  bool isDevice() const { return !architectures.empty(); }
};

/// A phase of the compiler: `--emit=mlir-<name>` stops after it, and the
/// pipeline `tsp-phase-<name>` of tsp-opt runs it alone.
struct Phase {
  llvm::StringRef name, summary;
  void (*build)(mlir::OpPassManager &, const PipelineOptions &);
};

/// The phases from a program as JAX prints it to LLVM, in order.
llvm::ArrayRef<Phase> getPhases();

} // namespace tsp

#endif // TSP_PIPELINES_PIPELINES_H
