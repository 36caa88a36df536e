//===- RaiseAttention.cpp - plain ops to tsp.sdpa -------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"

#include "tsp/Frontend/Raise.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::raise;

namespace tsp {
#define GEN_PASS_DEF_RAISEATTENTION
#include "tsp/Passes/Raise.h.inc"
} // namespace tsp

static Value convertTo(OpBuilder &builder, Location loc, Value value,
                       Type elementType) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == elementType)
    return value;
  return stablehlo::ConvertOp::create(builder, loc, type.clone(elementType),
                                      value);
}

static Value emitBias(OpBuilder &builder, Location loc, AttentionMatch &match,
                      Type sumType) {
  SmallVector<Access> accesses;
  for (const Bias &bias : match.scores.biases)
    accesses.push_back(bias.access);
  auto combine = [&](ArrayRef<Value> parts) -> Value {
    Type own = getElementTypeOrSelf(parts[0].getType());
    double factor = match.scores.biases[0].factor;
    if (parts.size() == 1 && factor == 1 &&
        (own == match.elementType || own == sumType))
      return parts[0];
    Value sum;
    for (auto [bias, part] : llvm::zip(match.scores.biases, parts)) {
      Value value = convertTo(builder, loc, part, sumType);
      auto type = cast<RankedTensorType>(value.getType());
      if (bias.factor != 1)
        value = stablehlo::MulOp::create(
            builder, loc, value, emitSplat(builder, loc, type, bias.factor));
      sum = sum ? stablehlo::AddOp::create(builder, loc, sum, value).getResult()
                : value;
    }
    return sum;
  };
  return emitOverScores(builder, loc, match.space, accesses, match.dims,
                        combine);
}

SdpaOp raise::buildSdpa(AttentionMatch &match, const MaskPlan &plan) {
  OpBuilder builder(match.root);
  Location loc = match.root->getLoc();
  IndexSpace &space = match.space;
  const AttentionDims &dims = match.dims;
  Type sumType = match.elementType.isF64() ? match.elementType
                                           : Type(builder.getF32Type());

  auto operand = [&](const Access &access, ArrayRef<AtomList> groups) {
    Value value = convertTo(builder, loc, access.value, match.elementType);
    return arrange(builder, loc, space, value, access.lists(space), groups);
  };
  AtomList heads = dims.heads();
  SmallVector<AtomList> resultDims{dims.batch, dims.query, heads,
                                   dims.valueFeatures};
  Value q = operand(match.q, {dims.batch, dims.query, heads, dims.features});
  Value k =
      operand(match.k, {dims.batch, dims.key, dims.kvHeads, dims.features});
  Value v = operand(match.v,
                    {dims.batch, dims.key, dims.kvHeads, dims.valueFeatures});
  Value bias;
  if (!match.scores.biases.empty())
    bias = emitBias(builder, loc, match, sumType);
  MaskValues mask = emitMask(builder, loc, space, plan, dims);

  SmallVector<int64_t> shape;
  for (const AtomList &list : resultDims)
    shape.push_back(space.sizeOf(space.resolve(list)));
  auto resultType = RankedTensorType::get(shape, match.elementType);
  auto lseType = RankedTensorType::get(ArrayRef(shape).drop_back(), sumType);
  FloatAttr softcap;
  if (match.scores.softcap)
    softcap = builder.getF64FloatAttr(*match.scores.softcap);
  IntegerAttr window;
  if (plan.window)
    window = builder.getI64IntegerAttr(*plan.window);
  auto sdpa = SdpaOp::create(
      builder, loc, resultType, lseType, q, k, v, bias, mask.mask,
      mask.qPositions, mask.kvPositions, mask.qSegments, mask.kvSegments,
      builder.getF64FloatAttr(match.scores.scale), softcap,
      plan.causal ? builder.getUnitAttr() : UnitAttr(), window,
      EmptyRowsAttr::get(builder.getContext(), match.empty));
  Value result =
      convertTo(builder, loc, sdpa.getO(),
                getElementTypeOrSelf(match.root->getResult(0).getType()));
  result = arrange(builder, loc, space, result, resultDims, match.rootDims);
  match.root->getResult(0).replaceAllUsesWith(result);
  return sdpa;
}

/// What the remark says of an attention that was raised.
static std::string describe(SdpaOp sdpa) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto shape = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  };
  os << shape(sdpa.getQ())[2] << " query and " << shape(sdpa.getK())[2]
     << " key heads, scale "
     << llvm::format("%g", sdpa.getScale().convertToDouble());
  if (sdpa.getSoftcap())
    os << ", softcap "
       << llvm::format("%g", sdpa.getSoftcap()->convertToDouble());
  if (sdpa.getBias())
    os << ", bias";
  if (sdpa.getCausal())
    os << ", causal";
  if (sdpa.getWindow())
    os << ", window " << *sdpa.getWindow();
  if (sdpa.getQSegments())
    os << ", segments";
  if (sdpa.getMask())
    os << ", mask";
  if (sdpa.getEmpty() != EmptyRows::Nan)
    os << ", rows without keys give " << stringifyEmptyRows(sdpa.getEmpty());
  return text;
}

/// Erases the op and what only it used.
static void eraseDead(Operation *root, DenseSet<Operation *> &erased) {
  SmallVector<Operation *> worklist{root};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (erased.contains(op) || !isOpTriviallyDead(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp())
        worklist.push_back(def);
    erased.insert(op);
    op->erase();
  }
}

namespace {
struct RaiseAttention : public tsp::impl::RaiseAttentionBase<RaiseAttention> {
  using RaiseAttentionBase::RaiseAttentionBase;

  void runOnOperation() override {
    SmallVector<stablehlo::DotGeneralOp> products;
    getOperation()->walk(
        [&](stablehlo::DotGeneralOp op) { products.push_back(op); });
    DenseSet<Operation *> erased;
    for (stablehlo::DotGeneralOp product : products) {
      if (erased.contains(product))
        continue;
      AttentionMatch match;
      NearMiss miss;
      if (!matchAttention(product, match, miss)) {
        if (miss && remarks) {
          ++numMissed;
          InFlightDiagnostic diag = product.emitRemark("attention not raised: ")
                                    << miss.reason;
          diag.attachNote(miss.at->getLoc()) << "here";
        }
        continue;
      }
      SmallVector<Predicate> conjuncts;
      for (const Predicate &mask : match.scores.masks)
        addConjuncts(match.space, mask, conjuncts);
      MaskPlan plan = planMask(
          match.space, conjuncts,
          match.space.sizeOf(match.space.resolve(match.dims.query)) == 1);
      SdpaOp sdpa = buildSdpa(match, plan);
      ++numRaised;
      if (remarks)
        sdpa.emitRemark("attention raised to tsp.sdpa: ") << describe(sdpa);
      eraseDead(match.root, erased);
    }
  }
};
} // namespace
