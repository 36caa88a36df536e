//===- Localize.h - the program of one rank ---------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_SHARDING_LOCALIZE_H
#define TSP_LIB_SHARDING_LOCALIZE_H

#include "tsp/Sharding/Plan.h"

#include <map>

namespace tsp {

/// Writes the program of one rank from a function and its plan.
class Localizer {
public:
  /// `poison`: padding is overwritten wherever it may hold anything, to show
  /// that nothing depends on it.
  Localizer(MeshAttr mesh, const Plan &plan, bool poison)
      : mesh(mesh), plan(plan), poison(poison) {}

  /// Fills the body of `local` (arguments and results of local types).
  mlir::LogicalResult run(mlir::func::FuncOp global, mlir::func::FuncOp local);

private:
  /// A local value and where it lives.
  struct Placed {
    mlir::Value value;
    Placement placement;
    /// A fold's partial result: only the fold's combine may use it.
    bool partial = false;
  };
  /// A block that is being written.
  struct Scope {
    /// Writes at the end of `block`, which need not stand in an op yet.
    Scope(Scope *parent, mlir::MLIRContext *context, mlir::Block *block)
        : parent(parent), builder(context) {
      builder.setInsertionPointToEnd(block);
    }

    Scope *parent;
    mlir::OpBuilder builder;
    llvm::DenseMap<mlir::Value, Placed> values;
    /// Values already moved to another placement.
    std::map<std::pair<const void *, std::vector<int64_t>>, mlir::Value> moved;
    /// In the body of a fold: its number, whether it runs the smaller parts at
    /// the end, the fold's operands so far and the number of the present part
    /// among those that the body runs.
    int fold = -1;
    bool tail = false;
    llvm::SmallVector<mlir::Value> parts;
    llvm::SmallVector<int64_t> partDims, partSizes, partStarts, partTotals;
    mlir::Value part;
  };

  mlir::LogicalResult emitBlock(mlir::Block &block, Scope &scope);
  mlir::LogicalResult emitOp(mlir::Operation *op, Scope &scope);
  /// The op on local operands, `types` being its local results, and these
  /// combined over the axes on which they are partial.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  emitCombined(mlir::Operation *op, const OpPlan &opPlan,
               llvm::ArrayRef<mlir::Value> operands,
               llvm::ArrayRef<mlir::RankedTensorType> types, Scope &scope);
  /// Of an op that ranks do for each other's elements: for how many of each
  /// rank's at once, so that a rank need not hold the results of all; 0 when it
  /// may, or must (ScatterInSteps.cpp).
  int64_t scatterAtOnce(mlir::Operation *op, const OpPlan &opPlan,
                        const Scope &scope) const;
  mlir::LogicalResult emitScatterInSteps(mlir::Operation *op,
                                         const OpPlan &opPlan, int64_t size,
                                         Scope &scope);
  mlir::LogicalResult emitFold(llvm::ArrayRef<mlir::Operation *> members,
                               Scope &scope);
  /// Writes the steps of one size; `defined` becomes what users outside see of
  /// each result: the value of the program and its placement.
  mlir::FailureOr<FoldOp>
  emitSteps(llvm::ArrayRef<mlir::Operation *> members, Scope &scope, bool tail,
            llvm::SmallVectorImpl<std::pair<mlir::Value, Placement>> &defined);
  /// The results of a fold whose steps of two sizes are two ops.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  mergeSteps(Scope &scope, FoldOp larger, FoldOp smaller);
  /// What the plan says of the op, on parts of the size that the scope runs.
  OpPlan planIn(const Scope &scope, mlir::Operation *op) const;
  mlir::LogicalResult emitWhile(mlir::Operation *op, Scope &scope);
  mlir::LogicalResult emitCase(mlir::Operation *op, Scope &scope);
  mlir::LogicalResult emitRegion(mlir::Region &from, mlir::Region &to,
                                 Scope &parent,
                                 llvm::ArrayRef<Placement> arguments,
                                 llvm::ArrayRef<Placement> results);
  mlir::LogicalResult emitReturn(mlir::func::ReturnOp op, Scope &scope);

  /// The value in the placement `want`, written into `scope`; null after an
  /// error was reported at `user`.
  mlir::Value get(mlir::Value value, const Placement &want, Scope &scope,
                  mlir::Operation *user);
  /// The same for several values.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  getAll(mlir::ValueRange values, llvm::ArrayRef<Placement> want, Scope &scope,
         mlir::Operation *user);
  mlir::Value materialize(mlir::Value value, const Placement &want,
                          Scope &scope, mlir::Operation *user);
  /// The operand of a fold that streams dim `dim` of `shard`: the block
  /// argument of its part.
  mlir::Value addPart(mlir::Value shard, int64_t dim, int64_t total,
                      const DimShard &folded, Scope &scope);
  const Placed *lookup(mlir::Value value, const Scope &scope) const;
  /// Makes `local` the value in the scope, its padding poisoned if asked for.
  void define(mlir::Value value, mlir::Value local, const Placement &placement,
              Scope &scope, bool partial = false);

  MeshAttr mesh;
  const Plan &plan;
  bool poison;
};

/// What ranks of `axis` have as partial results of one op, made whole on all of
/// them (Partials.cpp).
llvm::SmallVector<mlir::Value>
combineOverAxis(mlir::OpBuilder &builder, mlir::Location loc,
                mlir::ValueRange partials, CombineKind combine,
                mlir::StringAttr axis, int64_t ranks);

} // namespace tsp

#endif // TSP_LIB_SHARDING_LOCALIZE_H
