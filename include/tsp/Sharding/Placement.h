//===- Placement.h - placements as the partitioner uses them ----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_SHARDING_PLACEMENT_H
#define TSP_SHARDING_PLACEMENT_H

#include "tsp/Dialect/TSP/IR/TspDialect.h"
#include "tsp/Support/TensorTypes.h"

namespace tsp {

/// A mesh axis that splits a dim, and which chunks a rank on it holds.
struct AxisSplit {
  int axis;
  Layout layout = Layout::Contiguous;
  /// Equal blocks of what the axes before it leave, each of which it splits.
  int64_t blocks = 1;

  /// Chunks of a rank in each block.
  int64_t chunks() const { return layout == Layout::Zigzag ? 2 : 1; }
  bool operator==(const AxisSplit &o) const {
    return axis == o.axis && layout == o.layout && blocks == o.blocks;
  }
};

/// How one dim is split: over mesh axes, each splitting what the ones before it
/// leave, or by a fold; never both.
struct DimShard {
  /// Major to minor; empty when no axis shards the dim.
  llvm::SmallVector<AxisSplit, 2> axes;
  /// Elements of the dim that a rank holds (its local size) when sharded.
  int64_t chunk = 0;
  /// Mesh axis over which the dim is folded: inside the fold's body a value
  /// holds one of `steps` parts. -1 when it is not.
  int fold = -1;
  int64_t steps = 0;
  /// The dim is cut into this many units of equal size. The first units % steps
  /// parts have one unit more than the others, which are the `tail`.
  int64_t units = 0;
  bool tail = false;

  bool isSharded() const { return !axes.empty(); }
  bool isWhole() const { return axes.empty() && fold < 0; }
  /// Place of the axis among those that shard the dim, or -1.
  int levelOf(int axis) const {
    for (auto [i, split] : llvm::enumerate(axes))
      if (split.axis == axis)
        return i;
    return -1;
  }
  /// Whether this axis alone shards the dim, in contiguous chunks.
  bool isOnly(int axis) const {
    return axes.size() == 1 && axes[0] == AxisSplit{axis};
  }
  /// Chunks of a rank, blocks aside.
  int64_t chunks() const {
    int64_t count = 1;
    for (const AxisSplit &split : axes)
      count *= split.chunks();
    return count;
  }
  bool hasBlocks() const {
    return llvm::any_of(
        axes, [](const AxisSplit &split) { return split.blocks != 1; });
  }
  bool operator==(const DimShard &o) const {
    return axes == o.axes && chunk == o.chunk && fold == o.fold &&
           steps == o.steps && units == o.units && tail == o.tail;
  }
  bool operator!=(const DimShard &o) const { return !(*this == o); }
};

/// Number of ranks among which the dim is split.
int64_t ranksOf(const DimShard &shard, MeshAttr mesh);
/// What a rank holds consists of pieces of this size, each of consecutive
/// elements.
int64_t pieceSizeOf(const DimShard &shard, MeshAttr mesh);
/// `total` elements split over `axes`, in chunks of a multiple of `unit`, or
/// evenly where there are blocks.
DimShard splitOver(llvm::ArrayRef<AxisSplit> axes, int64_t total, MeshAttr mesh,
                   int64_t unit = 1);
/// The first `count` axes of a shard alone.
DimShard prefixOf(const DimShard &shard, size_t count, MeshAttr mesh);
/// Elements of a dim of `total` elements that a rank (or a part) holds.
int64_t localSize(const DimShard &shard, int64_t total);
/// Parts of a fold that are as large as this one.
int64_t equalParts(const DimShard &shard);
/// First element of the first of these, of a dim of `total` elements.
int64_t firstOfParts(const DimShard &shard, int64_t total);
/// How many axes two shards have in common, from the major one on.
size_t commonLevels(const DimShard &a, const DimShard &b, MeshAttr mesh);
/// `unit` of a collective that splits `total` elements over one axis so that a
/// rank holds `chunk`: 1 when that is the even split.
int64_t unitOf(int64_t total, int64_t chunk, const AxisSplit &split,
               MeshAttr mesh);

/// The placement of a value: a DimShard a dim. Partial sums never live on a
/// value: the op that makes them combines them.
struct Placement {
  llvm::SmallVector<DimShard> dims;

  Placement() = default;
  explicit Placement(size_t rank) : dims(rank) {}
  bool operator==(const Placement &o) const { return dims == o.dims; }
  bool operator!=(const Placement &o) const { return !(*this == o); }

  bool usesAxis(int axis) const {
    return llvm::any_of(
        dims, [&](const DimShard &d) { return d.levelOf(axis) >= 0; });
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

/// The type of the part that a rank holds (under `fold`: of one step).
mlir::RankedTensorType localType(mlir::RankedTensorType global,
                                 const Placement &placement);

PlacementAttr toAttr(const Placement &placement, mlir::RankedTensorType global,
                     MeshAttr mesh);

/// The placement that `attr` says of a value of type `global`; reports an axis
/// that the mesh lacks or a wrong rank. Axes of size 1 are left out. Arguments
/// and results of the program (`isOutside`) have no blocks.
mlir::FailureOr<Placement>
fromAttr(PlacementAttr attr, mlir::RankedTensorType global, MeshAttr mesh,
         llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
         bool isOutside = false);

/// The mesh of the module (attribute `tsp.mesh`); one of no axes when absent.
MeshAttr getMesh(mlir::Operation *op);

} // namespace tsp

#endif // TSP_SHARDING_PLACEMENT_H
