//===- VaryingValues.h - values that differ between ranks -------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_SHARDING_VARYINGVALUES_H
#define TSP_LIB_SHARDING_VARYINGVALUES_H

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Dialect/TSP/IR/TspDialect.h"

#include "llvm/ADT/DenseMap.h"

#include <map>

namespace tsp {

/// Whether an op moves values between the ranks of an axis.
bool isCollectiveOver(mlir::Operation *op, llvm::StringRef axis);

/// Finds values that differ between ranks: what comes from an argument sharded
/// over the axis, or from the rank's own coordinate. All others are equal on all
/// ranks of the axis.
class VaryingValues {
public:
  explicit VaryingValues(llvm::StringRef axis) : axis(axis) {}

  bool contains(mlir::Value value);

private:
  bool compute(mlir::Value value);
  bool argumentVaries(mlir::BlockArgument arg);
  /// For each value that the loop carries, whether it varies in any round.
  const llvm::SmallVector<bool> &ofLoop(stablehlo::WhileOp loop);
  /// Forgets what was found inside of the loop.
  void forget(stablehlo::WhileOp loop);

  llvm::StringRef axis;
  llvm::DenseMap<mlir::Value, bool> known;
  std::map<mlir::Operation *, llvm::SmallVector<bool>> loops;
};

} // namespace tsp

#endif // TSP_LIB_SHARDING_VARYINGVALUES_H
