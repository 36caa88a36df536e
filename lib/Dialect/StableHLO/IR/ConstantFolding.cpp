//===- ConstantFolding.cpp - values of ops on constants -------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantFolding.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

using MaybeFloat = std::optional<APFloat>;
using MaybeInt = std::optional<APInt>;

static constexpr auto kNearest = APFloat::rmNearestTiesToEven;

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

/// A function computed in double and rounded once.
static APFloat viaDouble(APFloat x, double (*function)(double)) {
  const llvm::fltSemantics &semantics = x.getSemantics();
  bool losesInfo;
  x.convert(APFloat::IEEEdouble(), kNearest, &losesInfo);
  APFloat result(function(x.convertToDouble()));
  result.convert(semantics, kNearest, &losesInfo);
  return result;
}

static APFloat rounded(APFloat x, APFloat::roundingMode mode) {
  x.roundToIntegral(mode);
  return x;
}

static MaybeFloat evaluate(Operation *op, const APFloat &x) {
  auto sign = [](const APFloat &value) {
    if (value.isNaN() || value.isZero())
      return value;
    return APFloat::getOne(value.getSemantics(), value.isNegative());
  };
  return TypeSwitch<Operation *, MaybeFloat>(op)
      .Case([&](AbsOp) { return llvm::abs(x); })
      .Case([&](NegOp) { return llvm::neg(x); })
      .Case([&](SignOp) { return sign(x); })
      .Case([&](FloorOp) { return rounded(x, APFloat::rmTowardNegative); })
      .Case([&](CeilOp) { return rounded(x, APFloat::rmTowardPositive); })
      .Case([&](RoundOp) { return rounded(x, APFloat::rmNearestTiesToAway); })
      .Case([&](RoundNearestEvenOp) { return rounded(x, kNearest); })
      .Case([&](CbrtOp) { return viaDouble(x, std::cbrt); })
      .Case([&](CosineOp) { return viaDouble(x, std::cos); })
      .Case([&](ExpOp) { return viaDouble(x, std::exp); })
      .Case([&](Expm1Op) { return viaDouble(x, std::expm1); })
      .Case([&](LogOp) { return viaDouble(x, std::log); })
      .Case([&](Log1pOp) { return viaDouble(x, std::log1p); })
      .Case([&](LogisticOp) {
        return viaDouble(x, [](double v) { return 1 / (1 + std::exp(-v)); });
      })
      .Case([&](RsqrtOp) {
        return viaDouble(x, [](double v) { return 1 / std::sqrt(v); });
      })
      .Case([&](SineOp) { return viaDouble(x, std::sin); })
      .Case([&](SqrtOp) { return viaDouble(x, std::sqrt); })
      .Case([&](TanOp) { return viaDouble(x, std::tan); })
      .Case([&](TanhOp) { return viaDouble(x, std::tanh); })
      .Default([](Operation *) { return std::nullopt; });
}

static MaybeFloat evaluate(Operation *op, APFloat x, const APFloat &y) {
  return TypeSwitch<Operation *, MaybeFloat>(op)
      .Case([&](AddOp) { return x + y; })
      .Case([&](SubtractOp) { return x - y; })
      .Case([&](MulOp) { return x * y; })
      .Case([&](DivOp) { return x / y; })
      .Case([&](RemOp) {
        x.mod(y);
        return x;
      })
      .Case([&](MaxOp) { return llvm::maximum(x, y); })
      .Case([&](MinOp) { return llvm::minimum(x, y); })
      .Default([](Operation *) { return std::nullopt; });
}

/// The IEEE order, in which NaN differs from everything.
static std::optional<bool> compare(ComparisonDirection direction, const APFloat &x,
                                   const APFloat &y) {
  APFloat::cmpResult order = x.compare(y);
  switch (direction) {
  case ComparisonDirection::EQ:
    return order == APFloat::cmpEqual;
  case ComparisonDirection::NE:
    return order != APFloat::cmpEqual;
  case ComparisonDirection::GE:
    return order == APFloat::cmpEqual || order == APFloat::cmpGreaterThan;
  case ComparisonDirection::GT:
    return order == APFloat::cmpGreaterThan;
  case ComparisonDirection::LE:
    return order == APFloat::cmpEqual || order == APFloat::cmpLessThan;
  case ComparisonDirection::LT:
    return order == APFloat::cmpLessThan;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// i1 counts as unsigned.
static bool isUnsigned(Type element) {
  return element.isUnsignedInteger() || element.isInteger(1);
}

static MaybeInt evaluate(Operation *op, const APInt &x, bool isUnsigned) {
  unsigned width = x.getBitWidth();
  return TypeSwitch<Operation *, MaybeInt>(op)
      .Case([&](AbsOp) { return isUnsigned ? x : x.abs(); })
      .Case([&](NegOp) { return -x; })
      .Case([&](NotOp) { return ~x; })
      .Case([&](SignOp) {
        if (x.isZero())
          return x;
        return !isUnsigned && x.isNegative() ? APInt::getAllOnes(width)
                                             : APInt(width, 1);
      })
      .Case([&](PopulationCountOp) { return APInt(width, x.popcount()); })
      .Case([&](ClzOp) { return APInt(width, x.countl_zero()); })
      .Default([](Operation *) { return std::nullopt; });
}

/// Division has a value for every pair but x / 0 and the least integer / -1.
static bool divides(const APInt &x, const APInt &y, bool isUnsigned) {
  return !y.isZero() && (isUnsigned || !(x.isMinSignedValue() && y.isAllOnes()));
}

static MaybeInt evaluate(Operation *op, const APInt &x, const APInt &y,
                         bool isUnsigned) {
  unsigned width = x.getBitWidth();
  bool isBool = width == 1, isLarge = y.uge(width);
  return TypeSwitch<Operation *, MaybeInt>(op)
      .Case([&](AddOp) { return isBool ? x | y : x + y; })
      .Case([&](SubtractOp) { return x - y; })
      .Case([&](MulOp) { return x * y; })
      .Case([&](DivOp) -> MaybeInt {
        if (!divides(x, y, isUnsigned))
          return std::nullopt;
        return isUnsigned ? x.udiv(y) : x.sdiv(y);
      })
      .Case([&](RemOp) -> MaybeInt {
        if (!divides(x, y, isUnsigned))
          return std::nullopt;
        return isUnsigned ? x.urem(y) : x.srem(y);
      })
      .Case([&](MaxOp) { return (isUnsigned ? x.ugt(y) : x.sgt(y)) ? x : y; })
      .Case([&](MinOp) { return (isUnsigned ? x.ult(y) : x.slt(y)) ? x : y; })
      .Case([&](AndOp) { return x & y; })
      .Case([&](OrOp) { return x | y; })
      .Case([&](XorOp) { return x ^ y; })
      .Case([&](ShiftLeftOp) { return isLarge ? APInt::getZero(width) : x.shl(y); })
      .Case([&](ShiftRightLogicalOp) {
        return isLarge ? APInt::getZero(width) : x.lshr(y);
      })
      .Case([&](ShiftRightArithmeticOp) {
        return isLarge ? x.ashr(width - 1) : x.ashr(y);
      })
      .Default([](Operation *) { return std::nullopt; });
}

static bool compare(ComparisonDirection direction, const APInt &x, const APInt &y,
                    bool isUnsigned) {
  bool isLess = isUnsigned ? x.ult(y) : x.slt(y);
  switch (direction) {
  case ComparisonDirection::EQ:
    return x == y;
  case ComparisonDirection::NE:
    return x != y;
  case ComparisonDirection::GE:
    return !isLess;
  case ComparisonDirection::GT:
    return !isLess && x != y;
  case ComparisonDirection::LE:
    return isLess || x == y;
  case ComparisonDirection::LT:
    return isLess;
  }
  llvm_unreachable("all directions are handled");
}

//===----------------------------------------------------------------------===//
// Elements as attributes
//===----------------------------------------------------------------------===//

static Attribute makeElement(Type type, const APInt &value) {
  return IntegerAttr::get(type, value);
}

/// The value in another element type; null where a float is out of range.
static Attribute convert(Attribute element, Type to) {
  if (auto from = dyn_cast<FloatAttr>(element)) {
    APFloat value = from.getValue();
    if (auto type = dyn_cast<FloatType>(to)) {
      bool losesInfo;
      value.convert(type.getFloatSemantics(), kNearest, &losesInfo);
      return FloatAttr::get(type, value);
    }
    if (to.isInteger(1))
      return makeElement(to, APInt(1, !value.isZero()));
    APSInt result(to.getIntOrFloatBitWidth(), isUnsigned(to));
    bool isExact;
    if (value.convertToInteger(result, APFloat::rmTowardZero, &isExact) ==
        APFloat::opInvalidOp)
      return {};
    return makeElement(to, result);
  }
  auto from = cast<IntegerAttr>(element);
  bool fromUnsigned = isUnsigned(from.getType());
  if (auto type = dyn_cast<FloatType>(to)) {
    APFloat result = APFloat::getZero(type.getFloatSemantics());
    result.convertFromAPInt(from.getValue(), !fromUnsigned, kNearest);
    return FloatAttr::get(type, result);
  }
  if (to.isInteger(1))
    return makeElement(to, APInt(1, !from.getValue().isZero()));
  unsigned width = to.getIntOrFloatBitWidth();
  return makeElement(to, fromUnsigned ? from.getValue().zextOrTrunc(width)
                                      : from.getValue().sextOrTrunc(width));
}

/// The result for one element of each operand.
static Attribute evaluate(Operation *op, ArrayRef<Attribute> operands, Type to) {
  if (isa<ConvertOp>(op))
    return isa<FloatType, IntegerType>(to) ? convert(operands[0], to) : Attribute();
  auto comparison = dyn_cast<CompareOp>(op);
  if (comparison && comparison.getCompareType() == ComparisonType::TOTALORDER)
    return {};
  if (auto x = dyn_cast<FloatAttr>(operands[0])) {
    auto y = operands.size() == 2 ? dyn_cast<FloatAttr>(operands[1]) : FloatAttr();
    if (isa<IsFiniteOp>(op))
      return makeElement(to, APInt(1, x.getValue().isFinite()));
    if (comparison && y) {
      std::optional<bool> result = compare(comparison.getComparisonDirection(),
                                           x.getValue(), y.getValue());
      return result ? makeElement(to, APInt(1, *result)) : Attribute();
    }
    MaybeFloat result = operands.size() == 1 ? evaluate(op, x.getValue())
                        : y ? evaluate(op, x.getValue(), y.getValue())
                            : std::nullopt;
    return result ? FloatAttr::get(to, *result) : Attribute();
  }
  auto x = dyn_cast<IntegerAttr>(operands[0]);
  auto y = operands.size() == 2 ? dyn_cast<IntegerAttr>(operands[1]) : IntegerAttr();
  if (!x || (operands.size() == 2 && !y))
    return {};
  bool unsignedElements = isUnsigned(x.getType());
  if (comparison)
    return makeElement(to, APInt(1, compare(comparison.getComparisonDirection(),
                                            x.getValue(), y.getValue(),
                                            unsignedElements)));
  MaybeInt result = operands.size() == 1
                        ? evaluate(op, x.getValue(), unsignedElements)
                        : evaluate(op, x.getValue(), y.getValue(), unsignedElements);
  return result ? makeElement(to, *result) : Attribute();
}

Attribute stablehlo::foldElementwise(Operation *op, ArrayRef<Attribute> operands) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape() || operands.empty() || operands.size() > 2 ||
      !isa<FloatType, IntegerType>(type.getElementType()))
    return {};
  SmallVector<SmallVector<Attribute>> elements;
  bool areSplats = llvm::all_of(operands, getSplatElement);
  int64_t count = areSplats ? 1 : type.getNumElements();
  if (count < 1 || count > kMaxFoldedElements)
    return {};
  for (Attribute operand : operands) {
    auto dense = dyn_cast_or_null<DenseElementsAttr>(operand);
    if (!dense || dense.getType().getShape() != type.getShape() ||
        !isa<FloatType, IntegerType>(dense.getElementType()))
      return {};
    if (dense.isSplat())
      elements.emplace_back(count, dense.getSplatValue<Attribute>());
    else
      elements.push_back(llvm::to_vector(dense.getValues<Attribute>()));
  }
  SmallVector<Attribute> results;
  for (int64_t index = 0; index < count; ++index) {
    SmallVector<Attribute> arguments;
    for (auto &list : elements)
      arguments.push_back(list[index]);
    Attribute result = evaluate(op, arguments, type.getElementType());
    if (!result)
      return {};
    results.push_back(result);
  }
  return DenseElementsAttr::get(type, results);
}

//===----------------------------------------------------------------------===//
// Splats
//===----------------------------------------------------------------------===//

Attribute stablehlo::getSplatElement(Attribute constant) {
  auto dense = dyn_cast_or_null<DenseElementsAttr>(constant);
  if (!dense || !dense.isSplat() || dense.getNumElements() == 0)
    return {};
  return dense.getSplatValue<Attribute>();
}

bool stablehlo::isAll(Attribute constant, double value) {
  Attribute element = getSplatElement(constant);
  if (auto number = dyn_cast_or_null<FloatAttr>(element)) {
    APFloat wanted(value);
    bool losesInfo;
    wanted.convert(number.getValue().getSemantics(), kNearest, &losesInfo);
    return !losesInfo && !wanted.isNaN() &&
           number.getValue().bitwiseIsEqual(wanted);
  }
  auto number = dyn_cast_or_null<IntegerAttr>(element);
  if (!number || value != std::trunc(value) || std::signbit(value))
    return false;
  return number.getValue() == uint64_t(value);
}

Attribute stablehlo::makeSplat(Type type, Attribute element) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || !isa<TypedAttr>(element) ||
      cast<TypedAttr>(element).getType() != tensor.getElementType())
    return {};
  return DenseElementsAttr::get(tensor, element);
}
