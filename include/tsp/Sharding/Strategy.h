//===- Strategy.h - strategies are seeds ------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_SHARDING_STRATEGY_H
#define TSP_SHARDING_STRATEGY_H

#include "tsp/Sharding/DimClasses.h"

namespace tsp {

/// What a class of dims is in a transformer, found by dataflow.
enum class Role { None, Batch, Token, Head, Ffn, Vocab };
llvm::StringRef roleName(Role role);

/// One item of `--strategy`: how a mesh axis is used.
struct StrategyItem {
  /// `tp`: heads, FFN columns and vocabulary sharded, in whole units.
  /// `tsp`: tokens sharded; heads, FFN columns and vocabulary stored sharded
  /// and folded. `sp_gather`: tokens sharded, weights whole. `data`: the batch
  /// sharded.
  enum Kind { TP, TSP, SpGather, Data } kind;
  int axis;
  /// How tokens are laid out.
  Layout layout = Layout::Contiguous;
};

/// Reads `none`, `tp`, `tsp@t`, `tsp(zigzag)@t`, `data@d,tsp@t`, ...; without
/// `@` the only mesh axis of a size over 1 is meant. Several items that shard
/// the same dims nest, the first being the major one. Reports what is wrong and
/// what is known.
mlir::FailureOr<llvm::SmallVector<StrategyItem>>
parseStrategy(llvm::StringRef text, MeshAttr mesh,
              llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// What a strategy says of one function: where arguments live, where tokens
/// are wanted, and what is folded.
class Seeds {
public:
  Seeds(mlir::func::FuncOp func, MeshAttr mesh,
        llvm::ArrayRef<StrategyItem> items);

  /// Placements that arguments carry (`tsp.placement`) go before the strategy.
  mlir::LogicalResult readArguments(mlir::func::FuncOp func);

  /// Placement of argument `i`.
  const Placement &argument(unsigned i) const { return arguments[i]; }
  /// Overrides it: a parameter or state that another entry has placed.
  void setArgument(unsigned i, const Placement &placement) {
    arguments[i] = placement;
  }
  /// How the dim should be sharded when nothing else decides.
  DimShard wantedShard(mlir::Value value, int64_t dim);
  /// The value sharded on all the axes that are wanted.
  Placement wantedPlacement(mlir::Value value);
  /// How the dim is folded over `axis`; whole when it is not to be folded.
  DimShard foldedShard(mlir::Value value, int64_t dim, int axis);
  /// Whether the value is computed from parameters and constants alone.
  bool isWeight(mlir::Value value) const { return weights.contains(value); }
  Role roleOf(mlir::Value value, int64_t dim);

private:
  bool isFoldable(mlir::Value value, int64_t dim, int axis);
  void findWeights(mlir::func::FuncOp func);
  void findRoles(mlir::func::FuncOp func);
  void placeArguments(mlir::func::FuncOp func,
                      llvm::ArrayRef<StrategyItem> items);

  MeshAttr mesh;
  DimClasses classes;
  llvm::DenseSet<mlir::Value> weights;
  llvm::DenseMap<int, Role> roles;
  llvm::SmallVector<Placement> arguments;
  /// Axes by role, major to minor.
  llvm::SmallVector<AxisSplit> tokenAxes, batchAxes;
  /// The axis of folds; -1 when the strategy has none.
  int foldAxis = -1;
};

/// Steps of a fold of `units` whole units over `ranks`: the least divisor of
/// units that is not below min(ranks, units), so that all steps are equal. When
/// that is over four times the ranks, one step a rank, of which the first ones
/// have one unit more.
int64_t stepsOf(int64_t units, int64_t ranks);

} // namespace tsp

#endif // TSP_SHARDING_STRATEGY_H
