//===- RulesShape.cpp - rules of ops that move elements -------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalOps.h"
#include "Rules.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

namespace {

struct TransposeRule : RuleModel<TransposeRule, TransposeOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto transpose = cast<TransposeOp>(op);
    ShardingRule rule;
    addFactorPerDim(rule, transpose.getOperand());
    rule.operands.push_back(consecutiveFactors(0, rule.factors.size()));
    ShardingRule::ValueFactors result;
    for (int64_t dim : transpose.getPermutation())
      result.push_back({int(dim)});
    rule.results.push_back(result);
    return rule;
  }
};

struct BroadcastRule : RuleModel<BroadcastRule, BroadcastInDimOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto broadcast = cast<BroadcastInDimOp>(op);
    ShardingRule rule;
    addFactorPerDim(rule, broadcast.getResult());
    rule.results.push_back(consecutiveFactors(0, rule.factors.size()));
    ShardingRule::ValueFactors operand;
    for (auto [size, dim] : llvm::zip(typeOf(broadcast.getOperand()).getShape(),
                                      broadcast.getBroadcastDimensions()))
      operand.push_back(size == rule.factors[dim].size
                            ? ShardingRule::DimFactors{int(dim)}
                            : ShardingRule::DimFactors{});
    rule.operands.push_back(operand);
    return rule;
  }
};

/// Dims of both shapes split into common factors; where the split is not
/// exact the dims must be whole.
struct ReshapeRule : RuleModel<ReshapeRule, ReshapeOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ArrayRef<int64_t> in = typeOf(op->getOperand(0)).getShape();
    ArrayRef<int64_t> out = typeOf(op->getResult(0)).getShape();
    ShardingRule rule;
    ShardingRule::ValueFactors inDims(in.size()), outDims(out.size());
    size_t i = 0, j = 0;
    int64_t a = 1, b = 1; // what is left of the dims at i - 1 and j - 1
    while (true) {
      while (a == 1 && i < in.size())
        a = in[i++];
      while (b == 1 && j < out.size())
        b = out[j++];
      if (a <= 1 || b <= 1)
        break;
      int64_t common = std::min(a, b);
      if (a % common == 0 && b % common == 0) {
        int f = rule.addFactor(common, FactorKind::Parallel);
        inDims[i - 1].push_back(f);
        outDims[j - 1].push_back(f);
        a /= common;
        b /= common;
        continue;
      }
      // No common refinement: whole until both sides are at a border again.
      int f = rule.addFactor(a, FactorKind::Whole),
          g = rule.addFactor(b, FactorKind::Whole);
      inDims[i - 1].push_back(f);
      outDims[j - 1].push_back(g);
      while (a != b) {
        if (a < b) {
          inDims[i].push_back(rule.addFactor(in[i], FactorKind::Whole));
          a *= in[i++];
        } else {
          outDims[j].push_back(rule.addFactor(out[j], FactorKind::Whole));
          b *= out[j++];
        }
      }
      a = b = 1;
    }
    rule.operands.push_back(inDims);
    rule.results.push_back(outDims);
    return rule;
  }
};

/// Ops that take one operand apart or together along some dims, which must be
/// whole; the others are parallel.
ShardingRule sameDimsBut(Operation *op, ArrayRef<Value> operands,
                         function_ref<bool(int64_t)> isWhole) {
  ShardingRule rule;
  RankedTensorType type = typeOf(op->getResult(0));
  for (int64_t i = 0; i < type.getRank(); ++i)
    rule.addFactor(type.getDimSize(i),
                   isWhole(i) ? FactorKind::Whole : FactorKind::Parallel);
  for (Value operand : op->getOperands())
    rule.operands.push_back(
        llvm::is_contained(operands, operand)
            ? consecutiveFactors(0, type.getRank())
            : ShardingRule::ValueFactors(typeOf(operand).getRank()));
  // Dims that must be whole differ in size between operand and result.
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (llvm::is_contained(operands, operand))
      for (int64_t d = 0; d < type.getRank(); ++d)
        if (rule.factors[d].kind == FactorKind::Whole)
          rule.operands[i][d] = {
              rule.addFactor(typeOf(operand).getDimSize(d), FactorKind::Whole)};
  for (Value result : op->getResults())
    rule.results.push_back(consecutiveFactors(0, typeOf(result).getRank()));
  return rule;
}

struct SliceRule : RuleModel<SliceRule, SliceOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto slice = cast<SliceOp>(op);
    return sameDimsBut(op, {slice.getOperand()}, [&](int64_t d) {
      return typeOf(slice.getOperand()).getDimSize(d) !=
             typeOf(slice.getResult()).getDimSize(d);
    });
  }
  FailureOr<SmallVector<Value>> localize(Operation *op,
                                         LocalContext &context) const {
    auto results = localizeByClone(op, context);
    auto slice = cast<SliceOp>((*results)[0].getDefiningOp());
    SmallVector<int64_t> limits(slice.getLimitIndices());
    for (auto [d, size] : llvm::enumerate(context.resultTypes[0].getShape()))
      if (!context.assignment[d].isWhole())
        limits[d] = size;
    slice.setLimitIndices(limits);
    return results;
  }
};

struct ConcatenateRule : RuleModel<ConcatenateRule, ConcatenateOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto concat = cast<ConcatenateOp>(op);
    SmallVector<Value> operands(op->getOperands());
    return sameDimsBut(op, operands, [&](int64_t d) {
      return d == (int64_t)concat.getDimension();
    });
  }
};

struct PadRule : RuleModel<PadRule, PadOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto pad = cast<PadOp>(op);
    return sameDimsBut(op, {pad.getOperand()}, [&](int64_t d) {
      return pad.getEdgePaddingLow()[d] || pad.getEdgePaddingHigh()[d] ||
             pad.getInteriorPadding()[d];
    });
  }
};

struct ReverseRule : RuleModel<ReverseRule, ReverseOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto reverse = cast<ReverseOp>(op);
    return sameDimsBut(op, {reverse.getOperand()}, [&](int64_t d) {
      return llvm::is_contained(reverse.getDimensions(), d);
    });
  }
};

struct SortRule : RuleModel<SortRule, SortOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto sort = cast<SortOp>(op);
    int64_t rank = typeOf(op->getResult(0)).getRank();
    int64_t dim = (int64_t)sort.getDimension();
    dim = dim < 0 ? dim + rank : dim;
    SmallVector<Value> operands(op->getOperands());
    return sameDimsBut(op, operands, [&](int64_t d) { return d == dim; });
  }
};

struct TopKRule : RuleModel<TopKRule, chlo::TopKOp> {
  ShardingRule getShardingRule(Operation *op) const {
    int64_t rank = typeOf(op->getResult(0)).getRank();
    return sameDimsBut(op, {op->getOperand(0)},
                       [&](int64_t d) { return d == rank - 1; });
  }
};

struct ReduceWindowRule : RuleModel<ReduceWindowRule, ReduceWindowOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto window = cast<ReduceWindowOp>(op);
    SmallVector<Value> inputs(window.getInputs());
    return sameDimsBut(op, inputs, [&](int64_t d) {
      auto is = [&](std::optional<ArrayRef<int64_t>> list, int64_t value) {
        return !list || (*list)[d] == value;
      };
      bool padded = false;
      if (auto padding = window.getPadding())
        for (int64_t side = 0; side < 2; ++side)
          padded |=
              padding->getValues<int64_t>()[{(uint64_t)d, (uint64_t)side}] != 0;
      return window.getWindowDimensions()[d] != 1 || padded ||
             !is(window.getWindowStrides(), 1) ||
             !is(window.getBaseDilations(), 1) ||
             !is(window.getWindowDilations(), 1);
    });
  }
};

/// The true index: where the elements that a rank (or part) holds lie.
struct IotaRule : RuleModel<IotaRule, IotaOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule;
    addFactorPerDim(rule, op->getResult(0));
    rule.results.push_back(consecutiveFactors(0, rule.factors.size()));
    return rule;
  }
  FailureOr<SmallVector<Value>> localize(Operation *op,
                                         LocalContext &context) const {
    int64_t dim = cast<IotaOp>(op).getIotaDimension();
    OpBuilder &b = context.builder;
    Pieces pieces = context.piecesOf(op->getLoc(), dim);
    if (pieces.isWhole())
      return localizeByClone(op, context);
    RankedTensorType type = context.resultTypes[0];
    // Exact in i32, and rounded to the type once.
    Value index = indexAlong(b, op->getLoc(), type.getShape(), dim, pieces);
    if (index.getType() != type)
      index = ConvertOp::create(b, op->getLoc(), type, index);
    return SmallVector<Value>{index};
  }
};

/// A splat may have any shape; other constants are whole.
struct ConstantRule : RuleModel<ConstantRule, ConstantOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule;
    bool isSplat = cast<ConstantOp>(op).getValue().isSplat();
    addFactorPerDim(rule, op->getResult(0),
                    isSplat ? FactorKind::Parallel : FactorKind::Whole);
    rule.results.push_back(consecutiveFactors(0, rule.factors.size()));
    return rule;
  }
  FailureOr<SmallVector<Value>> localize(Operation *op,
                                         LocalContext &context) const {
    ElementsAttr value = cast<ConstantOp>(op).getValue();
    if (context.resultTypes[0] != value.getType())
      value =
          cast<DenseElementsAttr>(value).resizeSplat(context.resultTypes[0]);
    return SmallVector<Value>{
        ConstantOp::create(context.builder, op->getLoc(), value)};
  }
};

} // namespace

void tsp::registerShapeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, StableHLODialect *) {
    TransposeOp::attachInterface<TransposeRule>(*context);
    BroadcastInDimOp::attachInterface<BroadcastRule>(*context);
    ReshapeOp::attachInterface<ReshapeRule>(*context);
    SliceOp::attachInterface<SliceRule>(*context);
    ConcatenateOp::attachInterface<ConcatenateRule>(*context);
    PadOp::attachInterface<PadRule>(*context);
    ReverseOp::attachInterface<ReverseRule>(*context);
    SortOp::attachInterface<SortRule>(*context);
    ReduceWindowOp::attachInterface<ReduceWindowRule>(*context);
    IotaOp::attachInterface<IotaRule>(*context);
    ConstantOp::attachInterface<ConstantRule>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, chlo::CHLODialect *) {
    chlo::TopKOp::attachInterface<TopKRule>(*context);
  });
}
