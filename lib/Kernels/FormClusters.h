//===- FormClusters.h - which ops make a kernel together --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_FORMCLUSTERS_H
#define TSP_LIB_KERNELS_FORMCLUSTERS_H

#include "FormIndexing.h"
#include "FormRules.h"

#include "mlir/IR/Block.h"
#include <memory>

namespace tsp {

/// The ops that one kernel computes. All are in one block, the root is the last;
/// its results are the results of the kernel.
struct Cluster {
  struct Member {
    /// The loops of the root that index it; unknown where users differ.
    LoopMap loops;
    /// About how many elements of it are computed.
    int64_t evaluations = 0;
    /// Element i of it is read only for element i of the root.
    bool identity = true;
    /// Only a contraction reads it, through operand views.
    bool operandView = false;
    /// Every path from it to the root is one of result views.
    bool resultView = true;
  };
  mlir::Operation *root;
  /// The contraction, irregular op or a reduction of the kernel, or null.
  mlir::Operation *heavy = nullptr;
  /// What reductions there are, and the loops of the root that all of them keep.
  int64_t numReductions = 0;
  llvm::SmallVector<int64_t> rowLoops;
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
  bool fitsAsContraction(const Cluster::Member &member, Cluster &cluster);
  bool fitsAsReduction(mlir::Operation *op, const Cluster::Member &member,
                       Cluster &cluster);
  /// How `op` would be read by the members of `cluster` that use it.
  Cluster::Member describe(mlir::Operation *op, Cluster &cluster);
  bool dependsOnInnermost(const Cluster &cluster, llvm::ArrayRef<int64_t> loops);

  RecomputeRules &rules;
  std::vector<std::unique_ptr<Cluster>> clusters;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Cluster *, 2>> clustersOf;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_FORMCLUSTERS_H
