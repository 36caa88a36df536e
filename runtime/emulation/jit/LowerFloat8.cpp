//===- LowerFloat8.cpp - conversions of 8-bit floats ----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Alternate floating-point data formats": e5m2 is the upper byte of
// an f16. e4m3 has a bias of 7, no infinities, and one NaN (0x7f) of each sign.
//
//===----------------------------------------------------------------------===//

#include "jit/Lowering.h"

#include "llvm/IR/Intrinsics.h"

#include <cmath>

using namespace llvm;

namespace tsp::emulation {

namespace {
struct Float8Format {
  unsigned fractionBits;
  int bias;
  double largest;
};
} // namespace

static Float8Format formatOf(ptx::Type type) {
  return type.kind == ptx::Kind::E4M3 ? Float8Format{3, 7, 448}
                                      : Float8Format{2, 15, 57344};
}

/// A float to the nearest number of `to`, as a byte in 32 bits: what is too
/// large, also infinity, becomes the largest number; NaN becomes 0x7f.
Value *Lowering::narrowToFloat8(Value *value, Type to) {
  Float8Format format = formatOf(to);
  llvm::Type *real = value->getType();
  llvm::Type *word = shaped(builder.getInt32Ty());
  auto number = [&](double x) { return ConstantFP::get(real, x); };
  auto bitsOf = [&](Value *x) { return builder.CreateBitCast(x, word); };
  Value *size = builder.CreateUnaryIntrinsic(Intrinsic::fabs, value);
  size = builder.CreateMinNum(size, number(format.largest));

  // To a fraction of fewer bits, ties to even; a carry goes to the exponent.
  unsigned dropped = 23 - format.fractionBits;
  Value *bits = bitsOf(size);
  Value *isOdd =
      builder.CreateAnd(builder.CreateLShr(bits, dropped), constant(1, 32));
  Value *rounded =
      builder.CreateAdd(builder.CreateAdd(bits, isOdd),
                        constant((uint64_t(1) << (dropped - 1)) - 1, 32));
  Value *normal = builder.CreateSub(
      builder.CreateLShr(rounded, dropped),
      constant(uint64_t(127 - format.bias) << format.fractionBits, 32));

  // Below the smallest normal number: to multiples of the smallest. Those are
  // the last bits of a sum with a number that has them as its own.
  int smallest = 1 - format.bias - int(format.fractionBits);
  Value *anchor = number(std::ldexp(1.0, smallest + 23));
  Value *subnormal = builder.CreateSub(bitsOf(builder.CreateFAdd(size, anchor)),
                                       bitsOf(anchor));
  Value *isSubnormal =
      builder.CreateFCmpOLT(size, number(std::ldexp(1.0, 1 - format.bias)));
  Value *result = builder.CreateSelect(isSubnormal, subnormal, normal);

  Value *sign = builder.CreateAnd(builder.CreateLShr(bitsOf(value), 24),
                                  constant(0x80, 32));
  return builder.CreateSelect(builder.CreateFCmpUNO(value, value),
                              constant(0x7f, 32),
                              builder.CreateOr(result, sign));
}

/// cvt.rn.satfinite{.relu}.f8x2.f32 d, upper, lower
/// cvt.rn.satfinite{.relu}.f8x2.f16x2 d, a
/// cvt.rn{.relu}.f16x2.f8x2 d, a
void Lowering::convertFloat8(Type to, Type from) {
  bool narrows = to.isFloat8();
  Type other = narrows ? from : to;
  bool isPair = other.kind == ptx::Kind::Float && other.packed;
  bool isSingle = narrows && other == ptx::parseType("f32");
  if (!(narrows ? to : from).packed || !(isPair || isSingle) ||
      !current->has("rn") || current->has("satfinite") != narrows)
    unsupported();
  auto clamped = [&](Value *value) {
    if (!current->has("relu"))
      return value;
    // Not of NaN.
    Value *zero = Constant::getNullValue(value->getType());
    return builder.CreateSelect(builder.CreateFCmpOLT(value, zero), zero,
                                value);
  };
  // Element 0 is the lower one of a packed operand, and the second of two.
  auto element = [&](unsigned i) {
    if (isSingle)
      return readFloat(2 - i, from);
    Value *bits = builder.CreateTrunc(
        builder.CreateLShr(read(1, from), i * from.bits / 2),
        shaped(intType(from.bits / 2)));
    return narrows ? toFloat(bits, from.element()) : widenFloat8(bits, from);
  };
  Value *result = constant(0, to.bits);
  for (unsigned i = 0; i < 2; ++i) {
    Value *value = clamped(element(i));
    value = narrows ? narrowToFloat8(value, to)
                    : builder.CreateBitCast(fromFloat(value, to.element()),
                                            shaped(builder.getInt16Ty()));
    value = builder.CreateZExtOrTrunc(value, result->getType());
    result =
        builder.CreateOr(result, builder.CreateShl(value, i * to.bits / 2));
  }
  write(result);
}

/// A byte to float.
Value *Lowering::widenFloat8(Value *byte, Type from) {
  Value *word = builder.CreateZExt(byte, shaped(builder.getInt16Ty()));
  if (from.kind == ptx::Kind::E5M2)
    return toFloat(builder.CreateShl(word, 8), ptx::parseType("f16"));
  // With the exponent in its place in f16, only the bias is another.
  Value *magnitude = builder.CreateAnd(word, constant(0x7f, 16));
  Value *sign =
      builder.CreateShl(builder.CreateAnd(word, constant(0x80, 16)), 8);
  Value *bits = builder.CreateOr(builder.CreateShl(magnitude, 7), sign);
  Value *value = toFloat(bits, ptx::parseType("f16"));
  value = builder.CreateFMul(value, ConstantFP::get(value->getType(), 256));
  return builder.CreateSelect(
      builder.CreateICmpEQ(magnitude, constant(0x7f, 16)),
      ConstantFP::getNaN(value->getType()), value);
}

} // namespace tsp::emulation
