//===- Partition.cpp - the partitioner ------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisParts.h"
#include "Localize.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Sharding/Passes.h"
#include "tsp/Sharding/SdyPlacement.h"

namespace tsp {
#define GEN_PASS_DEF_TSPPARTITION
#include "tsp/Passes/Sharding.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

namespace {

struct PartitionPass : public tsp::impl::TspPartitionBase<PartitionPass> {
  using TspPartitionBase::TspPartitionBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshAttr mesh = getMesh(module);
    auto items =
        parseStrategy(strategy, mesh, [&] { return module.emitError(); });
    if (failed(items))
      return signalPassFailure();
    for (func::FuncOp func :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (func.isPublic() && !func.isExternal() &&
          failed(partition(func, mesh, *items)))
        return signalPassFailure();
  }

private:
  LogicalResult partition(func::FuncOp func, MeshAttr mesh,
                          ArrayRef<StrategyItem> items) {
    Seeds seeds(func, mesh, items);
    if (failed(seeds.readArguments(func)) ||
        failed(checkPlacements(func, mesh)))
      return failure();
    for (BlockArgument arg : func.getArguments())
      if (failed(shareArgument(func, arg, seeds)))
        return failure();
    Plan plan(func, mesh, seeds);
    if (remarks)
      explain(func, plan, seeds, mesh);
    return write(func, plan, mesh);
  }

  /// The placements that the program asks for must exist on the mesh.
  LogicalResult checkPlacements(func::FuncOp func, MeshAttr mesh) {
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (auto attr =
              func.getResultAttrOfType<PlacementAttr>(i, "tsp.placement"))
        if (failed(fromAttr(
                attr, cast<RankedTensorType>(func.getResultTypes()[i]), mesh,
                [&] { return func.emitError() << "result " << i << ": "; })))
          return failure();
    // The values inside are as their author has them, which the checker cannot
    // know.
    WalkResult manual = func.walk([&](sdy::ManualComputationOp op) {
      func->setAttr("tsp.manual", UnitAttr::get(func.getContext()));
      return WalkResult(checkManual(op, mesh));
    });
    if (manual.wasInterrupted())
      return failure();
    WalkResult result = func.walk([&](PlaceOp op) {
      return WalkResult(failure(failed(fromAttr(
          op.getPlacement(), cast<RankedTensorType>(op.getInput().getType()),
          mesh, [&] { return op.emitError(); }))));
    });
    return failure(result.wasInterrupted());
  }

  /// All axes have to be manual, and the body's values the even parts of those
  /// outside: it is written for them, and knows no padding.
  LogicalResult checkManual(sdy::ManualComputationOp op, MeshAttr mesh) {
    llvm::SmallDenseSet<StringAttr> manual;
    for (StringAttr name : op.getManualAxes().getValue())
      for (StringAttr axis :
           axesOf(sdy::AxisRefAttr::get(name.getContext(), name, {}), mesh))
        manual.insert(axis);
    for (auto [axis, size] : llvm::zip(mesh.getAxes(), mesh.getSizes()))
      if (size > 1 && !manual.contains(axis))
        return op.emitOpError("expected all mesh axes to be manual, found ")
               << axis
               << " left to the compiler; give shard_map all axis names";
    auto check = [&](StringRef what, sdy::TensorShardingPerValueAttr shardings,
                     TypeRange outside, TypeRange inside) -> LogicalResult {
      for (auto [i, sharding] : llvm::enumerate(shardings.getShardings())) {
        auto type = cast<RankedTensorType>(outside[i]);
        PlacementAttr attr = placementOfSharding(sharding, mesh, op.getLoc());
        if (!attr)
          return failure();
        auto placement =
            fromAttr(attr, type, mesh, [&] { return op.emitError(); });
        if (failed(placement))
          return failure();
        for (auto [d, dim] : llvm::enumerate(placement->dims))
          if (dim.isSharded() &&
              dim.chunk * ranksOf(dim, mesh) != type.getDimSize(d))
            return op.emitOpError("expected ")
                   << what << " " << i << " to be split evenly, found "
                   << type.getDimSize(d) << " elements in dim " << d << " over "
                   << ranksOf(dim, mesh) << " ranks; pad it in the program";
        if (RankedTensorType local = localType(type, *placement);
            local != inside[i])
          return op.emitOpError("expected ")
                 << what << " " << i << " of the body to be " << local
                 << ", the part of a rank of " << type << ", found "
                 << inside[i];
      }
      return success();
    };
    Block &body = op.getBody().front();
    if (failed(check("operand", op.getInShardings(), op->getOperandTypes(),
                     body.getArgumentTypes())))
      return failure();
    return check("result", op.getOutShardings(), op->getResultTypes(),
                 body.getTerminator()->getOperandTypes());
  }

  /// Parameters and states of one name have one placement in all entries.
  LogicalResult shareArgument(func::FuncOp func, BlockArgument arg,
                              Seeds &seeds) {
    unsigned i = arg.getArgNumber();
    auto name = func.getArgAttrOfType<StringAttr>(i, "tsp.name");
    auto kind = func.getArgAttrOfType<StringAttr>(i, "tsp.kind");
    if (!name || !kind || kind.getValue() == "input")
      return success();
    auto [it, isNew] = shared.try_emplace(
        name, std::make_pair(arg.getType(), seeds.argument(i)));
    if (isNew)
      return success();
    if (it->second.first != arg.getType())
      return emitError(arg.getLoc())
             << "expected " << kind.getValue() << " '" << name.getValue()
             << "' to have the same type in all entries, found "
             << it->second.first << " and " << arg.getType() << " (in "
             << func.getSymName() << ")";
    seeds.setArgument(i, it->second.second);
    return success();
  }

  void explain(func::FuncOp func, Plan &plan, Seeds &seeds, MeshAttr mesh) {
    for (BlockArgument arg : func.getArguments()) {
      auto type = cast<RankedTensorType>(arg.getType());
      const Placement &placement = plan.placement(arg);
      if (placement.isWhole())
        continue;
      std::string text;
      llvm::raw_string_ostream os(text);
      for (auto [d, dim] : llvm::enumerate(placement.dims))
        if (dim.isSharded()) {
          os << " dim " << d << " (" << roleName(seeds.roleOf(arg, d)) << ", "
             << type.getDimSize(d) << " elements) over ";
          llvm::interleave(
              dim.axes, os,
              [&](const AxisSplit &split) {
                os << mesh.getAxes()[split.axis];
                if (split.layout == Layout::Zigzag)
                  os << " (zigzag)";
              },
              " and ");
          os << ", " << dim.chunk << " a rank";
        }
      emitRemark(arg.getLoc()) << "placement:" << text;
    }
  }

  LogicalResult write(func::FuncOp func, const Plan &plan, MeshAttr mesh) {
    auto ret = cast<func::ReturnOp>(func.getBody().front().getTerminator());
    SmallVector<Type> inputs, outputs;
    for (BlockArgument arg : func.getArguments())
      inputs.push_back(localType(cast<RankedTensorType>(arg.getType()),
                                 plan.placement(arg)));
    for (auto [operand, placement] :
         llvm::zip(ret.getOperands(), plan.op(ret).operands))
      outputs.push_back(
          localType(cast<RankedTensorType>(operand.getType()), placement));
    OpBuilder builder(func);
    auto local =
        cast<func::FuncOp>(builder.cloneWithoutRegions(*func.getOperation()));
    local.setFunctionType(builder.getFunctionType(inputs, outputs));
    for (BlockArgument arg : func.getArguments()) {
      unsigned i = arg.getArgNumber();
      auto type = cast<RankedTensorType>(arg.getType());
      local.setArgAttr(i, "tsp.placement",
                       toAttr(plan.placement(arg), type, mesh));
      local.setArgAttr(i, "tsp.global_type", TypeAttr::get(type));
    }
    for (auto [i, operand] : llvm::enumerate(ret.getOperands())) {
      auto type = cast<RankedTensorType>(operand.getType());
      local.setResultAttr(i, "tsp.placement",
                          toAttr(plan.op(ret).operands[i], type, mesh));
      local.setResultAttr(i, "tsp.global_type", TypeAttr::get(type));
    }
    if (failed(Localizer(mesh, plan, poison).run(func, local)))
      return failure();
    func.erase();
    return success();
  }

  llvm::DenseMap<StringAttr, std::pair<Type, Placement>> shared;
};

} // namespace
