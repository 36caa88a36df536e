//===- PlanProgram.cpp - plans of all entries of a program ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanProgram.h"
#include "AxisParts.h"
#include "Planner.h"
#include "tsp/Sharding/Passes.h"
#include "tsp/Sharding/SdyPlacement.h"

namespace tsp {
#define GEN_PASS_DEF_TSPPLAN
#include "tsp/Passes/Sharding.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

namespace {

class ProgramPlanner {
public:
  ProgramPlanner(ModuleOp module, bool remarks)
      : module(module), mesh(getMesh(module)), remarks(remarks) {}

  LogicalResult run(StringRef strategy) {
    auto items =
        parseStrategy(strategy, mesh, [&] { return module.emitError(); });
    if (failed(items))
      return failure();
    for (func::FuncOp func : module.getOps<func::FuncOp>())
      if (func.isPublic() && !func.isExternal() &&
          failed(planFunction(func, *items)))
        return failure();
    module->setAttr(kPlanned, UnitAttr::get(module.getContext()));
    return success();
  }

private:
  LogicalResult planFunction(func::FuncOp func, ArrayRef<StrategyItem> items) {
    Seeds seeds(func, mesh, items);
    if (failed(seeds.readArguments(func)) || failed(checkPlacements(func)))
      return failure();
    for (BlockArgument arg : func.getArguments())
      if (failed(shareArgument(func, arg, seeds)))
        return failure();
    Plan plan = Planner(func, mesh, seeds).run();
    if (remarks)
      explain(func, plan, seeds);
    plan.write(func, mesh);
    return success();
  }

  /// The placements that the program asks for must exist on the mesh.
  LogicalResult checkPlacements(func::FuncOp func) {
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (auto attr =
              func.getResultAttrOfType<PlacementAttr>(i, "tsp.placement"))
        if (failed(fromAttr(
                attr, cast<RankedTensorType>(func.getResultTypes()[i]), mesh,
                [&] { return func.emitError() << "result " << i << ": "; },
                /*isOutside=*/true)))
          return failure();
    // The values inside are as their author has them, which the checker cannot
    // know.
    WalkResult manual = func.walk([&](sdy::ManualComputationOp op) {
      func->setAttr("tsp.manual", UnitAttr::get(func.getContext()));
      return WalkResult(checkManual(op));
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
  LogicalResult checkManual(sdy::ManualComputationOp op) {
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

  void explain(func::FuncOp func, const Plan &plan, Seeds &seeds) {
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

  ModuleOp module;
  MeshAttr mesh;
  bool remarks;
  /// Type and placement of parameters and states by name.
  llvm::DenseMap<StringAttr, std::pair<Type, Placement>> shared;
};

struct PlanPass : public tsp::impl::TspPlanBase<PlanPass> {
  using TspPlanBase::TspPlanBase;
  void runOnOperation() override {
    if (failed(planProgram(getOperation(), strategy, remarks)))
      signalPassFailure();
  }
};

} // namespace

LogicalResult tsp::planProgram(ModuleOp module, StringRef strategy,
                               bool remarks) {
  return ProgramPlanner(module, remarks).run(strategy);
}
