//===- Plan.h - placements of all values and what ops do --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_SHARDING_PLAN_H
#define TSP_SHARDING_PLAN_H

#include "tsp/Sharding/ShardingRule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

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
  /// Number of the fold that the op belongs to, or -1.
  int fold = -1;

  /// Whether the results are partial ones that only the end of the fold
  /// combines.
  bool isFoldPartial() const;
  /// The factor that is folded, or null.
  const DimShard *foldedFactor() const;
  /// Sets `partial` to what follows from the assignment and the results: a
  /// result that ends sharded over an axis that was reduced is scattered.
  void findPartial();
};

/// Placements of every value of a function and what each op does. Between the
/// planner and the partitioner it lives in the IR, as attributes that can be
/// read and written by hand:
///
/// - of each op `tsp.operand_placements` and `tsp.result_placements`, as it
/// uses
///   and gives them (an operand that comes in another placement is moved
///   first);
/// - of each op in a fold its number, `tsp.fold`;
/// - of arguments `tsp.placement`.
///
/// Values that are made anew wherever they are needed have none.
class Plan {
public:
  using Placements = llvm::DenseMap<mlir::Value, Placement>;
  using Ops = llvm::DenseMap<mlir::Operation *, std::unique_ptr<OpPlan>>;

  Plan(Placements placements, Ops ops);

  const Placement &placement(mlir::Value value) const {
    return placements.find(value)->second;
  }
  const OpPlan &op(mlir::Operation *op) const { return *ops.find(op)->second; }
  /// Number of the op's fold; -1 outside of folds.
  int foldOf(mlir::Operation *op) const;
  /// How the dims of a fold are folded.
  const DimShard &foldedShard(int fold) const {
    return folds.find(fold)->second;
  }

  /// Whether a value is made anew wherever it is needed, in the placement that
  /// is needed: splat constants, iota and broadcasts of these or of a scalar.
  static bool isRematerialized(mlir::Value value);

  /// Writes the plan into the IR.
  void write(mlir::func::FuncOp func, MeshAttr mesh) const;
  /// Takes it out again; reports ops that it leaves out or does not fit.
  static mlir::FailureOr<Plan> take(mlir::func::FuncOp func, MeshAttr mesh);

private:
  Placements placements;
  Ops ops;
  llvm::DenseMap<int, DimShard> folds;
};

} // namespace tsp

#endif // TSP_SHARDING_PLAN_H
