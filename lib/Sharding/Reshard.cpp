//===- Reshard.cpp - from one placement to another ------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reshard.h"
#include "LocalOps.h"

using namespace mlir;
using namespace tsp;

int64_t ReshardStep::bytesReceived(RankedTensorType global,
                                   MeshAttr mesh) const {
  if (kind != Gather && kind != Exchange)
    return 0;
  int64_t ranks = mesh.getSizes()[split().axis];
  int64_t held = localType(global, before).getNumElements() *
                 llvm::divideCeil(global.getElementTypeBitWidth(), 8);
  return kind == Gather ? held * (ranks - 1) : held * (ranks - 1) / ranks;
}

/// The dim that takes `axis` next on the way to `to`, or -1.
static int64_t takerOf(int axis, const Placement &now, const Placement &to,
                       MeshAttr mesh) {
  for (auto [d, dims] : llvm::enumerate(llvm::zip(now.dims, to.dims))) {
    auto &[has, gets] = dims;
    size_t level = has.axes.size();
    if (has.fold < 0 && gets.axes.size() > level &&
        gets.axes[level].axis == axis && gets.axes[level].blocks == 1 &&
        prefixOf(gets, level, mesh) == has)
      return d;
  }
  return -1;
}

SmallVector<ReshardStep> tsp::planReshard(RankedTensorType global,
                                          const Placement &from,
                                          const Placement &to, MeshAttr mesh) {
  SmallVector<ReshardStep> steps;
  Placement now = from;
  auto move = [&](ReshardStep::Kind kind, int64_t dim, const Placement &after,
                  int64_t target = -1) {
    steps.push_back({kind, dim, target, now, after});
    now = after;
  };
  for (int64_t d = 0; d < global.getRank(); ++d) {
    size_t stays = commonLevels(now.dims[d], to.dims[d], mesh);
    while (now.dims[d].axes.size() > stays) {
      const AxisSplit &split = now.dims[d].axes.back();
      Placement after = now;
      after.dims[d] = prefixOf(now.dims[d], now.dims[d].axes.size() - 1, mesh);
      int64_t target = takerOf(split.axis, now, to, mesh);
      if (target < 0 || split.blocks != 1) {
        move(ReshardStep::Gather, d, after);
        continue;
      }
      size_t level = now.dims[target].axes.size() + 1;
      after.dims[target] = prefixOf(to.dims[target], level, mesh);
      move(ReshardStep::Exchange, d, after, target);
    }
  }
  for (int64_t d = 0; d < global.getRank(); ++d) {
    if (now.dims[d].isWhole() && to.dims[d].fold >= 0) {
      Placement after = now;
      after.dims[d] = to.dims[d];
      move(ReshardStep::Part, d, after);
    }
    while (now.dims[d].axes.size() < to.dims[d].axes.size()) {
      Placement after = now;
      after.dims[d] = prefixOf(to.dims[d], now.dims[d].axes.size() + 1, mesh);
      move(ReshardStep::Slice, d, after);
    }
  }
  assert(now == to && "each placement can be had from any other");
  return steps;
}

Value tsp::reshard(OpBuilder &builder, Location loc, Value value,
                   RankedTensorType global, const Placement &from,
                   const Placement &to, MeshAttr mesh, Value part) {
  for (const ReshardStep &step : planReshard(global, from, to, mesh)) {
    int64_t d = step.dim;
    RankedTensorType before = localType(global, step.before),
                     after = localType(global, step.after);
    if (step.kind == ReshardStep::Part) {
      Value offset =
          partOffset(builder, loc, part, to.dims[d], global.getDimSize(d));
      value = sliceAt(builder, loc, value, d, offset, after.getDimSize(d));
      continue;
    }
    AxisSplit split = step.split();
    StringAttr axis = mesh.getAxes()[split.axis];
    if (step.kind == ReshardStep::Exchange) {
      int64_t target = step.target, size = before.getDimSize(target),
              whole = after.getDimSize(d);
      AxisSplit gets = step.after.dims[target].axes.back();
      value = AllToAllOp::create(
          builder, loc, after, value, axis, target, size,
          unitOf(size, after.getDimSize(target), gets, mesh), d, whole,
          unitOf(whole, before.getDimSize(d), split, mesh), gets.layout,
          split.layout, CodecAttr());
      continue;
    }
    // Blocks are a dim of their own meanwhile.
    auto inBlocks = [&](RankedTensorType type) {
      SmallVector<int64_t> shape(type.getShape());
      shape[d] /= split.blocks;
      if (split.blocks > 1)
        shape.insert(shape.begin() + d, split.blocks);
      return type.clone(shape);
    };
    RankedTensorType source = inBlocks(before), result = inBlocks(after);
    int64_t dim = split.blocks > 1 ? d + 1 : d;
    value = reshape(builder, loc, value, source.getShape());
    split.blocks = 1;
    if (step.kind == ReshardStep::Slice) {
      DimShard own;
      own.axes = {split};
      own.chunk = result.getDimSize(dim);
      value =
          padWithZeros(builder, loc, value, dim, 0,
                       own.chunk * ranksOf(own, mesh) - source.getDimSize(dim));
      value = slicePieces(builder, loc, value, dim,
                          piecesOf(builder, loc, own, mesh));
    } else {
      int64_t whole = result.getDimSize(dim);
      value = AllGatherOp::create(
          builder, loc, result, value, axis, dim, whole,
          unitOf(whole, source.getDimSize(dim), split, mesh), split.layout,
          CodecAttr());
    }
    value = reshape(builder, loc, value, after.getShape());
  }
  return value;
}
