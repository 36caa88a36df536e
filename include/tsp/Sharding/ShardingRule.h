//===- ShardingRule.h - what an op lets the partitioner do ------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_SHARDING_SHARDINGRULE_H
#define TSP_SHARDING_SHARDINGRULE_H

#include "tsp/Sharding/Placement.h"

namespace tsp {

/// What sharding a factor of an op means.
enum class FactorKind {
  /// Parts are independent.
  Parallel,
  /// Parts give partial results, combined by the rule's `combine`.
  Reduce,
  /// The factor must be whole on every rank.
  Whole,
  /// The op's `localize` handles a sharded factor, with its communication.
  Special,
};

struct Factor {
  int64_t size;
  FactorKind kind;
  /// Only an even split is understood.
  bool evenOnly = false;
};

/// The factors of an op and, for each dim of each operand and result, the
/// factors that make it up, major to minor. Dims of size 1 may have none.
/// (The idea of rules as data is Shardy's.)
struct ShardingRule {
  using DimFactors = llvm::SmallVector<int, 2>;
  using ValueFactors = llvm::SmallVector<DimFactors>;

  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<ValueFactors> operands, results;
  CombineKind combine = CombineKind::Sum;

  int addFactor(int64_t size, FactorKind kind) {
    factors.push_back({size, kind});
    return factors.size() - 1;
  }
  /// The first factor of a dim whose size is not 1, or -1.
  int majorFactor(const DimFactors &dim) const {
    for (int f : dim)
      if (factors[f].size != 1)
        return f;
    return -1;
  }
  /// Product of the sizes of the factors of a dim after its major one.
  int64_t minorSize(const DimFactors &dim) const;
};

/// A DimShard a factor, in elements of the factor.
using Assignment = llvm::SmallVector<DimShard>;

/// Whether a value can be placed as an assignment says: a dim is split along
/// its major factor, or, where all splits are even, along any of its factors.
bool isExpressible(const ShardingRule &rule,
                   const ShardingRule::ValueFactors &value,
                   const Assignment &assignment, MeshAttr mesh);
/// The placement of a value under an assignment.
Placement placementOf(const ShardingRule &rule,
                      const ShardingRule::ValueFactors &value,
                      const Assignment &assignment);
/// The other way round: how the factors of a dim are sharded when the dim is
/// placed as `shard`, one for each; fails when it is split through a factor.
mlir::FailureOr<Assignment> assignmentOf(const ShardingRule &rule,
                                         const ShardingRule::DimFactors &dim,
                                         const DimShard &shard, MeshAttr mesh);

/// Where the elements of a local dim lie in the whole one: in pieces of equal
/// size, each of consecutive elements. Without offsets the dim is whole.
struct Pieces {
  int64_t size = 0;
  /// Index of the first element of each, as tensor<i32>.
  llvm::SmallVector<mlir::Value, 2> offsets;

  bool isWhole() const { return offsets.empty(); }
};

/// What an op needs to build its local form.
struct LocalContext {
  mlir::OpBuilder &builder;
  MeshAttr mesh;
  const ShardingRule &rule;
  const Assignment &assignment;
  /// Local operands, placed as the assignment says.
  llvm::ArrayRef<mlir::Value> operands;
  /// Local types of the results before partial ones are combined.
  llvm::SmallVector<mlir::RankedTensorType> resultTypes;
  /// Number of the part inside a fold (tensor<i32>); null outside.
  mlir::Value part;
  /// Operands whose padding is known to be zero: parameters, as they are
  /// loaded.
  llvm::SmallVector<bool> zeroPadded;

  /// The same context on other operands.
  LocalContext with(llvm::ArrayRef<mlir::Value> others) const {
    return {builder, mesh,        rule, assignment,
            others,  resultTypes, part, zeroPadded};
  }

  /// What this rank (or part) holds of factor `f`, each of whose elements
  /// stands for `scale` elements.
  Pieces piecesOf(mlir::Location loc, int f, int64_t scale = 1);
};

/// Local form of an op: a clone on local operands with local result types.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
localizeByClone(mlir::Operation *op, LocalContext &context);

/// Attaches the rules of StableHLO, CHLO and tsp ops.
void registerShardingRules(mlir::DialectRegistry &registry);

} // namespace tsp

#include "tsp/Sharding/ShardingRuleInterface.h.inc"

#endif // TSP_SHARDING_SHARDINGRULE_H
