//===- VaryingValues.h - values that differ between ranks -------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_SHARDING_VARYINGVALUES_H
#define TSP_LIB_SHARDING_VARYINGVALUES_H

#include "tsp/Dialect/TSP/IR/TspDialect.h"

#include "llvm/ADT/DenseMap.h"

namespace tsp {

/// Whether an op moves values between the ranks of an axis.
bool isCollectiveOver(mlir::Operation *op, llvm::StringRef axis);

/// Finds values that surely differ between ranks: what comes from an argument
/// sharded over the axis, or from the rank's own coordinate.
class VaryingValues {
public:
  explicit VaryingValues(llvm::StringRef axis) : axis(axis) {}

  bool contains(mlir::Value value);

private:
  bool compute(mlir::Value value);
  bool argumentVaries(mlir::BlockArgument arg);

  llvm::StringRef axis;
  llvm::DenseMap<mlir::Value, bool> known;
};

} // namespace tsp

#endif // TSP_LIB_SHARDING_VARYINGVALUES_H
