//===- Placement.cpp - placements as the partitioner uses them ------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Sharding/Placement.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace tsp;

int64_t tsp::ranksOf(const DimShard &shard, MeshAttr mesh) {
  int64_t ranks = 1;
  for (const AxisSplit &split : shard.axes)
    ranks *= mesh.getSizes()[split.axis];
  return ranks;
}

int64_t tsp::pieceSizeOf(const DimShard &shard, MeshAttr mesh) {
  int64_t size = shard.chunk;
  for (auto [level, split] : llvm::enumerate(shard.axes))
    size = std::gcd(size, prefixOf(shard, level + 1, mesh).chunk /
                              (split.blocks * split.chunks()));
  return size;
}

DimShard tsp::splitOver(ArrayRef<AxisSplit> axes, int64_t total, MeshAttr mesh,
                        int64_t unit) {
  DimShard shard;
  shard.axes.assign(axes.begin(), axes.end());
  if (axes.empty())
    return shard;
  int64_t ranks = ranksOf(shard, mesh);
  int64_t step = unit * shard.chunks();
  shard.chunk = shard.hasBlocks()
                    ? total / ranks
                    : llvm::divideCeil(total, ranks * step) * step;
  return shard;
}

DimShard tsp::prefixOf(const DimShard &shard, size_t count, MeshAttr mesh) {
  DimShard prefix = shard;
  while (prefix.axes.size() > count)
    prefix.chunk *= mesh.getSizes()[prefix.axes.pop_back_val().axis];
  if (count == 0)
    prefix.chunk = 0;
  return prefix;
}

int64_t tsp::localSize(const DimShard &shard, int64_t total) {
  if (shard.isSharded())
    return shard.chunk;
  if (shard.fold < 0)
    return total;
  int64_t units = shard.tail ? shard.units / shard.steps
                             : llvm::divideCeil(shard.units, shard.steps);
  return total / shard.units * units;
}

int64_t tsp::equalParts(const DimShard &shard) {
  int64_t larger = shard.units % shard.steps;
  if (shard.tail)
    return shard.steps - larger;
  return larger ? larger : shard.steps;
}

int64_t tsp::firstOfParts(const DimShard &shard, int64_t total) {
  if (!shard.tail)
    return 0;
  DimShard larger = shard;
  larger.tail = false;
  return equalParts(larger) * localSize(larger, total);
}

size_t tsp::commonLevels(const DimShard &a, const DimShard &b, MeshAttr mesh) {
  size_t count = std::min(a.axes.size(), b.axes.size());
  while (count > 0 && prefixOf(a, count, mesh) != prefixOf(b, count, mesh))
    --count;
  return count;
}

int64_t tsp::unitOf(int64_t total, int64_t chunk, const AxisSplit &split,
                    MeshAttr mesh) {
  return chunk == splitOver(split, total, mesh).chunk ? 1
                                                      : chunk / split.chunks();
}

RankedTensorType tsp::localType(RankedTensorType global,
                                const Placement &placement) {
  SmallVector<int64_t> shape(global.getShape());
  for (auto [size, dim] : llvm::zip(shape, placement.dims))
    size = localSize(dim, size);
  return RankedTensorType::get(shape, global.getElementType());
}

PlacementAttr tsp::toAttr(const Placement &placement, RankedTensorType global,
                          MeshAttr mesh) {
  MLIRContext *context = mesh.getContext();
  SmallVector<DimAttr> dims;
  for (auto [size, dim] : llvm::zip(global.getShape(), placement.dims)) {
    SmallVector<StringAttr> axes;
    SmallVector<Layout> layouts;
    SmallVector<int64_t> blocks;
    for (const AxisSplit &split : dim.axes) {
      axes.push_back(mesh.getAxes()[split.axis]);
      layouts.push_back(split.layout);
      blocks.push_back(split.blocks);
    }
    int64_t unit = dim.chunk == splitOver(dim.axes, size, mesh).chunk
                       ? 1
                       : dim.chunk / dim.chunks();
    StringAttr fold = dim.fold >= 0 ? mesh.getAxes()[dim.fold] : nullptr;
    if (fold && dim.units % dim.steps != 0)
      unit = size / dim.units;
    dims.push_back(
        DimAttr::get(context, axes, unit, layouts, blocks, fold, dim.steps));
  }
  return PlacementAttr::get(context, dims, {}, CombineKind::Sum);
}

FailureOr<Placement> tsp::fromAttr(PlacementAttr attr, RankedTensorType global,
                                   MeshAttr mesh,
                                   function_ref<InFlightDiagnostic()> emitError,
                                   bool isOutside) {
  if ((int64_t)attr.getDims().size() != global.getRank())
    return emitError() << "expected a placement of " << global.getRank()
                       << " dims for " << global << ", found " << attr;
  Placement placement(global.getRank());
  for (auto [i, dim] : llvm::enumerate(attr.getDims())) {
    auto number = [&, i = i](StringAttr name) -> FailureOr<int> {
      int axis = mesh.getAxisIndex(name);
      if (axis < 0)
        return emitError() << "dim " << i << " of " << global
                           << " is sharded over " << name << ", which the mesh "
                           << mesh << " lacks";
      return axis;
    };
    SmallVector<AxisSplit> axes;
    for (auto [name, layout, blocks] :
         llvm::zip(dim.getAxes(), dim.getLayouts(), dim.getBlocks())) {
      FailureOr<int> axis = number(name);
      if (failed(axis))
        return failure();
      if (mesh.getSizes()[*axis] > 1)
        axes.push_back({*axis, layout, blocks});
    }
    DimShard &shard = placement.dims[i];
    shard = splitOver(axes, global.getDimSize(i), mesh, dim.getUnit());
    if (shard.hasBlocks() && isOutside)
      return emitError() << "dim " << i << " of " << global
                         << " is split in blocks, which only values inside a "
                            "program can be: reshape it there";
    if (shard.hasBlocks() &&
        shard.chunk * ranksOf(shard, mesh) != global.getDimSize(i))
      return emitError() << "dim " << i << " of " << global
                         << " is split in blocks, which has to be even, found "
                         << shard.chunk << " elements on each of "
                         << ranksOf(shard, mesh) << " ranks";
    if (StringAttr name = dim.getFold(); name && !shard.isSharded()) {
      FailureOr<int> axis = number(name);
      if (failed(axis))
        return failure();
      shard.fold = *axis;
      shard.steps = dim.getSteps();
      int64_t size = global.getDimSize(i), unit = dim.getUnit();
      bool isEven = size % (shard.steps * unit) == 0;
      shard.units = isEven ? shard.steps : size / unit;
      if (size % unit != 0 || shard.units < shard.steps)
        return emitError() << "dim " << i << " of " << global
                           << " is folded in " << shard.steps
                           << " steps of whole units of " << unit
                           << " elements, which it does not have";
    }
  }
  return placement;
}

MeshAttr tsp::getMesh(Operation *op) {
  auto module =
      isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  if (auto mesh = module->getAttrOfType<MeshAttr>("tsp.mesh"))
    return mesh;
  return MeshAttr::get(op->getContext(), {}, {});
}
