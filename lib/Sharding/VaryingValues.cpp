//===- VaryingValues.cpp - values that differ between ranks ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VaryingValues.h"

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
  if (auto index = dyn_cast<AxisIndexOp>(def))
    return index.getAxis() == axis;
  if (isCollectiveOver(def, axis))
    return !isa<AllGatherOp, AllReduceOp, BroadcastOp>(def);
  unsigned number = cast<OpResult>(value).getResultNumber();
  if (auto fold = dyn_cast<FoldOp>(def))
    return contains(fold.getBody().front().getTerminator()->getOperand(number));
  if (auto loop = dyn_cast<stablehlo::WhileOp>(def))
    return ofLoop(loop)[number];
  if (isa<stablehlo::CaseOp, stablehlo::IfOp>(def))
    return contains(def->getOperand(0)) || llvm::any_of(def->getRegions(), [&](Region &branch) {
             return contains(branch.front().getTerminator()->getOperand(number));
           });
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
    return ofLoop(loop)[arg.getArgNumber()];
  auto function = dyn_cast<func::FuncOp>(parent);
  if (!function)
    return false;
  auto placement =
      function.getArgAttrOfType<PlacementAttr>(arg.getArgNumber(), "tsp.placement");
  return placement && llvm::any_of(placement.getDims(), [&](DimAttr dim) {
           return llvm::any_of(dim.getAxes(), [&](StringAttr a) { return a.getValue() == axis; });
         });
}

const SmallVector<bool> &VaryingValues::ofLoop(stablehlo::WhileOp loop) {
  // Outer loops first: what they carry is known when inner ones are looked at.
  if (auto outer = loop->getParentOfType<stablehlo::WhileOp>())
    ofLoop(outer);
  auto [entry, isNew] = loops.try_emplace(loop);
  SmallVector<bool> &varies = entry->second;
  if (!isNew)
    return varies;
  for (Value init : loop->getOperands())
    varies.push_back(contains(init));
  Value condition = loop.getCond().front().getTerminator()->getOperand(0);
  OperandRange next = loop.getBody().front().getTerminator()->getOperands();
  // A round may make more of them vary, never fewer.
  bool isDone;
  do {
    isDone = true;
    forget(loop);
    bool roundsDiffer = contains(condition);
    for (auto [i, value] : llvm::enumerate(next))
      if (!varies[i] && (roundsDiffer || contains(value))) {
        varies[i] = true;
        isDone = false;
      }
  } while (!isDone);
  return varies;
}

void VaryingValues::forget(stablehlo::WhileOp loop) {
  SmallVector<Value> inside;
  for (auto [value, varies] : known)
    if (loop->isAncestor(value.getParentBlock()->getParentOp()))
      inside.push_back(value);
  for (Value value : inside)
    known.erase(value);
  for (auto it = loops.begin(); it != loops.end();)
    it = loop->isProperAncestor(it->first) ? loops.erase(it) : std::next(it);
}
