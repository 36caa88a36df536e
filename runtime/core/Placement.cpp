//===- Placement.cpp - which elements of a value a rank owns --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Placement.h"

using namespace tsp::runtime;

std::vector<int64_t> tsp::runtime::rankCoordinates(const MeshShape &mesh,
                                                   int64_t rank) {
  std::vector<int64_t> coordinates(mesh.size());
  for (size_t i = mesh.size(); i-- > 0;) {
    coordinates[i] = rank % mesh[i];
    rank /= mesh[i];
  }
  return coordinates;
}

int64_t tsp::runtime::localSize(const MeshShape &mesh,
                                const DimPlacement &placement, int64_t total) {
  for (const AxisSplit &split : placement)
    total = Chunking{total, mesh[split.axis], split.layout, split.unit}.local();
  return total;
}

/// Elements of `inner` (segments of a local part) in terms of `outer`, whose
/// local elements are the global ones of `inner`.
static std::vector<Segment> compose(const std::vector<Segment> &outer,
                                    const std::vector<Segment> &inner) {
  std::vector<Segment> result;
  for (const Segment &in : inner)
    for (const Segment &out : outer) {
      int64_t begin = std::max(in.global, out.local);
      int64_t end = std::min(in.global + in.size, out.local + out.size);
      if (begin < end)
        result.push_back({in.local + (begin - in.global),
                          out.global + (begin - out.local), end - begin});
    }
  return result;
}

std::vector<Segment>
tsp::runtime::ownedSegments(const MeshShape &mesh,
                            const DimPlacement &placement, int64_t total,
                            const std::vector<int64_t> &coordinates) {
  std::vector<Segment> owned;
  if (total > 0)
    owned.push_back({0, 0, total});
  for (const AxisSplit &split : placement) {
    Chunking chunking{total, mesh[split.axis], split.layout, split.unit};
    Segment parts[2];
    int count = chunking.segments(coordinates[split.axis], parts);
    owned = compose(owned, std::vector<Segment>(parts, parts + count));
    total = chunking.local();
  }
  return owned;
}

void tsp::runtime::forEachRun(
    const std::vector<std::vector<Segment>> &dims,
    const std::vector<int64_t> &globalShape,
    const std::vector<int64_t> &localShape,
    const std::function<void(int64_t, int64_t, int64_t)> &fn) {
  size_t rank = dims.size();
  for (const auto &segments : dims)
    if (segments.empty())
      return;
  // Whole inner dims join the run of the innermost dim that is split.
  int64_t run = 1;
  size_t split = rank;
  while (split > 0 && dims[split - 1].size() == 1 &&
         dims[split - 1][0].size == globalShape[split - 1] &&
         globalShape[split - 1] == localShape[split - 1])
    run *= globalShape[--split];

  std::function<void(size_t, int64_t, int64_t)> walk =
      [&](size_t dim, int64_t local, int64_t global) {
        if (dim == split)
          return fn(local * run, global * run, run);
        for (const Segment &segment : dims[dim]) {
          int64_t l = local * localShape[dim] + segment.local;
          int64_t g = global * globalShape[dim] + segment.global;
          if (dim + 1 == split) {
            fn(l * run, g * run, segment.size * run);
            continue;
          }
          for (int64_t i = 0; i < segment.size; ++i)
            walk(dim + 1, l + i, g + i);
        }
      };
  walk(0, 0, 0);
}
