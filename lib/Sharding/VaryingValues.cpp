//===- VaryingValues.cpp - values that differ between ranks ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VaryingValues.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace tsp;

bool tsp::isCollectiveOver(Operation *op, StringRef axis) {
  auto name = op->getAttrOfType<StringAttr>("axis");
  return name && name.getValue() == axis && !isa<AxisIndexOp, FoldOp, FoldLoopOp>(op);
}

bool VaryingValues::contains(Value value) {
  auto [it, isNew] = known.try_emplace(value, false);
  if (!isNew)
    return it->second;
  bool varies = compute(value);
  known[value] = varies;
  return varies;
}

bool VaryingValues::compute(Value value) {
  if (auto arg = dyn_cast<BlockArgument>(value))
    return argumentVaries(arg);
  Operation *def = value.getDefiningOp();
  if (isa<AxisIndexOp>(def) || isCollectiveOver(def, axis)) {
    if (isa<AllGatherOp, AllReduceOp, BroadcastOp>(def))
      return false;
    return def->getAttrOfType<StringAttr>("axis").getValue() == axis;
  }
  if (auto fold = dyn_cast<FoldOp>(def)) {
    Operation *yield = fold.getBody().front().getTerminator();
    return contains(yield->getOperand(cast<OpResult>(value).getResultNumber()));
  }
  bool varies = llvm::any_of(def->getOperands(), [&](Value v) { return contains(v); });
  if (def->getNumRegions() == 0 || def->hasTrait<OpTrait::IsIsolatedFromAbove>())
    return varies;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(def->getRegions(), captured);
  return varies || llvm::any_of(captured, [&](Value v) { return contains(v); });
}

bool VaryingValues::argumentVaries(BlockArgument arg) {
  Operation *parent = arg.getOwner()->getParentOp();
  if (auto loop = dyn_cast<stablehlo::WhileOp>(parent))
    return contains(loop->getOperand(arg.getArgNumber()));
  auto function = dyn_cast<func::FuncOp>(parent);
  if (!function)
    return false;
  auto placement =
      function.getArgAttrOfType<PlacementAttr>(arg.getArgNumber(), "tsp.placement");
  return placement && llvm::any_of(placement.getDims(), [&](DimAttr dim) {
           return llvm::any_of(dim.getAxes(), [&](StringAttr a) { return a.getValue() == axis; });
         });
}
