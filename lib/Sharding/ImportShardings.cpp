//===- ImportShardings.cpp - meshes and shardings of Shardy ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisParts.h"
#include "tsp/Sharding/Passes.h"
#include "tsp/Sharding/SdyPlacement.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tsp {
#define GEN_PASS_DEF_TSPIMPORTSHARDINGS
#include "tsp/Passes/Sharding.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

static constexpr StringLiteral kSharding = "sdy.sharding";
static constexpr StringLiteral kPlacement = "tsp.placement";

PlacementAttr tsp::placementOfSharding(sdy::TensorShardingAttr sharding,
                                       MeshAttr mesh, Location loc) {
  MLIRContext *context = sharding.getContext();
  SmallVector<DimAttr> dims;
  for (sdy::DimensionShardingAttr dim : sharding.getDimShardings()) {
    SmallVector<StringAttr> axes;
    for (sdy::AxisRefAttr axis : dim.getAxes())
      llvm::append_range(axes, axesOf(axis, mesh));
    dims.push_back(DimAttr::getContiguous(context, axes));
  }
  if (!sharding.getUnreducedAxes().empty()) {
    emitError(loc) << "a sharding with unreduced axes is not supported; reduce "
                      "the value first";
    return nullptr;
  }
  return PlacementAttr::get(context, dims, {}, CombineKind::Sum);
}

namespace {

struct ImportShardingsPass
    : public tsp::impl::TspImportShardingsBase<ImportShardingsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(importMesh(module)))
      return signalPassFailure();
    for (func::FuncOp func : module.getOps<func::FuncOp>())
      if (failed(importFunction(func, getMesh(module))))
        return signalPassFailure();
    for (sdy::MeshOp mesh :
         llvm::make_early_inc_range(module.getOps<sdy::MeshOp>()))
      if (SymbolTable::symbolKnownUseEmpty(mesh, module))
        mesh.erase();
  }

private:
  LogicalResult importMesh(ModuleOp module) {
    auto given = module->getAttrOfType<MeshAttr>("tsp.mesh");
    for (sdy::MeshOp op : module.getOps<sdy::MeshOp>()) {
      SmallVector<StringAttr> axes;
      SmallVector<int64_t> sizes;
      for (sdy::MeshAxisAttr axis : op.getMesh().getAxes()) {
        axes.push_back(StringAttr::get(&getContext(), axis.getName()));
        sizes.push_back(axis.getSize());
      }
      if (axes.empty())
        continue;
      if (!op.getMesh().getDeviceIds().empty() &&
          !llvm::is_sorted(op.getMesh().getDeviceIds()))
        return op.emitError(
            "a mesh with its own order of devices is not supported; "
            "order the ranks when they are launched");
      auto mesh = MeshAttr::get(&getContext(), axes, sizes);
      if (given && given != mesh)
        return op.emitError("the program's mesh ")
               << mesh << " is not the mesh " << given
               << " that was asked for; leave --mesh out, or export the "
                  "program with that mesh";
      given = mesh;
      module->setAttr("tsp.mesh", mesh);
    }
    FailureOr<MeshAttr> split = splitAxes(module, getMesh(module));
    if (failed(split))
      return failure();
    if (!split->getAxes().empty())
      module->setAttr("tsp.mesh", *split);
    return success();
  }

  LogicalResult importFunction(func::FuncOp func, MeshAttr mesh) {
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      if (auto sharding =
              func.getArgAttrOfType<sdy::TensorShardingAttr>(i, kSharding)) {
        PlacementAttr placement =
            placementOfSharding(sharding, mesh, func.getArgument(i).getLoc());
        if (!placement)
          return failure();
        func.removeArgAttr(i, StringAttr::get(&getContext(), kSharding));
        func.setArgAttr(i, kPlacement, placement);
      }
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (auto sharding =
              func.getResultAttrOfType<sdy::TensorShardingAttr>(i, kSharding)) {
        PlacementAttr placement =
            placementOfSharding(sharding, mesh, func.getLoc());
        if (!placement)
          return failure();
        func.removeResultAttr(i, StringAttr::get(&getContext(), kSharding));
        func.setResultAttr(i, kPlacement, placement);
      }
    WalkResult result = func.walk([&](Operation *op) {
      if (!isa<sdy::ShardingConstraintOp, sdy::ReshardOp>(op))
        return WalkResult::advance();
      PlacementAttr placement = placementOfSharding(
          op->getAttrOfType<sdy::TensorShardingAttr>("sharding"), mesh,
          op->getLoc());
      if (!placement)
        return WalkResult::interrupt();
      OpBuilder builder(op);
      Value placed = tsp::PlaceOp::create(builder, op->getLoc(),
                                          op->getResult(0).getType(),
                                          op->getOperand(0), placement);
      op->getResult(0).replaceAllUsesWith(placed);
      op->erase();
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }
};

} // namespace
