//===- RaiseLosses.cpp - reductions that can be taken in parts ------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Projection.h"

#include "tsp/Dialect/StableHLO/IR/ArgMax.h"
#include "tsp/Dialect/StableHLO/IR/ReduceOver.h"
#include "tsp/Frontend/Raise.h"
#include "tsp/Support/TensorTypes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tsp {
#define GEN_PASS_DEF_RAISELOSSES
#include "tsp/Passes/Raise.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

static SmallVector<int64_t> without(ArrayRef<int64_t> list, int64_t i) {
  SmallVector<int64_t> rest(list);
  rest.erase(rest.begin() + i);
  return rest;
}

/// The dims of a broadcast when its result is the same all along `dim`: those
/// of the result without `dim`. Then `rowOf` gives that value with one dim
/// less.
static bool isConstantAlong(Value value, int64_t dim) {
  auto broadcast = value.getDefiningOp<BroadcastInDimOp>();
  if (!broadcast)
    return false;
  auto dims = broadcast.getBroadcastDimensions();
  auto at = llvm::find(dims, dim);
  return at == dims.end() ||
         typeOf(broadcast.getOperand()).getDimSize(at - dims.begin()) == 1;
}

static Value rowOf(OpBuilder &builder, Value value, int64_t dim) {
  auto broadcast = value.getDefiningOp<BroadcastInDimOp>();
  Location loc = broadcast.getLoc();
  Value operand = broadcast.getOperand();
  SmallVector<int64_t> dims(broadcast.getBroadcastDimensions());
  if (auto at = llvm::find(dims, dim); at != dims.end()) {
    int64_t i = at - dims.begin();
    auto type = RankedTensorType::get(without(typeOf(operand).getShape(), i),
                                      typeOf(operand).getElementType());
    operand = ReshapeOp::create(builder, loc, type, operand);
    dims.erase(dims.begin() + i);
  }
  for (int64_t &d : dims)
    d -= d > dim;
  auto type = RankedTensorType::get(without(typeOf(value).getShape(), dim),
                                    typeOf(value).getElementType());
  return BroadcastInDimOp::create(builder, loc, type, operand, dims);
}

/// Sum of `value` over `dims`.
static Value sumOver(OpBuilder &builder, Location loc, Value value,
                     ArrayRef<int64_t> dims) {
  auto scalar = RankedTensorType::get({}, typeOf(value).getElementType());
  Value zero = raise::emitSplat(builder, loc, scalar, 0);
  return reduceOver<AddOp>(builder, loc, value, zero, dims);
}

/// Whether the op adds up one operand, starting from zero.
static bool isSum(ReduceOp reduce) {
  return reduce && reduce.getInputs().size() == 1 &&
         isa_and_nonnull<AddOp>(getSimpleReducer(reduce.getBody())) &&
         raise::getSplat(reduce.getInitValues()[0]) == 0.0;
}

/// Whether parts of a row of `x` along `dim` are all that its log-sum-exp
/// needs, as it has been raised.
static bool hasLogSumExp(Value x, int64_t dim) {
  return llvm::any_of(x.getUsers(), [&](Operation *user) {
    auto lse = dyn_cast<LogSumExpOp>(user);
    return lse && int64_t(lse.getDim()) == dim;
  });
}

/// x of x - m, m being constant along `dim`, when a log-sum-exp of x, or of a
/// further such difference, has been raised.
static SubtractOp matchShifted(Value value, int64_t dim) {
  auto outer = value.getDefiningOp<SubtractOp>();
  if (!outer || !isConstantAlong(outer.getRhs(), dim))
    return nullptr;
  for (SubtractOp shifted = outer;
       shifted && isConstantAlong(shifted.getRhs(), dim);
       shifted = shifted.getLhs().getDefiningOp<SubtractOp>())
    if (hasLogSumExp(shifted.getLhs(), dim))
      return outer;
  return nullptr;
}

namespace {

/// log(sum(exp(x - m))) -> logsumexp(x) - m.
struct RaiseLogSumExp : OpRewritePattern<LogOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LogOp log,
                                PatternRewriter &rewriter) const override {
    // The sum may get dims of size 1 on its way; |sum| is the sum.
    SmallVector<Operation *> views;
    Value sum = log.getOperand();
    while (Operation *def = sum.getDefiningOp()) {
      bool isView = isa<ReshapeOp, AbsOp>(def) ||
                    (isa<BroadcastInDimOp>(def) &&
                     typeOf(def->getOperand(0)).getNumElements() ==
                         typeOf(sum).getNumElements());
      if (!isView || !sum.hasOneUse())
        break;
      if (!isa<AbsOp>(def))
        views.push_back(def);
      sum = def->getOperand(0);
    }
    auto reduce = sum.getDefiningOp<ReduceOp>();
    if (!isSum(reduce) || !sum.hasOneUse() ||
        reduce.getDimensions().size() != 1)
      return failure();
    int64_t dim = reduce.getDimensions()[0];
    auto exp = reduce.getInputs()[0].getDefiningOp<ExpOp>();
    if (!exp || !exp->hasOneUse())
      return rewriter.notifyMatchFailure(log,
                                         "the exponentials are used elsewhere");
    auto shifted = exp.getOperand().getDefiningOp<SubtractOp>();
    if (!shifted || !isConstantAlong(shifted.getRhs(), dim))
      return rewriter.notifyMatchFailure(log, "nothing of a row is subtracted");
    Value x = shifted.getLhs();
    Type element = typeOf(x).getElementType();
    if (!element.isF32() && !element.isF64())
      return rewriter.notifyMatchFailure(log, "types that round in between");

    Location loc = log.getLoc();
    Value value = LogSumExpOp::create(rewriter, loc, sum.getType(), x,
                                      rewriter.getI64IntegerAttr(dim));
    value = SubtractOp::create(rewriter, loc, value,
                               rowOf(rewriter, shifted.getRhs(), dim));
    for (Operation *view : llvm::reverse(views)) {
      IRMapping mapping;
      mapping.map(view->getOperand(0), value);
      value = rewriter.clone(*view, mapping)->getResult(0);
    }
    rewriter.replaceOp(log, value);
    return success();
  }
};

/// take(x - m) -> take(x) - m, for a gather of single elements along one dim,
/// all others being batch dims (take_along_axis).
struct TakeBeforeShift : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GatherOp gather,
                                PatternRewriter &rewriter) const override {
    auto dims = gather.getDimensionNumbers();
    if (dims.getCollapsedSliceDims().size() != 1 ||
        !dims.getOffsetDims().empty() ||
        dims.getStartIndexMap() != dims.getCollapsedSliceDims())
      return failure();
    int64_t dim = dims.getCollapsedSliceDims()[0];
    SubtractOp shifted = matchShifted(gather.getOperand(), dim);
    if (!shifted)
      return failure();
    Location loc = gather.getLoc();
    IRMapping mapping;
    mapping.map(gather.getOperand(), shifted.getLhs());
    Value taken = rewriter.clone(*gather, mapping)->getResult(0);
    // Where a batch dim of the operand ends in the result.
    SmallVector<int64_t> to(typeOf(shifted).getRank(), -1);
    for (auto [d, i] : llvm::zip(dims.getOperandBatchingDims(),
                                 dims.getStartIndicesBatchingDims()))
      to[d] = i - (i > dims.getIndexVectorDim());
    Value row = rowOf(rewriter, shifted.getRhs(), dim);
    row = BroadcastInDimOp::create(rewriter, loc, taken.getType(), row,
                                   without(to, dim));
    rewriter.replaceOpWithNewOp<SubtractOp>(gather, taken, row);
    return success();
  }
};

/// sum(p (x - m)) -> sum(p x) - sum(p) m, for predicates p (a one-hot row).
struct SumBeforeShift : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp reduce,
                                PatternRewriter &rewriter) const override {
    auto product =
        isSum(reduce) ? reduce.getInputs()[0].getDefiningOp<MulOp>() : nullptr;
    if (!product)
      return failure();
    for (auto [value, other] :
         {std::pair(product.getLhs(), product.getRhs()),
          std::pair(product.getRhs(), product.getLhs())}) {
      auto predicate = other.getDefiningOp<ConvertOp>();
      if (!predicate ||
          !typeOf(predicate.getOperand()).getElementType().isInteger(1))
        continue;
      for (int64_t dim : reduce.getDimensions()) {
        SubtractOp shifted = matchShifted(value, dim);
        if (!shifted)
          continue;
        Location loc = reduce.getLoc();
        Value scaled = MulOp::create(rewriter, loc, other, shifted.getLhs());
        Value sum = sumOver(rewriter, loc, scaled, {dim});
        Value count = sumOver(rewriter, loc, other, {dim});
        Value row = rowOf(rewriter, shifted.getRhs(), dim);
        row = MulOp::create(rewriter, loc, count, row);
        Value total = SubtractOp::create(rewriter, loc, sum, row);
        SmallVector<int64_t> others;
        for (int64_t d : reduce.getDimensions())
          if (d != dim)
            others.push_back(d - (d > dim));
        if (!others.empty())
          total = sumOver(rewriter, loc, total, others);
        rewriter.replaceOp(reduce, total);
        return success();
      }
    }
    return failure();
  }
};

/// argmin(x) -> -argmax(-x). Integers are turned bit by bit, which has no overflow.
struct ArgMinAsArgMax : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp reduce,
                                PatternRewriter &rewriter) const override {
    if (reduce.getInputs().size() != 2 || isArgMaxReducer(reduce.getBody()))
      return failure();
    Location loc = reduce.getLoc();
    bool isFloat =
        isa<FloatType>(typeOf(reduce.getInputs()[0]).getElementType());
    auto turn = [&](Value value) -> Value {
      if (isFloat)
        return NegOp::create(rewriter, loc, value);
      return NotOp::create(rewriter, loc, value);
    };
    auto turned = cast<ReduceOp>(reduce->clone());
    turnComparisons(turned.getBody());
    if (!isArgMaxReducer(turned.getBody())) {
      turned->erase();
      return failure();
    }
    SmallVector<Value> operands(reduce->getOperands());
    operands[0] = turn(operands[0]);
    operands[2] = turn(operands[2]);
    turned->setOperands(operands);
    rewriter.insert(turned);
    rewriter.replaceOp(reduce,
                       {turn(turned->getResult(0)), turned->getResult(1)});
    return success();
  }

private:
  /// Of the values, which are the first and the third argument.
  static void turnComparisons(Region &body) {
    auto isValue = [](Value value) {
      auto argument = dyn_cast<BlockArgument>(value);
      return argument && argument.getArgNumber() % 2 == 0;
    };
    body.walk([&](CompareOp compare) {
      if (isValue(compare.getLhs()) && isValue(compare.getRhs()))
        compare.setComparisonDirection(
            swapSides(compare.getComparisonDirection()));
    });
  }

  static ComparisonDirection swapSides(ComparisonDirection direction) {
    switch (direction) {
    case ComparisonDirection::EQ:
    case ComparisonDirection::NE:
      return direction;
    case ComparisonDirection::GE:
      return ComparisonDirection::LE;
    case ComparisonDirection::GT:
      return ComparisonDirection::LT;
    case ComparisonDirection::LE:
      return ComparisonDirection::GE;
    case ComparisonDirection::LT:
      return ComparisonDirection::GT;
    }
    llvm_unreachable("all directions are handled");
  }
};

struct RaiseLosses : public tsp::impl::RaiseLossesBase<RaiseLosses> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RaiseLogSumExp, TakeBeforeShift, SumBeforeShift,
                 ArgMinAsArgMax>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    getOperation()->walk([&](LogSumExpOp) { ++numRaised; });
  }
};

} // namespace
