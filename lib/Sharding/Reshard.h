//===- Reshard.h - from one placement to another ----------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_SHARDING_RESHARD_H
#define TSP_LIB_SHARDING_RESHARD_H

#include "tsp/Sharding/Placement.h"

#include "mlir/IR/Builders.h"

namespace tsp {

/// One move on the way from one placement to another.
struct ReshardStep {
  enum Kind {
    Gather,   ///< the minor axis of `dim` no longer splits it
    Exchange, ///< the minor axis of `dim` becomes the minor axis of `target`
    Slice,    ///< each rank keeps its part along one more axis of `dim`
    Part      ///< the part of `dim` that the fold's step works on
  } kind;
  int64_t dim;
  int64_t target;
  Placement before, after;

  /// The axis that is moved (not of Part).
  AxisSplit split() const {
    return (kind == Slice ? after : before).dims[dim].axes.back();
  }
  /// Bytes that a rank receives for a value of type `global`.
  int64_t bytesReceived(mlir::RankedTensorType global, MeshAttr mesh) const;
};

/// The moves, in order. Minor axes go first and come last; an axis that goes to
/// another dim is exchanged when that dim is ready for it, and gathered else.
llvm::SmallVector<ReshardStep> planReshard(mlir::RankedTensorType global,
                                           const Placement &from,
                                           const Placement &to, MeshAttr mesh);

/// Moves `value`, the local part of a value of type `global` placed as `from`,
/// to placement `to`. `part` is the number of the part inside a fold.
mlir::Value reshard(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value value, mlir::RankedTensorType global,
                    const Placement &from, const Placement &to, MeshAttr mesh,
                    mlir::Value part);

} // namespace tsp

#endif // TSP_LIB_SHARDING_RESHARD_H
