//===- IntegerOps.cpp - elementwise ops on integers and booleans ----------===//
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

/// The elements' type and the operands, for the formulas below.
struct IntegerFormulas : ScalarBuilder {
  IntegerFormulas(OpBuilder &builder, Location loc, Operation *op)
      : ScalarBuilder(builder, loc),
        elementType(getElementTypeOrSelf(op->getOperand(0))),
        type(getComputeType(elementType)), width(type.getIntOrFloatBitWidth()),
        isUnsigned(elementType.isUnsignedInteger() || width == 1) {}

  Value number(int64_t n) { return constant(type, n); }
  Value isZero(Value a) {
    return cmpi(arith::CmpIPredicate::eq, a, number(0));
  }
  Value lessThan(Value a, Value b) {
    return cmpi(isUnsigned ? arith::CmpIPredicate::ult
                           : arith::CmpIPredicate::slt,
                a, b);
  }

  /// x / 0 = -1 (all bits set) and INT_MIN / -1 = INT_MIN, x % 0 = x and
  /// INT_MIN % -1 = 0, as XLA does; no operand may trap.
  Value divide(Value a, Value b, bool wantsRemainder) {
    Value byZero = isZero(b);
    Value special = byZero;
    if (!isUnsigned) {
      Value byMinusOne = cmpi(arith::CmpIPredicate::eq, b, number(-1));
      special = ori(byZero, byMinusOne);
    }
    Value safe = select(special, number(1), b);
    Value result;
    if (wantsRemainder)
      result = isUnsigned ? make<arith::RemUIOp>(a, safe)
                          : make<arith::RemSIOp>(a, safe);
    else
      result = isUnsigned ? make<arith::DivUIOp>(a, safe)
                          : make<arith::DivSIOp>(a, safe);
    if (!isUnsigned)
      result = select(special, wantsRemainder ? number(0) : subi(number(0), a),
                      result);
    return select(byZero, wantsRemainder ? a : number(-1), result);
  }

  /// Square and multiply; a negative exponent gives what a division by the
  /// power would: 1, -1 or 0.
  Value power(Value base, Value exponent) {
    Value result = number(1), square = base;
    for (unsigned bit = 0; bit < width; ++bit) {
      Value isSet = trunci(shrui(exponent, bit), builder.getI1Type());
      result = select(isSet, muli(result, square), result);
      square = muli(square, square);
    }
    if (isUnsigned)
      return result;
    Value isOdd = trunci(exponent, builder.getI1Type());
    Value ofMinusOne = select(isOdd, number(-1), number(1));
    Value isOne = cmpi(arith::CmpIPredicate::eq, base, number(1));
    Value isMinusOne = cmpi(arith::CmpIPredicate::eq, base, number(-1));
    Value inverse = select(isOne, number(1),
                           select(isMinusOne, ofMinusOne, number(0)));
    return select(lessThan(exponent, number(0)), inverse, result);
  }

  template <typename Shift>
  Value shift(Value a, Value amount, Value beyond) {
    Value inRange = cmpi(arith::CmpIPredicate::ult, amount, number(width));
    // i1 and i4 cannot hold their width; then no amount is out of range.
    if (width < 8 && (1u << width) <= width)
      return make<Shift>(a, amount);
    Value safe = select(inRange, amount, number(0));
    return select(inRange, make<Shift>(a, safe), beyond);
  }

  Type elementType, type;
  unsigned width;
  bool isUnsigned;
};

Value emitComparison(IntegerFormulas &f, sh::CompareOp op, Value a, Value b) {
  using Direction = sh::ComparisonDirection;
  using P = arith::CmpIPredicate;
  bool u = f.isUnsigned;
  switch (op.getComparisonDirection()) {
  case Direction::EQ:
    return f.cmpi(P::eq, a, b);
  case Direction::NE:
    return f.cmpi(P::ne, a, b);
  case Direction::GE:
    return f.cmpi(u ? P::uge : P::sge, a, b);
  case Direction::GT:
    return f.cmpi(u ? P::ugt : P::sgt, a, b);
  case Direction::LE:
    return f.cmpi(u ? P::ule : P::sle, a, b);
  case Direction::LT:
    return f.cmpi(u ? P::ult : P::slt, a, b);
  }
  llvm_unreachable("all directions are covered");
}

} // namespace

Value tsp::emitIntegerOp(OpBuilder &builder, Location loc, Operation *op,
                         ValueRange operands) {
  IntegerFormulas f(builder, loc, op);
  Value a = operands[0];
  Value b = operands.size() > 1 ? operands[1] : Value();
  bool isBool = f.width == 1;
  bool u = f.isUnsigned;
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](sh::AddOp) { return isBool ? f.ori(a, b) : f.addi(a, b); })
      .Case([&](sh::SubtractOp) { return f.subi(a, b); })
      .Case([&](sh::MulOp) { return isBool ? f.andi(a, b) : f.muli(a, b); })
      .Case([&](sh::DivOp) { return f.divide(a, b, false); })
      .Case([&](sh::RemOp) { return f.divide(a, b, true); })
      .Case([&](sh::PowOp) { return f.power(a, b); })
      .Case([&](sh::MaxOp) {
        return u ? f.make<arith::MaxUIOp>(a, b) : f.make<arith::MaxSIOp>(a, b);
      })
      .Case([&](sh::MinOp) {
        return u ? f.make<arith::MinUIOp>(a, b) : f.make<arith::MinSIOp>(a, b);
      })
      .Case([&](sh::AndOp) { return f.andi(a, b); })
      .Case([&](sh::OrOp) { return f.ori(a, b); })
      .Case([&](sh::XorOp) { return f.xori(a, b); })
      .Case([&](sh::NotOp) { return f.xori(a, f.number(-1)); })
      .Case([&](sh::ShiftLeftOp) {
        return f.shift<arith::ShLIOp>(a, b, f.number(0));
      })
      .Case([&](sh::ShiftRightLogicalOp) {
        return f.shift<arith::ShRUIOp>(a, b, f.number(0));
      })
      .Case([&](sh::ShiftRightArithmeticOp) {
        return f.shift<arith::ShRSIOp>(
            a, b,
            f.make<arith::ShRSIOp>(a, f.number(f.width - 1)));
      })
      .Case([&](sh::NegOp) { return f.subi(f.number(0), a); })
      .Case([&](sh::AbsOp) {
        return u ? a : f.make<arith::MaxSIOp>(a, f.subi(f.number(0), a));
      })
      .Case([&](sh::SignOp) {
        Value positive = f.select(f.isZero(a), f.number(0), f.number(1));
        return u ? positive
                 : f.select(f.lessThan(a, f.number(0)), f.number(-1), positive);
      })
      .Case([&](sh::PopulationCountOp) {
        return math::CtPopOp::create(builder, loc, a);
      })
      .Case([&](sh::ClzOp) {
        return math::CountLeadingZerosOp::create(builder, loc, a);
      })
      .Case([&](sh::CompareOp compare) {
        return emitComparison(f, compare, a, b);
      })
      .Case([&](sh::ClampOp) {
        Value lower = operands[0], value = operands[1], upper = operands[2];
        value = u ? f.make<arith::MaxUIOp>(value, lower)
                  : f.make<arith::MaxSIOp>(value, lower);
        return u ? f.make<arith::MinUIOp>(value, upper)
                 : f.make<arith::MinSIOp>(value, upper);
      })
      .Case([&](chlo::SquareOp) { return f.muli(a, a); })
      .Default([](Operation *) { return Value(); });
}
