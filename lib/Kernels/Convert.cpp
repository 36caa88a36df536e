//===- Convert.cpp - between element types --------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "ScalarBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tsp;

namespace {

/// Toward zero; out of range becomes the nearest integer, NaN becomes 0.
Value floatToInteger(ScalarBuilder &b, Value value, Type to) {
  Type type = getComputeType(to);
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 1)
    return b.cmpf(arith::CmpFPredicate::UNE, value,
                  b.constF(value.getType(), 0));
  std::string name = to.isUnsignedInteger() ? "llvm.fptoui.sat.i"
                                            : "llvm.fptosi.sat.i";
  name += std::to_string(width);
  name += value.getType().isF64() ? ".f64" : ".f32";
  return LLVM::CallIntrinsicOp::create(b.builder, b.loc, type,
                                       b.builder.getStringAttr(name), value)
      .getResult(0);
}

/// f64 to f32, rounded to odd: rounding the result once more to a narrower
/// type then gives what rounding the f64 at once would.
Value narrowToOdd(ScalarBuilder &b, Value value) {
  Value nearest = b.truncf(value, b.f32());
  Value back = b.extf(nearest, b.f64());
  Value isInexact = b.cmpf(arith::CmpFPredicate::ONE, back, value);
  Value bits = b.bitcast(nearest, b.i32());
  Value isEven = b.cmpi(arith::CmpIPredicate::eq, b.andi(bits, b.constI32(1)),
                        b.constI32(0));
  // One step toward the value: up in magnitude if it was rounded down.
  Value roundedDown = b.cmpf(arith::CmpFPredicate::OLT, b.absf(back), b.absf(value));
  Value step = b.select(roundedDown, b.constI32(1), b.constI32(-1));
  Value odd = b.addi(bits, step);
  Value change = b.andi(isInexact, isEven);
  return b.bitcast(b.select(change, odd, bits), b.f32());
}

Value floatToFloat(ScalarBuilder &b, Value value, Type from, Type to) {
  if (from == to)
    return value;
  if (to.isF64())
    return b.extf(value, to);
  if (from.isF64())
    value = to.isF32() ? b.truncf(value, to) : narrowToOdd(b, value);
  return roundToFormat(b.builder, b.loc, value, to);
}

Value integerToFloat(ScalarBuilder &b, Value value, Type from, Type to) {
  unsigned width = value.getType().getIntOrFloatBitWidth();
  bool isUnsigned = from.isUnsignedInteger() || width == 1;
  auto convert = [&](Type type) {
    return isUnsigned ? b.uitofp(value, type) : b.sitofp(value, type);
  };
  if (to.isF64() || to.isF32())
    return convert(to);
  // The type may hold all integers of this width.
  if (width - !isUnsigned <= cast<FloatType>(to).getFPMantissaWidth() &&
      width <= 8)
    return convert(b.f32());
  // An f32 holds 24 bits: wider integers go through f64.
  Value wide = width > 24 ? narrowToOdd(b, convert(b.f64())) : convert(b.f32());
  return roundToFormat(b.builder, b.loc, wide, to);
}

Value integerToInteger(ScalarBuilder &b, Value value, Type from, Type to) {
  Type type = getComputeType(to);
  unsigned width = value.getType().getIntOrFloatBitWidth();
  unsigned newWidth = type.getIntOrFloatBitWidth();
  if (newWidth == 1)
    return width == 1 ? value
                      : b.cmpi(arith::CmpIPredicate::ne, value,
                               b.constant(value.getType(), 0));
  if (newWidth == width)
    return value;
  if (newWidth < width)
    return b.trunci(value, type);
  return from.isUnsignedInteger() || width == 1 ? b.extui(value, type)
                                                : b.extsi(value, type);
}

} // namespace

Value tsp::emitConvert(OpBuilder &builder, Location loc, Value value, Type from,
                       Type to) {
  ScalarBuilder b(builder, loc);
  if (isa<FloatType>(from))
    return isa<FloatType>(to) ? floatToFloat(b, value, from, to)
                              : floatToInteger(b, value, to);
  return isa<FloatType>(to) ? integerToFloat(b, value, from, to)
                            : integerToInteger(b, value, from, to);
}
