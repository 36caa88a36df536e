//===- Planner.h - chooses the placements of all values ---------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_SHARDING_PLANNER_H
#define TSP_LIB_SHARDING_PLANNER_H

#include "tsp/Dialect/Sdy/IR/SdyDialect.h"
#include "tsp/Sharding/Plan.h"
#include "tsp/Sharding/Strategy.h"

namespace tsp {

/// Chooses op by op in program order: of the factors that the operands of an op
/// are sharded by, the one whose choice moves the fewest bytes. Where a
/// strategy folds a weight dim and tokens are on the same axis, the fold
/// resolves the conflict.
class Planner {
public:
  Planner(mlir::func::FuncOp func, MeshAttr mesh, Seeds &seeds)
      : func(func), mesh(mesh), seeds(seeds) {}

  Plan run();

private:
  struct Fold {
    int parent;
    /// Folds that must have ended before this one may begin.
    llvm::SmallDenseSet<int> needs;
  };

  const Placement &placement(mlir::Value value) const {
    return placements.find(value)->second;
  }
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
  /// What a mesh axis does in an op: shards `factor` down to the axis, or (-1)
  /// nothing.
  struct Choice {
    int factor;
    DimShard shard;
    /// Whether the strategy asks for it.
    bool wanted;
    /// What a rank receives of operands and result.
    int64_t bytes;
  };
  /// Of all choices for the axis the one that moves the fewest bytes.
  Choice findCheapest(mlir::Operation *op, int axis, const OpPlan &plan) const;
  void chooseAxis(mlir::Operation *op, int axis, OpPlan &plan);
  void chooseFold(mlir::Operation *op, int axis, OpPlan &plan);
  /// Bytes a rank receives to have `value` placed as `to`; a broadcast is made
  /// anew rather than moved.
  int64_t moveBytes(mlir::Value value, const Placement &to) const;
  /// Weights with a head, FFN or vocabulary dim stay where they are, however
  /// small: a strategy that shards them means the memory too.
  int64_t weightPenalty(mlir::Value value, int axis, const Placement &to) const;
  /// Representative of the op's fold; -1 outside of folds.
  int foldOf(mlir::Operation *op) const;
  int findFold(int fold) const;
  /// Folds that must have ended before `op` can run, taken as part of `fold`
  /// (-1: outside of folds).
  llvm::SmallDenseSet<int> neededFolds(mlir::Operation *op, int fold) const;
  bool contains(const llvm::SmallDenseSet<int> &set, int fold) const;
  /// A dim without a mark of a fold: what a user outside sees.
  Placement withoutFold(const Placement &placement) const;
  int64_t bytes(mlir::RankedTensorType type, const Placement &placement) const;
  /// Bytes a rank receives to move a value from one placement to another.
  int64_t reshardBytes(mlir::RankedTensorType type, const Placement &from,
                       const Placement &to) const;

  mlir::func::FuncOp func;
  MeshAttr mesh;
  Seeds &seeds;
  llvm::DenseMap<mlir::Value, Placement> placements;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<OpPlan>> ops;
  /// Folds that must have ended before a value is there.
  llvm::DenseMap<mlir::Value, llvm::SmallDenseSet<int>> needs;
  llvm::SmallVector<Fold> folds;
};

} // namespace tsp

#endif // TSP_LIB_SHARDING_PLANNER_H
