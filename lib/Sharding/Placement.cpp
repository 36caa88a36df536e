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

using namespace mlir;
using namespace tsp;

int64_t tsp::chunkOf(int64_t total, int64_t ranks, int64_t unit) {
  return llvm::divideCeil(total, ranks * unit) * unit;
}

RankedTensorType tsp::localType(RankedTensorType global,
                                const Placement &placement) {
  SmallVector<int64_t> shape(global.getShape());
  for (auto [size, dim] : llvm::zip(shape, placement.dims)) {
    if (dim.axis >= 0)
      size = dim.chunk;
    else if (dim.fold >= 0)
      size /= dim.steps;
  }
  return RankedTensorType::get(shape, global.getElementType());
}

PlacementAttr tsp::toAttr(const Placement &placement, RankedTensorType global,
                          MeshAttr mesh) {
  MLIRContext *context = mesh.getContext();
  SmallVector<DimAttr> dims;
  for (auto [size, dim] : llvm::zip(global.getShape(), placement.dims)) {
    SmallVector<StringAttr> axes;
    int64_t unit = 1;
    StringAttr fold;
    if (dim.axis >= 0) {
      axes.push_back(mesh.getAxes()[dim.axis]);
      if (dim.chunk != chunkOf(size, mesh.getSizes()[dim.axis]))
        unit = dim.chunk;
    } else if (dim.fold >= 0) {
      fold = mesh.getAxes()[dim.fold];
    }
    dims.push_back(
        DimAttr::get(context, axes, unit, Layout::Contiguous, fold, dim.steps));
  }
  return PlacementAttr::get(context, dims, {}, CombineKind::Sum);
}

FailureOr<Placement>
tsp::fromAttr(PlacementAttr attr, RankedTensorType global, MeshAttr mesh,
              function_ref<InFlightDiagnostic()> emitError) {
  if ((int64_t)attr.getDims().size() != global.getRank())
    return emitError() << "expected a placement of " << global.getRank()
                       << " dims for " << global << ", found " << attr;
  Placement placement(global.getRank());
  for (auto [i, dim] : llvm::enumerate(attr.getDims())) {
    StringAttr name = dim.getFold();
    if (dim.getAxes().size() > 1)
      return emitError()
             << "dim " << i << " of " << global << " is sharded over "
             << dim.getAxes().size()
             << " axes; only one axis a dim is supported: reshape the "
                "mesh so that one axis has the product of their sizes";
    if (dim.isSharded())
      name = dim.getAxes().front();
    if (!name)
      continue;
    int axis = mesh.getAxisIndex(name);
    if (axis < 0)
      return emitError() << "dim " << i << " of " << global
                         << " is sharded over " << name << ", which the mesh "
                         << mesh << " lacks";
    DimShard &shard = placement.dims[i];
    if (dim.isSharded()) {
      if (mesh.getSizes()[axis] == 1)
        continue;
      shard.axis = axis;
      shard.chunk =
          chunkOf(global.getDimSize(i), mesh.getSizes()[axis], dim.getUnit());
    } else {
      shard.fold = axis;
      shard.steps = dim.getSteps();
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
