//===- Elementwise.cpp - elementwise ops on computed values ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "ScalarBuilder.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;
namespace sh = tsp::stablehlo;

namespace {

Value emitComparison(ScalarBuilder &b, sh::CompareOp op, Value lhs, Value rhs) {
  using Direction = sh::ComparisonDirection;
  bool total = op.getCompareType() == sh::ComparisonType::TOTALORDER;
  auto compare = [&](arith::CmpFPredicate partial, arith::CmpIPredicate order) {
    if (!total)
      return b.cmpf(partial, lhs, rhs);
    return b.cmpi(order, toTotalOrder(b.builder, b.loc, lhs),
                  toTotalOrder(b.builder, b.loc, rhs));
  };
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  switch (op.getComparisonDirection()) {
  case Direction::EQ:
    return compare(F::OEQ, I::eq);
  case Direction::NE:
    return compare(F::UNE, I::ne);
  case Direction::GE:
    return compare(F::OGE, I::sge);
  case Direction::GT:
    return compare(F::OGT, I::sgt);
  case Direction::LE:
    return compare(F::OLE, I::sle);
  case Direction::LT:
    return compare(F::OLT, I::slt);
  }
  llvm_unreachable("all directions are covered");
}

Value emitFloatOp(ScalarBuilder &b, Operation *op, ValueRange operands) {
  Value x = operands[0];
  Value y = operands.size() > 1 ? operands[1] : Value();
  auto unary = [&](auto tag) -> Value {
    return decltype(tag)::create(b.builder, b.loc, x);
  };
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](sh::AddOp) { return b.addf(x, y); })
      .Case([&](sh::SubtractOp) { return b.subf(x, y); })
      .Case([&](sh::MulOp) { return b.mulf(x, y); })
      .Case([&](sh::DivOp) { return b.divf(x, y); })
      .Case([&](sh::RemOp) { return b.make<arith::RemFOp>(x, y); })
      .Case([&](sh::MaxOp) { return b.make<arith::MaximumFOp>(x, y); })
      .Case([&](sh::MinOp) { return b.make<arith::MinimumFOp>(x, y); })
      .Case([&](sh::NegOp) { return b.negf(x); })
      .Case([&](sh::AbsOp) { return b.absf(x); })
      .Case([&](sh::SignOp) {
        Value one = b.copysign(b.constF(x.getType(), 1), x);
        Value isSigned = b.cmpf(arith::CmpFPredicate::ONE, x,
                                b.constF(x.getType(), 0));
        return b.select(isSigned, one, x);
      })
      .Case([&](sh::CeilOp) { return unary(math::CeilOp()); })
      .Case([&](sh::FloorOp) { return unary(math::FloorOp()); })
      .Case([&](sh::RoundOp) { return unary(math::RoundOp()); })
      .Case([&](sh::RoundNearestEvenOp) { return unary(math::RoundEvenOp()); })
      .Case([&](sh::SqrtOp) { return unary(math::SqrtOp()); })
      .Case([&](sh::RsqrtOp) {
        return b.divf(b.constF(x.getType(), 1), unary(math::SqrtOp()));
      })
      .Case([&](sh::IsFiniteOp) {
        Value infinity = b.constF(x.getType(), HUGE_VAL);
        return b.cmpf(arith::CmpFPredicate::OLT, b.absf(x), infinity);
      })
      .Case([&](sh::CompareOp compare) {
        return emitComparison(b, compare, x, y);
      })
      .Case([&](sh::ClampOp) {
        Value raised = b.make<arith::MaximumFOp>(operands[1], operands[0]);
        return b.make<arith::MinimumFOp>(raised, operands[2]);
      })
      .Case([&](chlo::SquareOp) { return b.mulf(x, x); })
      .Case([&](sh::ReducePrecisionOp reduce) {
        return reducePrecision(b.builder, b.loc, x, reduce.getExponentBits(),
                               reduce.getMantissaBits());
      })
      .Default([&](Operation *other) {
        return emitMathOp(b.builder, b.loc, other, operands);
      });
}

} // namespace

Value tsp::toTotalOrder(OpBuilder &builder, Location loc, Value value) {
  ScalarBuilder b(builder, loc);
  unsigned width = value.getType().getIntOrFloatBitWidth();
  Type integer = builder.getIntegerType(width);
  Value bits = b.bitcast(value, integer);
  Value flipped = b.xori(bits, b.constant(integer, ~uint64_t(0) >> (65 - width)));
  Value isNegative =
      b.cmpi(arith::CmpIPredicate::slt, bits, b.constant(integer, 0));
  return b.select(isNegative, flipped, bits);
}

Value tsp::emitScalarOp(ElementEmitter &emitter, Operation *op,
                        ValueRange operands, bool exact) {
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLoc();
  Type from = getElementTypeOrSelf(op->getOperand(0));
  Type to = getElementTypeOrSelf(op->getResult(0));
  if (isa<sh::SelectOp>(op))
    return arith::SelectOp::create(builder, loc, operands[0], operands[1],
                                   operands[2]);
  if (isa<sh::ConvertOp>(op))
    return emitConvert(builder, loc, operands[0], from, to);
  if (isa<sh::BitcastConvertOp>(op))
    return fromBits(builder, loc, toBits(builder, loc, operands[0], from), to);

  ScalarBuilder b(builder, loc);
  Value result = isa<FloatType>(from)
                     ? emitFloatOp(b, op, operands)
                     : emitIntegerOp(builder, loc, op, operands);
  if (!result)
    return emitter.refuse(op, getComputeType(to),
                          "no kernel code for this op on this element type");
  // Moving a value about, or choosing one, needs no rounding.
  if (exact || !isa<FloatType>(to) ||
      isa<sh::MaxOp, sh::MinOp, sh::NegOp, sh::AbsOp, sh::SignOp, sh::ClampOp,
          sh::CeilOp, sh::FloorOp, sh::RoundOp, sh::RoundNearestEvenOp>(op))
    return result;
  return roundToFormat(builder, loc, result, to);
}
