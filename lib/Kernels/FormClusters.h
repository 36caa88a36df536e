//===- FormClusters.h - which ops make a kernel together --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_FORMCLUSTERS_H
#define TSP_LIB_KERNELS_FORMCLUSTERS_H

#include "FormRules.h"

#include "mlir/IR/Block.h"
#include <memory>

namespace tsp {

/// The ops that one kernel computes. All are in one block, the root is the last;
/// its results are the results of the kernel.
struct Cluster {
  struct Member {
    /// Element i of it is read only for element i of the root.
    bool identity;
    /// It is computed again for several elements of the root.
    bool repeated;
  };
  mlir::Operation *root;
  /// The contraction, reduction or irregular op of the kernel, or null.
  mlir::Operation *heavy = nullptr;
  llvm::DenseMap<mlir::Operation *, Member> members;

  bool contains(mlir::Operation *op) const { return members.contains(op); }
};

/// Clusters of one block. Visits the ops from last to first, so that an op sees
/// into which kernels its users went, and joins them or becomes a root.
///
/// As a kernel holds a root and what only that root needs, and is launched at the
/// place of its root, kernels never wait on each other in a circle.
class ClusterBuilder {
public:
  explicit ClusterBuilder(RecomputeRules &rules) : rules(rules) {}

  /// In the order of their roots, last first.
  std::vector<std::unique_ptr<Cluster>> build(mlir::Block &block);

private:
  void place(mlir::Operation *op);
  void makeRoot(mlir::Operation *op);
  void join(mlir::Operation *op, Cluster &cluster);
  bool fits(mlir::Operation *op, Cluster &cluster);
  bool fitsAsContraction(mlir::Operation *op, Cluster &cluster);
  Cluster::Member describe(mlir::Operation *op, Cluster &cluster);

  RecomputeRules &rules;
  std::vector<std::unique_ptr<Cluster>> clusters;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Cluster *, 2>> clustersOf;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_FORMCLUSTERS_H
