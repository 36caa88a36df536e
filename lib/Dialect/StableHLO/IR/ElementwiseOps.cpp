//===- ElementwiseOps.cpp - elementwise ops of StableHLO ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssemblyDirectives.h"
#include "Verification.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

#define GET_OP_CLASSES
#include "tsp/Dialect/StableHLO/IR/ElementwiseOps.cpp.inc"

void CompareOp::build(OpBuilder &builder, OperationState &state, Value lhs,
                      Value rhs, ComparisonDirection direction) {
  auto type = cast<RankedTensorType>(lhs.getType());
  Type element = type.getElementType();
  ComparisonType order = isa<FloatType>(element) ? ComparisonType::FLOAT
                         : element.isUnsignedInteger() || element.isInteger(1)
                             ? ComparisonType::UNSIGNED
                             : ComparisonType::SIGNED;
  MLIRContext *ctx = builder.getContext();
  build(builder, state, type.clone(builder.getI1Type()), lhs, rhs,
        ComparisonDirectionAttr::get(ctx, direction),
        ComparisonTypeAttr::get(ctx, order));
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Bits of an element; complex numbers have two parts.
static int64_t getWidth(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * complex.getElementType().getIntOrFloatBitWidth();
  return element.getIntOrFloatBitWidth();
}

LogicalResult BitcastConvertOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  int64_t fromWidth = getWidth(from.getElementType());
  int64_t toWidth = getWidth(to.getElementType());
  SmallVector<int64_t> shape(from.getShape());
  if (fromWidth > toWidth) {
    if (fromWidth % toWidth != 0)
      return emitOpError("expected the widths of elements to divide, found ")
             << fromWidth << " and " << toWidth << " bits";
    shape.push_back(fromWidth / toWidth);
  } else if (fromWidth < toWidth) {
    if (toWidth % fromWidth != 0 || shape.empty() ||
        (!ShapedType::isDynamic(shape.back()) &&
         shape.back() != toWidth / fromWidth))
      return emitOpError("expected a last dim of size ")
             << (toWidth / fromWidth) << " in the operand to make elements of "
             << toWidth << " bits, found " << from;
    shape.pop_back();
  }
  return expectTensor(*this, "result", shape, to.getElementType(), to);
}

LogicalResult ReducePrecisionOp::verify() {
  if (getExponentBits() < 1 || getExponentBits() > 11)
    return emitOpError("expected 1 to 11 exponent bits, found ")
           << getExponentBits();
  if (getMantissaBits() > 52)
    return emitOpError("expected 0 to 52 mantissa bits, found ")
           << getMantissaBits();
  return success();
}

LogicalResult CompareOp::verify() {
  Type element = getLhs().getType().getElementType();
  std::optional<ComparisonType> order = getCompareType();
  if (!order || *order == ComparisonType::NOTYPE)
    return success();
  bool isFloatOrder = *order == ComparisonType::FLOAT ||
                      *order == ComparisonType::TOTALORDER;
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  bool fits = isa<IntegerType>(element)
                  ? *order == (isUnsigned ? ComparisonType::UNSIGNED
                                          : ComparisonType::SIGNED)
                  : isFloatOrder;
  if (fits)
    return success();
  return emitOpError("expected a compare_type that fits elements of ")
         << element << ", found " << stringifyComparisonType(*order);
}

/// A value of rank 0 holds for all elements of a tensor of this type.
static LogicalResult verifyScalarOrSame(Operation *op, StringRef what, Value value,
                                        RankedTensorType type) {
  auto found = cast<RankedTensorType>(value.getType());
  if (found.getRank() == 0 && found.getElementType() == type.getElementType())
    return success();
  return expectType(op, what, type, found);
}

LogicalResult SelectOp::verify() {
  return verifyScalarOrSame(
      *this, "pred", getPred(),
      getType().clone(IntegerType::get(getContext(), 1)));
}

LogicalResult ClampOp::verify() {
  return success(
      succeeded(verifyScalarOrSame(*this, "min", getMin(), getType())) &&
      succeeded(verifyScalarOrSame(*this, "max", getMax(), getType())));
}
