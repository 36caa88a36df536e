//===- FoldCombines.h - the algebra of a fold's results ---------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_SHARDING_FOLDCOMBINES_H
#define TSP_LIB_SHARDING_FOLDCOMBINES_H

#include "tsp/Dialect/TSP/IR/TspDialect.h"

#include "mlir/IR/Builders.h"
#include <memory>

namespace tsp {

/// How one result of a fold, or a pair of results, is made of what the steps
/// yield.
class FoldCombine {
public:
  explicit FoldCombine(FoldOp fold) : fold(fold) {}
  virtual ~FoldCombine() = default;

  /// The value carried into the first step for result number `result`.
  virtual mlir::Value makeInit(mlir::OpBuilder &builder, mlir::Location loc,
                               unsigned result) = 0;
  /// Merges what step number `part` yields into what is carried; one value for
  /// each of `results`.
  virtual void step(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value part,
                    mlir::ValueRange partials, mlir::ValueRange carried,
                    llvm::SmallVectorImpl<mlir::Value> &next) = 0;

  /// Numbers of the results it stands for.
  llvm::SmallVector<unsigned, 2> results;

protected:
  mlir::RankedTensorType getType(unsigned result) {
    return llvm::cast<mlir::RankedTensorType>(fold.getResult(result).getType());
  }

  FoldOp fold;
};

/// One combine for each result, or pair of results, of `fold`. Reports what no
/// combine can be made of.
mlir::LogicalResult
makeFoldCombines(FoldOp fold,
                 llvm::SmallVectorImpl<std::unique_ptr<FoldCombine>> &combines);

} // namespace tsp

#endif // TSP_LIB_SHARDING_FOLDCOMBINES_H
