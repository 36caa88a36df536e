//===- FormRules.cpp - what each op is to the kernels of its block --------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormRules.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Dialect/TSP/IR/TspDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tsp;

/// Most ops that are computed again in every kernel that uses them.
constexpr int64_t maxCostFromNothing = 6;

OpClass tsp::classify(Operation *op) {
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
    return constant.getValue().isSplat() ? OpClass::Source : OpClass::Host;
  if (isa<stablehlo::IotaOp>(op))
    return OpClass::Source;
  if (isa<stablehlo::BroadcastInDimOp>(op))
    return OpClass::Expand;
  if (isa<stablehlo::TransposeOp, stablehlo::SliceOp, stablehlo::ConcatenateOp,
          stablehlo::PadOp, stablehlo::ReverseOp, stablehlo::DynamicSliceOp>(op))
    return OpClass::Move;
  if (isa<stablehlo::ReshapeOp>(op))
    return OpClass::Reshape;
  if (isa<stablehlo::DotGeneralOp>(op))
    return OpClass::Contraction;
  if (isa<stablehlo::ReduceOp>(op))
    return OpClass::Reduction;
  if (stablehlo::isElementwise(op))
    return OpClass::Elementwise;
  if (isa<SdpaOp, stablehlo::GatherOp, stablehlo::ScatterOp, stablehlo::SortOp,
          stablehlo::ReduceWindowOp, stablehlo::DynamicUpdateSliceOp,
          stablehlo::BitcastConvertOp, stablehlo::RngBitGeneratorOp,
          chlo::TopKOp>(op))
    return OpClass::Irregular;
  if (isa<stablehlo::WhileOp, stablehlo::CaseOp,
          stablehlo::ReturnOp, func::ReturnOp, FoldLoopOp, YieldOp, LaunchOp,
          AxisIndexOp, UndefinedOp, WaitOp, AllGatherOp, AllReduceOp, ReduceScatterOp,
          AllToAllOp, BroadcastOp, SendRecvOp>(op))
    return OpClass::Host;
  return OpClass::Unknown;
}

bool tsp::isLight(OpClass opClass) {
  return opClass == OpClass::Source || opClass == OpClass::Elementwise ||
         opClass == OpClass::Expand || opClass == OpClass::Move ||
         opClass == OpClass::Reshape;
}

/// Whether each dim of the operand becomes one dim or several.
static bool dividesDims(stablehlo::ReshapeOp reshape) {
  ArrayRef<int64_t> to = reshape.getType().getShape();
  for (int64_t size :
       cast<RankedTensorType>(reshape.getOperand().getType()).getShape()) {
    int64_t extent = 1;
    for (; extent < size && !to.empty(); to = to.drop_front())
      extent *= to.front();
    if (extent != size)
      return false;
  }
  return true;
}

bool tsp::isOperandView(Operation *op) {
  if (auto reshape = dyn_cast<stablehlo::ReshapeOp>(op)) {
    Operation *def = reshape.getOperand().getDefiningOp();
    bool mayBeInKernel = def && def->getBlock() == op->getBlock() &&
                         isLight(classify(def)) &&
                         classify(def) != OpClass::Source;
    return mayBeInKernel && dividesDims(reshape);
  }
  if (isa<stablehlo::TransposeOp, stablehlo::SliceOp, stablehlo::BroadcastInDimOp>(op))
    return true;
  if (!isa<stablehlo::ConvertOp>(op))
    return false;
  auto from = dyn_cast<FloatType>(getElementTypeOrSelf(op->getOperand(0)));
  auto to = dyn_cast<FloatType>(getElementTypeOrSelf(op->getResult(0)));
  return from && to && (to.isF32() || to.isF64()) && from.getWidth() < to.getWidth();
}

bool tsp::isResultView(Operation *op) {
  return isa<stablehlo::TransposeOp, stablehlo::ReshapeOp, stablehlo::ConvertOp>(op);
}

bool tsp::isExpensive(Operation *op) {
  using namespace stablehlo;
  return isa<ExpOp, Expm1Op, LogOp, Log1pOp, LogisticOp, TanhOp, TanOp, SineOp,
             CosineOp, CbrtOp, SqrtOp, RsqrtOp, PowOp, DivOp, RemOp, Atan2Op>(op) ||
         isa_and_present<chlo::CHLODialect>(op->getDialect());
}

/// One constant for all elements.
static bool isSplat(Operation *op) {
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op))
    op = broadcast.getOperand().getDefiningOp();
  return op && isa<stablehlo::ConstantOp>(op) && classify(op) == OpClass::Source;
}

//===----------------------------------------------------------------------===//
// RecomputeRules
//===----------------------------------------------------------------------===//

bool RecomputeRules::mayFuseInto(OpOperand &use) {
  Operation *producer = use.get().getDefiningOp(), *user = use.getOwner();
  if (!producer)
    return false;
  OpClass opClass = classify(producer);
  bool light = isLight(opClass);
  switch (classify(user)) {
  case OpClass::Elementwise:
  case OpClass::Expand:
  case OpClass::Move:
  case OpClass::Reshape:
    return light || opClass == OpClass::Contraction || opClass == OpClass::Reduction ||
           isa<stablehlo::GatherOp>(producer);
  case OpClass::Reduction:
    return light || opClass == OpClass::Reduction;
  case OpClass::Contraction:
    return (isOperandView(producer) && !isFromNothing(producer)) ||
           isInPrologue(producer);
  case OpClass::Irregular:
    if (isa<stablehlo::GatherOp>(user))
      return light;
    // Its operand 0 is the buffer that is updated.
    if (isa<stablehlo::DynamicUpdateSliceOp>(user))
      return light && use.getOperandNumber() > 0;
    // A scatter starts from zeros by itself.
    if (isa<stablehlo::ScatterOp>(user) && use.getOperandNumber() == 0)
      return isSplat(producer);
    return !isa<SdpaOp>(user) && isSplat(producer) && getNumElements(use.get()) == 1;
  default:
    return false;
  }
}

int64_t RecomputeRules::costFromNothing(Operation *op) {
  auto it = costs.find(op);
  if (it != costs.end())
    return it->second;
  int64_t cost = maxCostFromNothing + 1;
  OpClass opClass = classify(op);
  if (opClass == OpClass::Source) {
    cost = isa<stablehlo::IotaOp>(op) ? 1 : 0;
  } else if (opClass == OpClass::Expand || opClass == OpClass::Reshape ||
             (opClass == OpClass::Elementwise && !isExpensive(op))) {
    cost = opClass == OpClass::Elementwise ? 1 : 0;
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      cost += def ? costFromNothing(def) : maxCostFromNothing + 1;
      if (cost > maxCostFromNothing)
        break;
    }
  }
  return costs[op] = cost;
}

bool RecomputeRules::isFromNothing(Operation *op) {
  return op && costFromNothing(op) <= maxCostFromNothing;
}

/// Whether an op computes with each element of its operand in several steps of
/// the innermost loop.
static bool isRepeatedBy(Operation *op) {
  auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op);
  return broadcast && !broadcast.getBroadcastDimensions().empty() &&
         broadcast.getBroadcastDimensions().back() == broadcast.getType().getRank() - 1 &&
         getNumElements(broadcast.getResult()) > getNumElements(broadcast.getOperand());
}

/// True if a value used by `kernels` kernels of `block` lies in a buffer,
/// whatever becomes of this user of it.
bool RecomputeRules::isInMemoryAnyway(Value value, Block *block, int64_t kernels) {
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != block)
    return true;
  OpClass opClass = classify(def);
  if (opClass == OpClass::Contraction)
    return !value.hasOneUse();
  if (!isLight(opClass))
    return true;
  // With one use it would rather be fused into this user, unless it is expensive
  // and the user repeats it.
  return isWorthRepeating(def, kernels) || !value.hasOneUse() ||
         (isExpensive(def) && isRepeatedBy(*value.user_begin()));
}

bool RecomputeRules::isWorthRepeating(Operation *op, int64_t kernels) {
  OpClass opClass = classify(op);
  bool isCopy = opClass == OpClass::Move && !isa<stablehlo::SliceOp>(op);
  if (isExpensive(op) || isCopy || opClass == OpClass::Reshape || !isLight(opClass))
    return false;
  Value read;
  for (Value operand : op->getOperands()) {
    if (isFromNothing(operand.getDefiningOp()) || operand == read)
      continue;
    if (read)
      return false;
    read = operand;
  }
  if (!read || !isInMemoryAnyway(read, op->getBlock(), kernels))
    return false;
  // A slice reads just its own elements.
  int64_t stored = getNumBytes(op->getResult(0));
  int64_t loaded = isa<stablehlo::SliceOp>(op) ? stored : getNumBytes(read);
  return (kernels - 1) * loaded <= (kernels + 1) * stored;
}
