//===- ElementwiseFolds.cpp - elementwise ops that need not be computed ---===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantFolding.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "mlir/IR/PatternMatch.h"

#include <limits>

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Ops that fold on constants only
//===----------------------------------------------------------------------===//

#define FOLD_UNARY(Op)                                                         \
  OpFoldResult Op::fold(FoldAdaptor adaptor) {                                 \
    return foldElementwise(*this, adaptor.getOperand());                       \
  }
FOLD_UNARY(AbsOp)
FOLD_UNARY(CbrtOp)
FOLD_UNARY(CeilOp)
FOLD_UNARY(ClzOp)
FOLD_UNARY(CosineOp)
FOLD_UNARY(ExpOp)
FOLD_UNARY(Expm1Op)
FOLD_UNARY(FloorOp)
FOLD_UNARY(IsFiniteOp)
FOLD_UNARY(Log1pOp)
FOLD_UNARY(LogOp)
FOLD_UNARY(LogisticOp)
FOLD_UNARY(PopulationCountOp)
FOLD_UNARY(RoundNearestEvenOp)
FOLD_UNARY(RoundOp)
FOLD_UNARY(RsqrtOp)
FOLD_UNARY(SignOp)
FOLD_UNARY(SineOp)
FOLD_UNARY(SqrtOp)
FOLD_UNARY(TanOp)
FOLD_UNARY(TanhOp)
#undef FOLD_UNARY

/// op(op(x)) = x.
template <typename Op>
static OpFoldResult foldInvolution(Op op, Attribute operand) {
  auto inner = op.getOperand().template getDefiningOp<Op>();
  if (inner && inner.getOperand().getType() == op.getType())
    return inner.getOperand();
  return foldElementwise(op, operand);
}

OpFoldResult NegOp::fold(FoldAdaptor adaptor) {
  return foldInvolution(*this, adaptor.getOperand());
}
OpFoldResult NotOp::fold(FoldAdaptor adaptor) {
  return foldInvolution(*this, adaptor.getOperand());
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// Whether every value of `from` is a value of `to`, so that there and back is
/// nothing. The other way round a rounding would be lost.
static bool isWidening(Type from, Type to) {
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  if (fromFloat && toFloat)
    return APFloat::isRepresentableBy(fromFloat.getFloatSemantics(),
                                      toFloat.getFloatSemantics());
  auto fromInt = dyn_cast<IntegerType>(from), toInt = dyn_cast<IntegerType>(to);
  return fromInt && toInt && fromInt.getWidth() <= toInt.getWidth() &&
         fromInt.getSignedness() == toInt.getSignedness();
}

OpFoldResult ConvertOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  auto inner = getOperand().getDefiningOp<ConvertOp>();
  if (inner && inner.getOperand().getType() == getType() &&
      isWidening(getType().getElementType(),
                 inner.getType().getElementType()))
    return inner.getOperand();
  return foldElementwise(*this, adaptor.getOperand());
}

OpFoldResult BitcastConvertOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  return {};
}

OpFoldResult RealOp::fold(FoldAdaptor) {
  auto complex = getOperand().getDefiningOp<ComplexOp>();
  return complex ? OpFoldResult(complex.getLhs()) : OpFoldResult();
}

OpFoldResult ImagOp::fold(FoldAdaptor) {
  auto complex = getOperand().getDefiningOp<ComplexOp>();
  return complex ? OpFoldResult(complex.getRhs()) : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// Binary ops: constants, else an operand that is the result
//===----------------------------------------------------------------------===//

/// How neutral elements and the like turn an op into one of its operands.
/// Floats: only what holds for every value, -0.0 and NaN included.
static Value getOperandThatIsResult(Operation *op, Attribute lhs, Attribute rhs) {
  Value x = op->getOperand(0), y = op->getOperand(1);
  Type element = cast<RankedTensorType>(x.getType()).getElementType();
  bool isFloat = isa<FloatType>(element), isInt = isa<IntegerType>(element);
  bool isBool = element.isInteger(1);
  auto either = [&](double value) -> Value {
    return isAll(rhs, value) ? x : isAll(lhs, value) ? y : Value();
  };
  if (isa<AddOp>(op))
    return isFloat ? either(-0.0) : isInt ? either(0.0) : Value();
  if (isa<SubtractOp>(op))
    return (isFloat || isInt) && isAll(rhs, 0.0) ? x : Value();
  if (isa<MulOp>(op))
    return isFloat || isInt ? either(1.0) : Value();
  if (isa<DivOp>(op))
    return (isFloat || isInt) && isAll(rhs, 1.0) ? x : Value();
  if (isa<MaxOp>(op) && isFloat)
    return x == y ? x : either(-kInfinity);
  if (isa<MinOp>(op) && isFloat)
    return x == y ? x : either(kInfinity);
  if (isa<AndOp>(op) && isBool)
    return x == y ? x : either(1.0);
  if (isa<OrOp>(op))
    return x == y ? x : either(0.0);
  if (isa<XorOp, ShiftLeftOp, ShiftRightLogicalOp, ShiftRightArithmeticOp>(op))
    return isAll(rhs, 0.0) ? x : Value();
  if (isa<AndOp, MaxOp, MinOp>(op))
    return x == y ? x : Value();
  return {};
}

static OpFoldResult foldBinary(Operation *op, Attribute lhs, Attribute rhs) {
  if (Attribute constant = foldElementwise(op, {lhs, rhs}))
    return constant;
  Value result = getOperandThatIsResult(op, lhs, rhs);
  if (result && result.getType() == op->getResult(0).getType())
    return result;
  // false and x, true or x.
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (type.getElementType().isInteger(1) && isa<AndOp, OrOp>(op))
    for (Attribute constant : {lhs, rhs})
      if (isAll(constant, isa<OrOp>(op) ? 1.0 : 0.0))
        return constant;
  return {};
}

#define FOLD_BINARY(Op)                                                        \
  OpFoldResult Op::fold(FoldAdaptor adaptor) {                                 \
    return foldBinary(*this, adaptor.getLhs(), adaptor.getRhs());              \
  }
FOLD_BINARY(AddOp)
FOLD_BINARY(AndOp)
FOLD_BINARY(Atan2Op)
FOLD_BINARY(DivOp)
FOLD_BINARY(MaxOp)
FOLD_BINARY(MinOp)
FOLD_BINARY(MulOp)
FOLD_BINARY(OrOp)
FOLD_BINARY(RemOp)
FOLD_BINARY(ShiftLeftOp)
FOLD_BINARY(ShiftRightArithmeticOp)
FOLD_BINARY(ShiftRightLogicalOp)
FOLD_BINARY(SubtractOp)
FOLD_BINARY(XorOp)
#undef FOLD_BINARY

OpFoldResult PowOp::fold(FoldAdaptor adaptor) {
  return isAll(adaptor.getRhs(), 1.0) ? OpFoldResult(getLhs()) : OpFoldResult();
}

/// x^2 is x * x, which is exact to one rounding.
LogicalResult PowOp::canonicalize(PowOp op, PatternRewriter &rewriter) {
  Attribute exponent;
  if (!matchPattern(op.getRhs(), m_Constant(&exponent)) || !isAll(exponent, 2.0))
    return failure();
  rewriter.replaceOpWithNewOp<MulOp>(op, op.getLhs(), op.getLhs());
  return success();
}

OpFoldResult CompareOp::fold(FoldAdaptor adaptor) {
  return foldElementwise(*this, {adaptor.getLhs(), adaptor.getRhs()});
}

//===----------------------------------------------------------------------===//
// select and clamp
//===----------------------------------------------------------------------===//

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
  if (getOnTrue() == getOnFalse())
    return getOnTrue();
  if (isAll(adaptor.getPred(), 1.0))
    return getOnTrue();
  if (isAll(adaptor.getPred(), 0.0))
    return getOnFalse();
  return {};
}

/// A scalar that holds for all elements, as a tensor of the result's shape.
static Value broadcastScalar(PatternRewriter &rewriter, Location loc, Value scalar,
                             RankedTensorType type) {
  auto from = cast<RankedTensorType>(scalar.getType());
  return BroadcastInDimOp::create(rewriter, loc, type.clone(from.getElementType()),
                                  scalar, ArrayRef<int64_t>());
}

static bool needsBroadcast(Value value, RankedTensorType type) {
  return cast<RankedTensorType>(value.getType()).getRank() == 0 &&
         type.getRank() != 0 && type.hasStaticShape();
}

LogicalResult SelectOp::canonicalize(SelectOp op, PatternRewriter &rewriter) {
  if (needsBroadcast(op.getPred(), op.getType())) {
    Value pred = broadcastScalar(rewriter, op.getLoc(), op.getPred(), op.getType());
    rewriter.modifyOpInPlace(op, [&] { op.getPredMutable().assign(pred); });
    return success();
  }
  auto inverse = op.getPred().getDefiningOp<NotOp>();
  if (!inverse)
    return failure();
  rewriter.replaceOpWithNewOp<SelectOp>(op, op.getType(), inverse.getOperand(),
                                        op.getOnFalse(), op.getOnTrue());
  return success();
}

OpFoldResult ClampOp::fold(FoldAdaptor adaptor) {
  bool isFloat = isa<FloatType>(getType().getElementType());
  if (isFloat && isAll(adaptor.getMin(), -kInfinity) &&
      isAll(adaptor.getMax(), kInfinity))
    return getOperand();
  return {};
}

LogicalResult ClampOp::canonicalize(ClampOp op, PatternRewriter &rewriter) {
  bool changed = false;
  for (OpOperand *bound : {&op.getMinMutable(), &op.getMaxMutable()}) {
    if (!needsBroadcast(bound->get(), op.getType()))
      continue;
    Value wide = broadcastScalar(rewriter, op.getLoc(), bound->get(), op.getType());
    rewriter.modifyOpInPlace(op, [&] { bound->set(wide); });
    changed = true;
  }
  return success(changed);
}
