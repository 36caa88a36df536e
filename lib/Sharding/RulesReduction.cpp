//===- RulesReduction.cpp - rules of contractions and reductions ----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalOps.h"
#include "Rules.h"
#include "tsp/Dialect/StableHLO/IR/ArgMax.h"
#include "tsp/Dialect/StableHLO/IR/ReduceOver.h"

#include <limits>

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

/// The padding of a rank's chunk of factor `f` (dim `dim` of `value`) replaced
/// by the scalar `identity`, so that it may be summed over.
static Value maskPadding(LocalContext &context, Location loc, Value value,
                         int64_t dim, int f, Value identity) {
  const DimShard &shard = context.assignment[f];
  int64_t size = context.rule.factors[f].size;
  if (!shard.isSharded() || shard.chunk * ranksOf(shard, context.mesh) == size)
    return value;
  ArrayRef<int64_t> shape = typeOf(value).getShape();
  int64_t scale = shape[dim] / shard.chunk;
  Value valid = isBelow(context.builder, loc, shape, dim,
                        context.piecesOf(loc, f, scale), size * scale);
  return select(context.builder, loc, valid, value,
                broadcastScalar(context.builder, loc, identity, shape));
}

/// `value` reduced by `OpTy` over one dim.
template <typename OpTy>
static Value reduceOver(OpBuilder &b, Location loc, Value value, int64_t dim,
                        double init) {
  auto scalar = RankedTensorType::get({}, typeOf(value).getElementType());
  return stablehlo::reduceOver<OpTy>(b, loc, value,
                                     splat(b, loc, scalar, init), {dim});
}

namespace {

struct DotGeneralRule : RuleModel<DotGeneralRule, DotGeneralOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto dot = cast<DotGeneralOp>(op);
    auto dims = dot.getDotDimensionNumbers();
    RankedTensorType lhs = typeOf(dot.getLhs()), rhs = typeOf(dot.getRhs());
    ShardingRule rule;
    ShardingRule::ValueFactors l(lhs.getRank()), r(rhs.getRank()), out;
    for (auto [a, b] : llvm::zip(dims.getLhsBatchingDimensions(),
                                 dims.getRhsBatchingDimensions())) {
      int f = rule.addFactor(lhs.getDimSize(a), FactorKind::Parallel);
      l[a] = {f};
      r[b] = {f};
      out.push_back({f});
    }
    for (auto [a, b] : llvm::zip(dims.getLhsContractingDimensions(),
                                 dims.getRhsContractingDimensions())) {
      int f = rule.addFactor(lhs.getDimSize(a), FactorKind::Reduce);
      l[a] = {f};
      r[b] = {f};
    }
    for (auto [type, factors] :
         {std::make_pair(lhs, &l), std::make_pair(rhs, &r)})
      for (int64_t d = 0; d < type.getRank(); ++d)
        if ((*factors)[d].empty()) {
          (*factors)[d] = {
              rule.addFactor(type.getDimSize(d), FactorKind::Parallel)};
          out.push_back((*factors)[d]);
        }
    rule.operands = {l, r};
    rule.results = {out};
    return rule;
  }

  /// Padding of a contracted dim is cleared on both sides: 0 times what an
  /// uncleared side holds could be NaN.
  FailureOr<SmallVector<Value>> localize(Operation *op,
                                         LocalContext &context) const {
    SmallVector<Value> operands(context.operands);
    for (auto [i, dims] : llvm::enumerate(context.rule.operands))
      for (auto [d, factors] : llvm::enumerate(dims)) {
        Value &operand = operands[i];
        int f = context.rule.majorFactor(factors);
        if (f < 0 || context.rule.factors[f].kind != FactorKind::Reduce ||
            context.zeroPadded[i])
          continue;
        Value zero = splat(
            context.builder, op->getLoc(),
            RankedTensorType::get({}, typeOf(operand).getElementType()), 0);
        operand = maskPadding(context, op->getLoc(), operand, d, f, zero);
      }
    LocalContext masked = context.with(operands);
    return localizeByClone(op, masked);
  }
};

/// A reduction over a sharded dim is known for add, max, min and argmax whose
/// init is the identity, as each rank starts from it.
struct ReduceRule : RuleModel<ReduceRule, ReduceOp> {
  static std::optional<CombineKind> combineOf(ReduceOp reduce) {
    Operation *reducer = getSimpleReducer(reduce.getBody());
    Attribute init;
    bool isArgMax = isArgMaxReducer(reduce.getBody());
    if ((!isArgMax && (!reducer || reduce.getInputs().size() != 1)) ||
        !matchPattern(reduce.getInitValues()[0], m_Constant(&init)))
      return std::nullopt;
    Type type = typeOf(reduce.getInitValues()[0]).getElementType();
    auto splatInit = dyn_cast<SplatElementsAttr>(init);
    if (!splatInit)
      return std::nullopt;
    if (isa<FloatType>(type)) {
      APFloat value = splatInit.getSplatValue<APFloat>();
      if (isArgMax)
        return value.isInfinity() && value.isNegative()
                   ? std::optional(CombineKind::ArgMax)
                   : std::nullopt;
      if (isa<AddOp>(reducer) && value.isZero())
        return CombineKind::Sum;
      if (isa<MaxOp>(reducer) && value.isInfinity() && value.isNegative())
        return CombineKind::Max;
      if (isa<MinOp>(reducer) && value.isInfinity() && !value.isNegative())
        return CombineKind::Min;
      return std::nullopt;
    }
    APInt value = splatInit.getSplatValue<APInt>();
    bool isBool = type.isInteger(1),
         isSigned = !type.isUnsignedInteger() && !isBool;
    if (isArgMax)
      return !isBool && (isSigned ? value.isMinSignedValue() : value.isZero())
                 ? std::optional(CombineKind::ArgMax)
                 : std::nullopt;
    if (isa<AddOp>(reducer) && !isBool && value.isZero())
      return CombineKind::Sum;
    if ((isa<MaxOp>(reducer) || (isBool && isa<OrOp, AddOp>(reducer))) &&
        (isSigned ? value.isMinSignedValue() : value.isZero()))
      return CombineKind::Max;
    if ((isa<MinOp>(reducer) || (isBool && isa<AndOp, MulOp>(reducer))) &&
        (isSigned ? value.isMaxSignedValue() : value.isAllOnes()))
      return CombineKind::Min;
    return std::nullopt;
  }

  ShardingRule getShardingRule(Operation *op) const {
    auto reduce = cast<ReduceOp>(op);
    auto combine = combineOf(reduce);
    ShardingRule rule;
    rule.combine = combine.value_or(CombineKind::Sum);
    ShardingRule::ValueFactors out;
    auto type = typeOf(reduce.getInputs()[0]);
    for (int64_t d = 0; d < type.getRank(); ++d) {
      bool reduced = llvm::is_contained(reduce.getDimensions(), d);
      int f = rule.addFactor(type.getDimSize(d), !reduced ? FactorKind::Parallel
                                                 : combine ? FactorKind::Reduce
                                                           : FactorKind::Whole);
      if (!reduced)
        out.push_back({f});
    }
    size_t n = reduce.getInputs().size();
    rule.operands.assign(n, consecutiveFactors(0, type.getRank()));
    rule.operands.append(n, {});
    rule.results.assign(n, out);
    return rule;
  }

  FailureOr<SmallVector<Value>> localize(Operation *op,
                                         LocalContext &context) const {
    auto reduce = cast<ReduceOp>(op);
    SmallVector<Value> operands(context.operands);
    // Of an argmax, the values alone: the least one never wins.
    for (int64_t d : reduce.getDimensions())
      operands[0] = maskPadding(context, op->getLoc(), operands[0], d, d,
                                operands[reduce.getInputs().size()]);
    LocalContext masked = context.with(operands);
    return localizeByClone(op, masked);
  }
};

/// Written out for the part that a step has: m + log sum exp(x - m), m being the
/// maximum, or 0 where that is infinite. Over ranks, m is that of all of them.
struct LogSumExpRule : RuleModel<LogSumExpRule, LogSumExpOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto lse = cast<LogSumExpOp>(op);
    RankedTensorType type = typeOf(lse.getInput());
    ShardingRule rule;
    rule.combine = CombineKind::Lse;
    ShardingRule::ValueFactors out;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      bool summed = d == int64_t(lse.getDim());
      int f = rule.addFactor(type.getDimSize(d), summed ? FactorKind::Reduce
                                                        : FactorKind::Parallel);
      if (!summed)
        out.push_back({f});
    }
    rule.operands = {consecutiveFactors(0, type.getRank())};
    rule.results = {out};
    return rule;
  }

  FailureOr<SmallVector<Value>> localize(Operation *op,
                                         LocalContext &context) const {
    int64_t dim = cast<LogSumExpOp>(op).getDim();
    OpBuilder &b = context.builder;
    Location loc = op->getLoc();
    Type element = typeOf(context.operands[0]).getElementType();
    auto scalar = RankedTensorType::get({}, element);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Value x = maskPadding(context, loc, context.operands[0], dim, dim,
                          splat(b, loc, scalar, -infinity));
    RankedTensorType type = context.resultTypes[0];
    auto overRanks = [&](Value partial, CombineKind kind) {
      for (const AxisSplit &split : context.assignment[dim].axes)
        partial = tsp::AllReduceOp::create(
            b, loc, partial.getType(), partial,
            context.mesh.getAxes()[split.axis], kind, CodecAttr());
      return partial;
    };
    Value max = overRanks(reduceOver<MaxOp>(b, loc, x, dim, -infinity),
                          CombineKind::Max);
    Value infinite = CompareOp::create(b, loc, AbsOp::create(b, loc, max),
                                       splat(b, loc, type, infinity),
                                       ComparisonDirection::EQ);
    max = select(b, loc, infinite, splat(b, loc, type, 0), max);
    SmallVector<int64_t> rows;
    for (int64_t d = 0; d < typeOf(x).getRank(); ++d)
      if (d != dim)
        rows.push_back(d);
    Value shift =
        subtract(b, loc, x, broadcast(b, loc, max, typeOf(x).getShape(), rows));
    Value sum = overRanks(
        reduceOver<AddOp>(b, loc, ExpOp::create(b, loc, shift), dim, 0),
        CombineKind::Sum);
    return SmallVector<Value>{add(b, loc, max, LogOp::create(b, loc, sum))};
  }
};

} // namespace

void tsp::registerReductionRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, StableHLODialect *) {
    DotGeneralOp::attachInterface<DotGeneralRule>(*context);
    ReduceOp::attachInterface<ReduceRule>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, TspDialect *) {
    LogSumExpOp::attachInterface<LogSumExpRule>(*context);
  });
}
