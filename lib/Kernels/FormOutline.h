//===- FormOutline.h - from clusters to kernels and launches ----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_FORMOUTLINE_H
#define TSP_LIB_KERNELS_FORMOUTLINE_H

#include "FormClusters.h"

#include "tsp/Dialect/TSP/IR/TspDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tsp {

/// A kernel that has no name of its own yet, its one launch, the name of the op
/// that stands for it, and whether some inputs share a buffer.
struct LaunchedKernel {
  LaunchOp launch;
  mlir::func::FuncOp kernel;
  llvm::StringRef opName;
  bool hasAliases;
};

/// Makes a kernel of a cluster, at the end of `module`, and a launch of it before
/// the root, whose uses it takes over. The ops of the cluster stay behind, as
/// other clusters may still need them. Clusters of users come before those of
/// producers.
LaunchedKernel outlineCluster(const Cluster &cluster, RecomputeRules &rules,
                              mlir::ModuleOp module);

/// Gives one kernel to all launches of kernels that are equal but for locations
/// and for the buffers that results may take over, where all may be taken over, and
/// names kernels by what they do. Returns the number of kernels that are left.
int64_t mergeEqualKernels(mlir::ModuleOp module,
                          llvm::ArrayRef<LaunchedKernel> launched);

} // namespace tsp

#endif // TSP_LIB_KERNELS_FORMOUTLINE_H
