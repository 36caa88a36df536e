//===- Placement.h - which elements of a value a rank owns ------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_PLACEMENT_H
#define TSP_RUNTIME_CORE_PLACEMENT_H

#include "core/Types.h"

#include <algorithm>
#include <functional>

namespace tsp::runtime {

/// Elements [local, local + size) of a local buffer are the elements
/// [global, global + size) of the whole dim.
struct Segment {
  int64_t local = 0, global = 0, size = 0;
};

/// A dim of `total` elements over `ranks` ranks of an axis, as tsp_layout says.
struct Chunking {
  int64_t total = 0;
  int64_t ranks = 1;
  int32_t layout = TSP_CONTIGUOUS;
  int64_t unit = 1;

  /// Size of one chunk (zigzag has two a rank).
  int64_t chunk() const {
    int64_t parts = (layout == TSP_ZIGZAG ? 2 : 1) * ranks * unit;
    return (total + parts - 1) / parts * unit;
  }

  /// Local size, padding included.
  int64_t local() const { return chunk() * (layout == TSP_ZIGZAG ? 2 : 1); }

  /// The owned elements of a rank: at most two segments, in local order.
  /// Returns how many, none of them empty.
  int segments(int64_t rank, Segment out[2]) const {
    int count = 0;
    int64_t c = chunk();
    auto add = [&](int64_t index, int64_t local) {
      int64_t begin = std::min(total, index * c);
      int64_t end = std::min(total, (index + 1) * c);
      if (begin < end)
        out[count++] = {local, begin, end - begin};
    };
    add(rank, 0);
    if (layout == TSP_ZIGZAG)
      add(2 * ranks - 1 - rank, c);
    return count;
  }

  /// Number of owned elements.
  int64_t owned(int64_t rank) const {
    Segment parts[2];
    int64_t sum = 0;
    for (int i = 0, n = segments(rank, parts); i < n; ++i)
      sum += parts[i].size;
    return sum;
  }
};

/// One axis that splits a dim.
struct AxisSplit {
  int axis = 0; ///< number of the mesh axis
  int32_t layout = TSP_CONTIGUOUS;
  int64_t unit = 1;
};

/// The axes that split a dim, the major one first. Each splits the local part
/// that the ones before it left, padding included.
using DimPlacement = std::vector<AxisSplit>;

/// Sizes of the mesh axes, the major one first.
using MeshShape = std::vector<int64_t>;

/// Coordinates of a rank.
std::vector<int64_t> rankCoordinates(const MeshShape &mesh, int64_t rank);

/// Local size of a dim of `total` elements.
int64_t localSize(const MeshShape &mesh, const DimPlacement &placement,
                  int64_t total);

/// Elements of the dim that a rank owns, in local order.
std::vector<Segment> ownedSegments(const MeshShape &mesh,
                                   const DimPlacement &placement, int64_t total,
                                   const std::vector<int64_t> &coordinates);

/// Calls fn(local element, global element, run) for the runs of elements that
/// are contiguous in both the local buffer and the whole value. `dims` has the
/// owned segments of each dim.
void forEachRun(
    const std::vector<std::vector<Segment>> &dims,
    const std::vector<int64_t> &globalShape,
    const std::vector<int64_t> &localShape,
    const std::function<void(int64_t local, int64_t global, int64_t run)> &fn);

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_PLACEMENT_H
