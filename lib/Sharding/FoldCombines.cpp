//===- FoldCombines.cpp - the algebra of a fold's results -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldCombines.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

static Value makeSplat(OpBuilder &builder, Location loc, RankedTensorType type,
                       Attribute element) {
  return ConstantOp::create(builder, loc,
                            DenseElementsAttr::get(type, element));
}

static Value makeZero(OpBuilder &builder, Location loc, RankedTensorType type) {
  return makeSplat(builder, loc, type,
                   builder.getZeroAttr(type.getElementType()));
}

/// The least (or greatest) value of an element type.
static Attribute getExtreme(Type element, bool least) {
  if (auto floatType = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = floatType.getFloatSemantics();
    return FloatAttr::get(element, APFloat::semanticsHasInf(semantics)
                                       ? APFloat::getInf(semantics, least)
                                       : APFloat::getLargest(semantics, least));
  }
  unsigned width = element.getIntOrFloatBitWidth();
  if (element.isUnsignedInteger() || width == 1)
    return IntegerAttr::get(element, least ? APInt::getMinValue(width)
                                           : APInt::getMaxValue(width));
  return IntegerAttr::get(element, least ? APInt::getSignedMinValue(width)
                                         : APInt::getSignedMaxValue(width));
}

static Value compare(OpBuilder &builder, Location loc, Value a, Value b,
                     ComparisonDirection direction) {
  return CompareOp::create(builder, loc, a, b, direction);
}

namespace {

//===----------------------------------------------------------------------===//
// sum
//===----------------------------------------------------------------------===//

/// Types of 16 bits and less are summed in f32.
struct SumCombine : FoldCombine {
  using FoldCombine::FoldCombine;

  RankedTensorType getSumType(unsigned result) {
    RankedTensorType type = getType(result);
    Type element = type.getElementType();
    if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() <= 16)
      return type.clone(Float32Type::get(type.getContext()));
    return type;
  }

  Value makeInit(OpBuilder &builder, Location loc, unsigned result) override {
    if (getSumType(result) == getType(result))
      if (Value summand = takeSummands(loc, result))
        return summand;
    return makeZero(builder, loc, getSumType(result));
  }

  /// What the program adds to the result (a residual, a bias), if it is there
  /// before the fold: the sum starts from it, which saves filling it with zeros
  /// and adding later. Null when there is none. A sum that is rounded once more
  /// at its end is left alone: its addends meet rounded values.
  Value takeSummands(Location loc, unsigned result) {
    Value sum = fold.getResult(result), taken;
    while (sum.hasOneUse()) {
      auto add = dyn_cast<AddOp>(*sum.user_begin());
      if (!add || add->getBlock() != fold->getBlock())
        break;
      Value other = add.getLhs() == sum ? add.getRhs() : add.getLhs();
      if (!makeAvailable(other))
        break;
      OpBuilder builder(fold);
      taken =
          taken ? AddOp::create(builder, loc, taken, other).getResult() : other;
      add.getResult().replaceAllUsesWith(sum);
      add.erase();
    }
    return taken;
  }

  /// Whether `value` is there before the fold, or is once what only spreads an
  /// earlier value has been moved there.
  bool makeAvailable(Value value) {
    Operation *def = value.getDefiningOp();
    if (!def || def->getBlock() != fold->getBlock() ||
        def->isBeforeInBlock(fold))
      return true;
    if (!isa<BroadcastInDimOp, ReshapeOp, ConvertOp, ConstantOp>(def) ||
        !llvm::all_of(def->getOperands(),
                      [&](Value operand) { return makeAvailable(operand); }))
      return false;
    def->moveBefore(fold);
    return true;
  }

  void step(OpBuilder &builder, Location loc, Value part, ValueRange partials,
            ValueRange carried, SmallVectorImpl<Value> &next) override {
    auto type = cast<RankedTensorType>(carried[0].getType());
    Value partial = partials[0];
    if (partial.getType() != type &&
        !widenProducer(partial, type.getElementType()))
      partial = ConvertOp::create(builder, loc, type, partial);
    next.push_back(AddOp::create(builder, loc, carried[0], partial));
  }

  /// Lets the contraction behind a value give `element` without rounding first.
  static bool widenProducer(Value value, Type element) {
    Operation *def = value.getDefiningOp();
    if (!def || !value.hasOneUse() ||
        !isa<DotGeneralOp, ReshapeOp, TransposeOp>(def))
      return false;
    if (!isa<DotGeneralOp>(def) && !widenProducer(def->getOperand(0), element))
      return false;
    value.setType(cast<RankedTensorType>(value.getType()).clone(element));
    return true;
  }
};

//===----------------------------------------------------------------------===//
// max, min
//===----------------------------------------------------------------------===//

struct ExtremeCombine : FoldCombine {
  ExtremeCombine(FoldOp fold, bool isMax) : FoldCombine(fold), isMax(isMax) {}

  Value makeInit(OpBuilder &builder, Location loc, unsigned result) override {
    RankedTensorType type = getType(result);
    return makeSplat(builder, loc, type,
                     getExtreme(type.getElementType(), isMax));
  }

  void step(OpBuilder &builder, Location loc, Value part, ValueRange partials,
            ValueRange carried, SmallVectorImpl<Value> &next) override {
    if (isMax)
      next.push_back(MaxOp::create(builder, loc, carried[0], partials[0]));
    else
      next.push_back(MinOp::create(builder, loc, carried[0], partials[0]));
  }

  bool isMax;
};

//===----------------------------------------------------------------------===//
// concat
//===----------------------------------------------------------------------===//

struct ConcatCombine : FoldCombine {
  ConcatCombine(FoldOp fold, int64_t dim) : FoldCombine(fold), dim(dim) {}

  /// The steps write all of it.
  Value makeInit(OpBuilder &builder, Location loc, unsigned result) override {
    return UndefinedOp::create(builder, loc, getType(result));
  }

  void step(OpBuilder &builder, Location loc, Value part, ValueRange partials,
            ValueRange carried, SmallVectorImpl<Value> &next) override {
    auto slice = cast<RankedTensorType>(partials[0].getType());
    auto scalar = cast<RankedTensorType>(part.getType());
    Value zero = makeZero(builder, loc, scalar);
    Value size = makeSplat(
        builder, loc, scalar,
        builder.getIntegerAttr(scalar.getElementType(), slice.getDimSize(dim)));
    SmallVector<Value> starts(slice.getRank(), zero);
    starts[dim] = MulOp::create(builder, loc, part, size);
    next.push_back(DynamicUpdateSliceOp::create(
        builder, loc, carried[0].getType(), carried[0], partials[0], starts));
  }

  int64_t dim;
};

//===----------------------------------------------------------------------===//
// argmax
//===----------------------------------------------------------------------===//

/// Pairs (value, index). NaN is greater than any number; of equal values the
/// lowest index stays.
struct ArgMaxCombine : FoldCombine {
  using FoldCombine::FoldCombine;

  Value makeInit(OpBuilder &builder, Location loc, unsigned result) override {
    RankedTensorType type = getType(result);
    bool isValue = result == results[0];
    return makeSplat(builder, loc, type,
                     getExtreme(type.getElementType(), isValue));
  }

  void step(OpBuilder &builder, Location loc, Value part, ValueRange partials,
            ValueRange carried, SmallVectorImpl<Value> &next) override {
    Value v = partials[0], i = partials[1], bestV = carried[0],
          bestI = carried[1];
    Value greater = compare(builder, loc, v, bestV, ComparisonDirection::GT);
    Value equal = compare(builder, loc, v, bestV, ComparisonDirection::EQ);
    if (isa<FloatType>(getType(results[0]).getElementType())) {
      Value nan = compare(builder, loc, v, v, ComparisonDirection::NE);
      Value bestNan =
          compare(builder, loc, bestV, bestV, ComparisonDirection::NE);
      Value firstNan = AndOp::create(builder, loc, nan,
                                     NotOp::create(builder, loc, bestNan));
      greater = OrOp::create(builder, loc, greater, firstNan);
      equal = OrOp::create(builder, loc, equal,
                           AndOp::create(builder, loc, nan, bestNan));
    }
    Value lower = compare(builder, loc, i, bestI, ComparisonDirection::LT);
    Value take = OrOp::create(builder, loc, greater,
                              AndOp::create(builder, loc, equal, lower));
    next.push_back(
        SelectOp::create(builder, loc, bestV.getType(), take, v, bestV));
    next.push_back(
        SelectOp::create(builder, loc, bestI.getType(), take, i, bestI));
  }
};

//===----------------------------------------------------------------------===//
// lse
//===----------------------------------------------------------------------===//

/// log(exp(a) + exp(b)) = m + log(exp(a - m) + exp(b - m)), m being the larger
/// one.
struct LogSumCombine : FoldCombine {
  using FoldCombine::FoldCombine;

  Value makeInit(OpBuilder &builder, Location loc, unsigned result) override {
    RankedTensorType type = getType(result);
    return makeSplat(builder, loc, type,
                     getExtreme(type.getElementType(), /*least=*/true));
  }

  void step(OpBuilder &builder, Location loc, Value part, ValueRange partials,
            ValueRange carried, SmallVectorImpl<Value> &next) override {
    Value a = carried[0], b = partials[0];
    auto type = cast<RankedTensorType>(a.getType());
    // Of two infinities the difference is NaN: 0 stands for such an m.
    Value max = MaxOp::create(builder, loc, a, b);
    Value size = AbsOp::create(builder, loc, max);
    Value infinite =
        compare(builder, loc, size,
                makeSplat(builder, loc, type,
                          getExtreme(type.getElementType(), /*least=*/false)),
                ComparisonDirection::EQ);
    max = SelectOp::create(builder, loc, type, infinite,
                           makeZero(builder, loc, type), max);
    auto weightOf = [&](Value l) -> Value {
      return ExpOp::create(builder, loc,
                           SubtractOp::create(builder, loc, l, max));
    };
    Value total = AddOp::create(builder, loc, weightOf(a), weightOf(b));
    next.push_back(
        AddOp::create(builder, loc, max, LogOp::create(builder, loc, total)));
  }
};

/// Pairs (o, lse) of a partial attention. Sums are in the type of lse.
struct LseCombine : FoldCombine {
  using FoldCombine::FoldCombine;

  Value makeInit(OpBuilder &builder, Location loc, unsigned result) override {
    RankedTensorType lse = getType(results[1]);
    if (result == results[0])
      return makeZero(builder, loc,
                      getType(result).clone(lse.getElementType()));
    return makeSplat(builder, loc, lse,
                     getExtreme(lse.getElementType(), /*least=*/true));
  }

  void step(OpBuilder &builder, Location loc, Value part, ValueRange partials,
            ValueRange carried, SmallVectorImpl<Value> &next) override {
    Value o = partials[0], lse = partials[1], sumO = carried[0],
          sumLse = carried[1];
    auto lseType = cast<RankedTensorType>(lse.getType());
    auto oType = cast<RankedTensorType>(sumO.getType());
    if (o.getType() != oType)
      o = ConvertOp::create(builder, loc, oType, o);
    Value zero = makeZero(builder, loc, lseType);
    Value one = makeSplat(builder, loc, lseType,
                          FloatAttr::get(lseType.getElementType(), 1.0));
    Value none = makeSplat(builder, loc, lseType,
                           getExtreme(lseType.getElementType(), true));

    // With both parts empty, max is -inf: 0 keeps the weights exp(-inf) = 0.
    Value max = MaxOp::create(builder, loc, lse, sumLse);
    Value empty = compare(builder, loc, max, none, ComparisonDirection::EQ);
    max = SelectOp::create(builder, loc, lseType, empty, zero, max);
    auto weightOf = [&](Value l) -> Value {
      return ExpOp::create(builder, loc,
                           SubtractOp::create(builder, loc, l, max));
    };
    Value weight = weightOf(lse), sumWeight = weightOf(sumLse);
    Value total = AddOp::create(builder, loc, sumWeight, weight);
    Value divisor = SelectOp::create(builder, loc, lseType, empty, one, total);

    SmallVector<int64_t> dims(lseType.getRank());
    for (auto [i, dim] : llvm::enumerate(dims))
      dim = i;
    auto scaled = [&](Value x, Value w) -> Value {
      Value share = DivOp::create(builder, loc, w, divisor);
      Value wide = BroadcastInDimOp::create(builder, loc, oType, share, dims);
      return MulOp::create(builder, loc, x, wide);
    };
    next.push_back(AddOp::create(builder, loc, scaled(sumO, sumWeight),
                                 scaled(o, weight)));
    next.push_back(
        AddOp::create(builder, loc, max, LogOp::create(builder, loc, total)));
  }
};

} // namespace

/// Whether result `i` and the next one are a pair: (value, index) of an argmax,
/// or (o, lse) of an attention, o having one dim more. A lone `lse` is a
/// log-sum-exp.
static bool isPair(FoldOp fold, unsigned i) {
  ArrayRef<Attribute> attrs = fold.getCombines().getValue();
  auto kind = dyn_cast<CombineKindAttr>(attrs[i]);
  if (!kind || i + 1 == attrs.size() || attrs[i + 1] != attrs[i])
    return false;
  auto first = cast<RankedTensorType>(fold.getResult(i).getType());
  auto second = cast<RankedTensorType>(fold.getResult(i + 1).getType());
  return kind.getValue() == CombineKind::ArgMax ||
         (kind.getValue() == CombineKind::Lse &&
          first.getRank() == second.getRank() + 1 &&
          first.getShape().drop_back() == second.getShape());
}

static std::unique_ptr<FoldCombine> makeCombine(FoldOp fold, Attribute attr,
                                                bool paired) {
  if (auto concat = dyn_cast<ConcatAttr>(attr))
    return std::make_unique<ConcatCombine>(fold, concat.getDim());
  switch (cast<CombineKindAttr>(attr).getValue()) {
  case CombineKind::Sum:
    return std::make_unique<SumCombine>(fold);
  case CombineKind::Max:
    return std::make_unique<ExtremeCombine>(fold, /*isMax=*/true);
  case CombineKind::Min:
    return std::make_unique<ExtremeCombine>(fold, /*isMax=*/false);
  case CombineKind::Lse:
    if (!paired)
      return std::make_unique<LogSumCombine>(fold);
    return std::make_unique<LseCombine>(fold);
  case CombineKind::ArgMax:
    return std::make_unique<ArgMaxCombine>(fold);
  }
  llvm_unreachable("all kinds are handled");
}

LogicalResult
tsp::makeFoldCombines(FoldOp fold,
                      SmallVectorImpl<std::unique_ptr<FoldCombine>> &combines) {
  ArrayRef<Attribute> attrs = fold.getCombines().getValue();
  for (unsigned i = 0; i < attrs.size(); ++i) {
    bool paired = isPair(fold, i);
    auto kind = dyn_cast<CombineKindAttr>(attrs[i]);
    if (!paired && kind && kind.getValue() == CombineKind::ArgMax)
      return fold.emitOpError("expected result ")
             << i << " to be the first of a pair of results with " << attrs[i]
             << ", found no second one";
    combines.push_back(makeCombine(fold, attrs[i], paired));
    combines.back()->results.push_back(i);
    if (paired)
      combines.back()->results.push_back(++i);
  }
  return success();
}
