//===- Placement.h - placements as the partitioner uses them ----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_SHARDING_PLACEMENT_H
#define TSP_SHARDING_PLACEMENT_H

#include "tsp/Dialect/TSP/IR/TspDialect.h"

namespace tsp {

/// How one dim is split. At most one of `axis` and `fold` is set.
struct DimShard {
  /// Mesh axis that shards the dim; -1 when no axis does.
  int axis = -1;
  /// Elements of the dim that a rank holds (its local size) when sharded.
  int64_t chunk = 0;
  /// Mesh axis over which the dim is folded: inside the fold's body a value
  /// holds one of `steps` equal parts. -1 when it is not.
  int fold = -1;
  int64_t steps = 0;

  bool isWhole() const { return axis < 0 && fold < 0; }
  bool operator==(const DimShard &o) const {
    return axis == o.axis && chunk == o.chunk && fold == o.fold &&
           steps == o.steps;
  }
  bool operator!=(const DimShard &o) const { return !(*this == o); }
};

/// The placement of a value: a DimShard a dim. Partial sums never live on a
/// value: the op that makes them combines them.
struct Placement {
  llvm::SmallVector<DimShard> dims;

  Placement() = default;
  explicit Placement(size_t rank) : dims(rank) {}
  bool operator==(const Placement &o) const { return dims == o.dims; }
  bool operator!=(const Placement &o) const { return !(*this == o); }

  bool usesAxis(int axis) const {
    return llvm::any_of(dims,
                        [&](const DimShard &d) { return d.axis == axis; });
  }
  /// The dim that is folded over any axis, or -1.
  int foldedDim() const {
    for (auto [i, d] : llvm::enumerate(dims))
      if (d.fold >= 0)
        return i;
    return -1;
  }
  bool isWhole() const {
    return llvm::all_of(dims, [](const DimShard &d) { return d.isWhole(); });
  }
};

inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// Even chunk of `total` elements over `ranks` in multiples of `unit`.
int64_t chunkOf(int64_t total, int64_t ranks, int64_t unit = 1);

/// The type of the part that a rank holds (under `fold`: of one step).
mlir::RankedTensorType localType(mlir::RankedTensorType global,
                                 const Placement &placement);

PlacementAttr toAttr(const Placement &placement, mlir::RankedTensorType global,
                     MeshAttr mesh);

/// The placement that `attr` says of a value of type `global`; reports an axis
/// that the mesh lacks, a wrong rank, or several axes on one dim.
mlir::FailureOr<Placement>
fromAttr(PlacementAttr attr, mlir::RankedTensorType global, MeshAttr mesh,
         llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// The mesh of the module (attribute `tsp.mesh`); one of no axes when absent.
MeshAttr getMesh(mlir::Operation *op);

} // namespace tsp

#endif // TSP_SHARDING_PLACEMENT_H
