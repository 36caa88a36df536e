//===- Plan.h - placements of all values and what ops do --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_SHARDING_PLAN_H
#define TSP_SHARDING_PLAN_H

#include "tsp/Dialect/Sdy/IR/SdyDialect.h"
#include "tsp/Sharding/Strategy.h"

namespace tsp {

/// How a partial result of an op becomes a whole one on an axis.
struct PartialResult {
  int axis;
  /// Dim of the result that ends sharded (a reduce-scatter), or -1.
  int64_t scatterDim = -1;
};

/// What the partitioner does with one op.
struct OpPlan {
  ShardingRule rule;
  Assignment assignment;
  llvm::SmallVector<Placement> operands, results;
  llvm::SmallVector<PartialResult> partial;
  /// The fold that the op belongs to, or -1; equal numbers are one fold (see
  /// Plan::foldOf).
  int fold = -1;

  /// Whether the results are partial ones that only the end of the fold
  /// combines.
  bool isFoldPartial() const;
};

/// Placements of every value of a function and what each op does, chosen op by
/// op in program order: of the factors that its operands are sharded by, the
/// one whose choice moves the fewest bytes. Where a strategy folds a weight
/// dim and tokens are on the same axis, the fold resolves the conflict.
class Plan {
public:
  Plan(mlir::func::FuncOp func, MeshAttr mesh, Seeds &seeds);

  const Placement &placement(mlir::Value value) const {
    return placements.find(value)->second;
  }
  const OpPlan &op(mlir::Operation *op) const { return *ops.find(op)->second; }
  /// Representative of the op's fold; -1 outside of folds.
  int foldOf(mlir::Operation *op) const;
  int foldAxis(int fold) const { return folds[fold].axis; }
  int64_t foldStepCount(int fold) const { return folds[fold].steps; }

  /// Whether a value is made anew wherever it is needed, in the placement that
  /// is needed: splat constants, iota and broadcasts of these or of a scalar.
  static bool isRematerialized(mlir::Value value);
  /// Bytes a rank receives to move a value from one placement to another.
  int64_t reshardBytes(mlir::RankedTensorType type, const Placement &from,
                       const Placement &to) const;

private:
  struct Fold {
    int axis;
    int64_t steps;
    int parent;
    /// Folds that must have ended before this one may begin.
    llvm::SmallDenseSet<int> needs;
  };

  void planBlock(mlir::Block &block);
  void planOp(mlir::Operation *op);
  void planWhile(mlir::Operation *op);
  void planCase(mlir::Operation *op);
  /// Values go whole, or as they are when nothing asks for a change.
  void planWhole(mlir::Operation *op);
  void planPlace(PlaceOp op);
  void planManual(sdy::ManualComputationOp op);
  void planReturn(mlir::Operation *op);
  /// Mesh axes of a size over 1 in the order in which they are to be chosen: an
  /// axis that splits what another one leaves comes after it.
  llvm::SmallVector<int> axesByLevel(mlir::Operation *op) const;
  /// Chooses what mesh axis `axis` does in the op.
  void chooseAxis(mlir::Operation *op, int axis, OpPlan &plan);
  void chooseFold(mlir::Operation *op, int axis, OpPlan &plan);
  /// Bytes a rank receives to have `value` placed as `to`; a broadcast is made
  /// anew rather than moved.
  int64_t moveBytes(mlir::Value value, const Placement &to) const;
  /// Weights with a head, FFN or vocabulary dim stay where they are, however
  /// small: a strategy that shards them means the memory too.
  int64_t weightPenalty(mlir::Value value, int axis, const Placement &to) const;
  int findFold(int fold) const;
  /// Folds that must have ended before `op` can run, taken as part of `fold`
  /// (-1: outside of folds).
  llvm::SmallDenseSet<int> neededFolds(mlir::Operation *op, int fold) const;
  bool contains(const llvm::SmallDenseSet<int> &set, int fold) const;
  /// A dim without a mark of a fold: what a user outside sees.
  Placement withoutFold(const Placement &placement) const;
  int64_t bytes(mlir::RankedTensorType type, const Placement &placement) const;

  mlir::func::FuncOp func;
  MeshAttr mesh;
  Seeds &seeds;
  llvm::DenseMap<mlir::Value, Placement> placements;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<OpPlan>> ops;
  /// Folds that must have ended before a value is there.
  llvm::DenseMap<mlir::Value, llvm::SmallDenseSet<int>> needs;
  mutable llvm::SmallVector<Fold> folds;
};

} // namespace tsp

#endif // TSP_SHARDING_PLAN_H
