//===- Reshard.cpp - from one placement to another ------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalOps.h"
#include "Localize.h"

using namespace mlir;
using namespace tsp;

/// `unit` attribute of a collective: 1 for an even split in elements.
static int64_t unitOf(int64_t total, int64_t ranks, int64_t chunk) {
  return chunk == chunkOf(total, ranks) ? 1 : chunk;
}

Value tsp::reshard(OpBuilder &builder, Location loc, Value value,
                   RankedTensorType global, const Placement &from,
                   const Placement &to, MeshAttr mesh, Value part) {
  Placement now = from;
  for (int64_t d = 0; d < global.getRank(); ++d) {
    DimShard shard = now.dims[d];
    if (shard.axis < 0 || shard == to.dims[d])
      continue;
    StringAttr axis = mesh.getAxes()[shard.axis];
    int64_t ranks = mesh.getSizes()[shard.axis], total = global.getDimSize(d);
    // To another dim, which is whole now: all-to-all.
    int64_t target = -1;
    for (int64_t e = 0; e < global.getRank(); ++e)
      if (e != d && to.dims[e].axis == shard.axis && now.dims[e].isWhole())
        target = e;
    now.dims[d] = DimShard();
    if (target >= 0) {
      now.dims[target] = to.dims[target];
      int64_t size = global.getDimSize(target);
      value = AllToAllOp::create(builder, loc, localType(global, now), value,
                                 axis, target, size,
                                 unitOf(size, ranks, to.dims[target].chunk), d,
                                 total, unitOf(total, ranks, shard.chunk));
      continue;
    }
    value = AllGatherOp::create(
        builder, loc, localType(global, now), value, axis, d, total,
        unitOf(total, ranks, shard.chunk), Layout::Contiguous);
  }
  for (int64_t d = 0; d < global.getRank(); ++d) {
    DimShard shard = to.dims[d];
    if (!now.dims[d].isWhole() || shard.isWhole())
      continue;
    int64_t total = global.getDimSize(d);
    if (shard.fold >= 0) {
      int64_t size = total / shard.steps;
      value = sliceAt(builder, loc, value, d,
                      multiplyI32(builder, loc, part, size), size);
    } else {
      int64_t ranks = mesh.getSizes()[shard.axis];
      value =
          padWithZeros(builder, loc, value, d, 0, ranks * shard.chunk - total);
      Value index = AxisIndexOp::create(builder, loc, scalarI32Type(builder),
                                        mesh.getAxes()[shard.axis]);
      value =
          sliceAt(builder, loc, value, d,
                  multiplyI32(builder, loc, index, shard.chunk), shard.chunk);
    }
    now.dims[d] = shard;
  }
  assert(value.getType() == localType(global, to));
  return value;
}
