//===- Plan.cpp - the plan, in memory and in the IR -----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Sharding/Plan.h"
#include "tsp/Dialect/Sdy/IR/SdyDialect.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;

static constexpr StringLiteral kOperands = "tsp.operand_placements";
static constexpr StringLiteral kResults = "tsp.result_placements";
static constexpr StringLiteral kFold = "tsp.fold";

bool OpPlan::isFoldPartial() const {
  return llvm::any_of(llvm::zip(rule.factors, assignment), [](auto pair) {
    return std::get<0>(pair).kind == FactorKind::Reduce &&
           std::get<1>(pair).fold >= 0;
  });
}

const DimShard *OpPlan::foldedFactor() const {
  const auto *it = llvm::find_if(
      assignment, [](const DimShard &shard) { return shard.fold >= 0; });
  return it == assignment.end() ? nullptr : it;
}

void OpPlan::findPartial() {
  partial.clear();
  // A log-sum-exp communicates itself: it begins with the maximum of all ranks.
  if (rule.combine == CombineKind::Lse)
    return;
  for (auto [factor, shard] : llvm::zip(rule.factors, assignment)) {
    if (factor.kind != FactorKind::Reduce)
      continue;
    for (const AxisSplit &split : shard.axes) {
      partial.push_back({split.axis});
      for (auto [d, dim] : llvm::enumerate(results[0].dims))
        if (dim.levelOf(split.axis) >= 0)
          partial.back().scatterDim = d;
    }
  }
}

Plan::Plan(Placements placements, Ops ops)
    : placements(std::move(placements)), ops(std::move(ops)) {
  for (auto &[op, plan] : this->ops)
    if (plan->fold >= 0)
      folds.try_emplace(plan->fold, *plan->foldedFactor());
}

int Plan::foldOf(Operation *op) const {
  auto it = ops.find(op);
  return it == ops.end() ? -1 : it->second->fold;
}

bool Plan::isRematerialized(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto constant = dyn_cast_or_null<stablehlo::ConstantOp>(op))
    return constant.getValue().isSplat();
  if (auto broadcast = dyn_cast_or_null<stablehlo::BroadcastInDimOp>(op))
    return typeOf(broadcast.getOperand()).getRank() == 0 ||
           isRematerialized(broadcast.getOperand());
  return isa_and_nonnull<stablehlo::IotaOp>(op);
}

void Plan::write(func::FuncOp func, MeshAttr mesh) const {
  Builder b(func.getContext());
  auto toList = [&](ValueRange values, ArrayRef<Placement> list) {
    SmallVector<Attribute> attrs;
    for (auto [value, placement] : llvm::zip(values, list))
      attrs.push_back(toAttr(placement, typeOf(value), mesh));
    return b.getArrayAttr(attrs);
  };
  for (BlockArgument arg : func.getArguments())
    func.setArgAttr(arg.getArgNumber(), "tsp.placement",
                    toAttr(placement(arg), typeOf(arg), mesh));
  for (auto &[op, plan] : ops) {
    if (!plan->operands.empty())
      op->setAttr(kOperands, toList(op->getOperands(), plan->operands));
    if (!plan->results.empty())
      op->setAttr(kResults, toList(op->getResults(), plan->results));
    if (plan->fold >= 0)
      op->setAttr(kFold, b.getI64IntegerAttr(plan->fold));
  }
}

//===----------------------------------------------------------------------===//
// Out of the IR
//===----------------------------------------------------------------------===//

namespace {
/// Reads a plan op by op.
class PlanReader {
public:
  explicit PlanReader(MeshAttr mesh) : mesh(mesh) {}

  LogicalResult readFunction(func::FuncOp func);

  Plan::Placements placements;
  Plan::Ops ops;

private:
  LogicalResult readBlock(Block &block);
  LogicalResult readOp(Operation *op);
  LogicalResult readList(Operation *op, StringRef name, ValueRange values,
                         SmallVectorImpl<Placement> &list);
  /// How each factor is sharded, from the operands and results that have it.
  LogicalResult readAssignment(Operation *op, OpPlan &plan);
  LogicalResult checkWithoutRule(Operation *op, const OpPlan &plan);

  MeshAttr mesh;
  /// How the ops read so far fold, by number of the fold.
  llvm::DenseMap<int, DimShard> folds;
};
} // namespace

LogicalResult PlanReader::readList(Operation *op, StringRef name,
                                   ValueRange values,
                                   SmallVectorImpl<Placement> &list) {
  auto attrs = dyn_cast_or_null<ArrayAttr>(op->removeAttr(name));
  if (!attrs && values.empty())
    return success();
  if (!attrs || attrs.size() != values.size())
    return op->emitOpError("expected ")
           << name << " with " << values.size() << " placements, found "
           << (attrs ? std::to_string(attrs.size()) : "none");
  for (auto [i, value] : llvm::enumerate(values)) {
    auto attr = dyn_cast<PlacementAttr>(attrs[i]);
    if (!attr)
      return op->emitOpError("expected ")
             << name << " of placements, found " << attrs[i];
    auto placement = fromAttr(
        attr, typeOf(value), mesh, [&] { return op->emitOpError(); },
        /*isOutside=*/isa<func::ReturnOp>(op));
    if (failed(placement))
      return failure();
    list.push_back(*placement);
  }
  return success();
}

LogicalResult PlanReader::readAssignment(Operation *op, OpPlan &plan) {
  const ShardingRule &rule = plan.rule;
  plan.assignment.resize(rule.factors.size());
  SmallVector<bool> known(rule.factors.size(), false);
  auto note = [&](ArrayRef<ShardingRule::ValueFactors> factors,
                  ArrayRef<Placement> list) {
    for (auto [dims, placement] : llvm::zip(factors, list))
      for (auto [dim, shard] : llvm::zip(dims, placement.dims)) {
        auto parts = assignmentOf(rule, dim, shard, mesh);
        if (failed(parts))
          continue; // does not fit, as is found below
        for (auto [f, part] : llvm::zip(dim, *parts))
          if (!known[f]) {
            known[f] = true;
            plan.assignment[f] = part;
          }
      }
  };
  // Operands first: results may end sharded over axes that were reduced.
  note(rule.operands, plan.operands);
  note(rule.results, plan.results);
  plan.findPartial();

  auto fits = [&](StringRef what, ArrayRef<ShardingRule::ValueFactors> factors,
                  ArrayRef<Placement> list) -> LogicalResult {
    for (auto [i, dims] : llvm::enumerate(factors)) {
      Placement expected = placementOf(rule, dims, plan.assignment);
      Placement found = list[i];
      for (const PartialResult &partial : llvm::reverse(plan.partial))
        if (what == "result" && i == 0 && partial.scatterDim >= 0) {
          DimShard &dim = found.dims[partial.scatterDim];
          dim = prefixOf(dim, dim.axes.size() - 1, mesh);
        }
      if (found != expected)
        return op->emitOpError("expected a placement of ")
               << what << " " << i
               << " that fits those of the others, found one that shards "
                  "other dims or other parts of them";
    }
    return success();
  };
  for (auto [factor, shard] : llvm::zip(rule.factors, plan.assignment))
    if (factor.kind == FactorKind::Whole && !shard.isWhole())
      return op->emitOpError("expected a dim of ")
             << factor.size << " elements to be whole, found it sharded";
  if (failed(fits("operand", rule.operands, plan.operands)))
    return failure();
  return fits("result", rule.results, plan.results);
}

LogicalResult PlanReader::checkWithoutRule(Operation *op, const OpPlan &plan) {
  if (isa<sdy::ManualComputationOp, func::ReturnOp>(op))
    return success();
  if (isa<PlaceOp>(op)) {
    if (plan.operands == plan.results)
      return success();
    return op->emitOpError("expected the same placement of operand and result");
  }
  auto isWhole = [](const Placement &placement) { return placement.isWhole(); };
  if (llvm::all_of(plan.operands, isWhole) &&
      llvm::all_of(plan.results, isWhole))
    return success();
  return op->emitOpError(
      "expected values that are whole, as the op has no sharding rule");
}

LogicalResult PlanReader::readOp(Operation *op) {
  auto plan = std::make_unique<OpPlan>();
  if (failed(readList(op, kOperands, op->getOperands(), plan->operands)) ||
      failed(readList(op, kResults, op->getResults(), plan->results)))
    return failure();
  if (auto fold = dyn_cast_or_null<IntegerAttr>(op->removeAttr(kFold)))
    plan->fold = fold.getInt();
  for (auto [result, placement] : llvm::zip(op->getResults(), plan->results))
    placements[result] = placement;
  if (isa<stablehlo::WhileOp>(op) && plan->operands != plan->results)
    return op->emitOpError("expected results that are placed as the operands");
  // What a loop carries is placed as it comes in; branches bring nothing in.
  for (Region &region : op->getRegions())
    if (isa<stablehlo::WhileOp>(op))
      for (auto [arg, placement] :
           llvm::zip(region.getArguments(), plan->operands))
        placements[arg] = placement;
  if (isa<stablehlo::WhileOp, stablehlo::CaseOp>(op)) {
    for (Region &region : op->getRegions())
      if (failed(readBlock(region.front())))
        return failure();
  } else if (auto rules = dyn_cast<ShardingRuleOpInterface>(op)) {
    plan->rule = rules.getShardingRule();
    if (failed(readAssignment(op, *plan)))
      return failure();
  } else if (failed(checkWithoutRule(op, *plan))) {
    return failure();
  }
  const DimShard *folded = plan->foldedFactor();
  if ((plan->fold >= 0) != (folded != nullptr))
    return op->emitOpError("expected a number of a fold (tsp.fold) where a dim "
                           "is folded and only there, found ")
           << (folded ? "none" : "one");
  if (folded) {
    const DimShard &first =
        folds.try_emplace(plan->fold, *folded).first->second;
    if (first.fold != folded->fold || first.steps != folded->steps ||
        first.units != folded->units)
      return op->emitOpError("expected fold ")
             << plan->fold << " to be one of " << first.steps
             << " steps over axis " << mesh.getAxes()[first.fold] << " of "
             << first.units << " units as in the ops before, found "
             << folded->steps << " steps over " << mesh.getAxes()[folded->fold]
             << " of " << folded->units << " units";
  }
  ops[op] = std::move(plan);
  return success();
}

LogicalResult PlanReader::readBlock(Block &block) {
  for (Operation &op : block) {
    // Operands of a region's terminator are placed as the op around it says.
    bool isOpen =
        isa<stablehlo::ReturnOp>(op) ||
        (op.getNumResults() == 1 && Plan::isRematerialized(op.getResult(0)));
    if (!isOpen && failed(readOp(&op)))
      return failure();
  }
  return success();
}

LogicalResult PlanReader::readFunction(func::FuncOp func) {
  for (BlockArgument arg : func.getArguments()) {
    auto attr = func.getArgAttrOfType<PlacementAttr>(arg.getArgNumber(),
                                                     "tsp.placement");
    if (!attr)
      return mlir::emitError(arg.getLoc())
             << "expected argument " << arg.getArgNumber()
             << " to have a tsp.placement; run tsp-plan first";
    auto placement = fromAttr(
        attr, typeOf(arg), mesh, [&] { return mlir::emitError(arg.getLoc()); },
        /*isOutside=*/true);
    if (failed(placement))
      return failure();
    placements[arg] = *placement;
  }
  return readBlock(func.getBody().front());
}

FailureOr<Plan> Plan::take(func::FuncOp func, MeshAttr mesh) {
  PlanReader reader(mesh);
  if (failed(reader.readFunction(func)))
    return failure();
  return Plan(std::move(reader.placements), std::move(reader.ops));
}
