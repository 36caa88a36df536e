//===- LowerFloat.cpp - floating-point arithmetic -------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jit/Lowering.h"

#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace tsp::emulation {

/// 0: to nearest; 1: toward zero; 2: toward minus, 3: toward plus infinity.
unsigned Lowering::rounding() const {
  return current->has("rz")   ? 1
         : current->has("rm") ? 2
         : current->has("rp") ? 3
                              : 0;
}

/// With .ftz, subnormal numbers become zeros of their sign.
Value *Lowering::flush(Value *value, Type type) {
  if (!current->has("ftz"))
    return value;
  // Of f16 the limit is that of f16; values are held as float.
  bool isHalf = type.element().bits == 16 && type.kind == ptx::Kind::Float;
  double smallest = type.bits == 64 ? 0x1p-1022 : isHalf ? 0x1p-14 : 0x1p-126;
  auto *real = value->getType();
  Value *size = builder.CreateUnaryIntrinsic(Intrinsic::fabs, value);
  Value *isTiny = builder.CreateFCmpOLT(size, ConstantFP::get(real, smallest));
  Value *zero = builder.CreateBinaryIntrinsic(
      Intrinsic::copysign, ConstantFP::get(real, 0.0), value);
  return builder.CreateSelect(isTiny, zero, value);
}

/// To [0, 1], NaN to 0.
Value *Lowering::saturate(Value *value) {
  auto *real = value->getType();
  Value *zero = ConstantFP::get(real, 0.0), *one = ConstantFP::get(real, 1.0);
  value = builder.CreateSelect(builder.CreateFCmpOGT(value, zero), value, zero);
  return builder.CreateSelect(builder.CreateFCmpOGT(value, one), one, value);
}

/// The upper half of a double, as rcp.approx.ftz.f64 and rsqrt give it.
Value *Lowering::upperHalf(Value *value) {
  auto *bits = value->getType()->getWithNewType(builder.getInt64Ty());
  Value *upper = builder.CreateAnd(builder.CreateBitCast(value, bits),
                                   ConstantInt::get(bits, ~uint64_t(0) << 32));
  return builder.CreateBitCast(upper, value->getType());
}

/// What modifiers do to a result, and the rounding to its type.
Value *Lowering::finish(Value *value, Type type) {
  value = flush(value, type);
  if (current->has("sat"))
    value = saturate(value);
  if (current->has("relu")) {
    Value *zero = ConstantFP::get(value->getType(), 0.0);
    Value *keep = builder.CreateOr(builder.CreateFCmpOGT(value, zero),
                                   builder.CreateFCmpUNO(value, value));
    value = builder.CreateSelect(keep, value, zero);
  }
  return fromFloat(value, type);
}

void Lowering::floatBinary(const Instruction &instruction) {
  Type type = instruction.type();
  Value *x = flush(readFloat(1, type), type),
        *y = flush(readFloat(2, type), type);
  const std::string &opcode = instruction.opcode;
  Value *result;
  if (unsigned mode = rounding()) {
    if (opcode == "sub")
      y = builder.CreateFNeg(y);
    std::string name = (opcode == "mul"   ? "mul"
                        : opcode == "div" ? "div"
                                          : "add");
    name += type.bits == 64 ? "Rounded64" : "Rounded";
    if (type.bits < 32 || type.packed)
      unsupported();
    result = callMath(name.c_str(), {x, y}, mode);
  } else {
    result = opcode == "add"   ? builder.CreateFAdd(x, y)
             : opcode == "sub" ? builder.CreateFSub(x, y)
             : opcode == "mul" ? builder.CreateFMul(x, y)
                               : builder.CreateFDiv(x, y);
  }
  write(finish(result, type));
}

/// x * y + z of 16-bit floats as a double that rounds to them like the exact
/// sum: when bits were lost, the last one kept is set.
Value *Lowering::oddSum(Value *x, Value *y, Value *z) {
  auto *real = x->getType()->getWithNewType(builder.getDoubleTy());
  auto *integer = x->getType()->getWithNewType(builder.getInt64Ty());
  Value *product = builder.CreateFMul(builder.CreateFPExt(x, real),
                                      builder.CreateFPExt(y, real));
  z = builder.CreateFPExt(z, real);
  Value *sum = builder.CreateFAdd(product, z);
  // What the sum lost, exactly (Knuth).
  Value *back = builder.CreateFSub(sum, product);
  Value *lost = builder.CreateFAdd(
      builder.CreateFSub(product, builder.CreateFSub(sum, back)),
      builder.CreateFSub(z, back));
  Value *zero = ConstantFP::get(real, 0.0);
  Value *isLost = builder.CreateFCmpONE(lost, zero);
  Value *bits = builder.CreateBitCast(sum, integer);
  Value *isEven = builder.CreateICmpEQ(
      builder.CreateAnd(bits, ConstantInt::get(integer, 1)),
      ConstantInt::get(integer, 0));
  Value *sameSign = builder.CreateICmpEQ(builder.CreateFCmpOLT(lost, zero),
                                         builder.CreateFCmpOLT(sum, zero));
  Value *step = builder.CreateSelect(sameSign, ConstantInt::get(integer, 1),
                                     ConstantInt::getSigned(integer, -1));
  Value *odd = builder.CreateAdd(bits, step);
  bits = builder.CreateSelect(builder.CreateAnd(isLost, isEven), odd, bits);
  return builder.CreateBitCast(bits, real);
}

void Lowering::floatFma(const Instruction &instruction) {
  Type type = instruction.type();
  Value *x = flush(readFloat(1, type), type),
        *y = flush(readFloat(2, type), type);
  Value *z = flush(readFloat(3, type), type);
  if (unsigned mode = rounding()) {
    if (type.bits < 32 || type.packed)
      unsupported();
    return write(
        finish(callMath(type.bits == 64 ? "fmaRounded64" : "fmaRounded",
                        {x, y, z}, mode),
               type));
  }
  if (type.element().bits == 16)
    return write(finish(oddSum(x, y, z), type));
  Value *result =
      builder.CreateIntrinsic(Intrinsic::fma, {x->getType()}, {x, y, z});
  write(finish(result, type));
}

void Lowering::floatUnary(const Instruction &instruction) {
  Type type = instruction.type();
  const std::string &opcode = instruction.opcode;
  Value *x = flush(readFloat(1, type), type);
  auto one = [&] { return ConstantFP::get(x->getType(), 1.0); };
  bool is64 = type.bits == 64;
  if (opcode == "rcp" || opcode == "sqrt" || opcode == "rsqrt") {
    unsigned mode = rounding();
    Value *result = x;
    if (opcode != "rcp")
      result = mode
                   ? callMath(is64 ? "sqrtRounded64" : "sqrtRounded", {x}, mode)
                   : builder.CreateUnaryIntrinsic(Intrinsic::sqrt, x);
    if (opcode != "sqrt")
      result = mode ? callMath(is64 ? "divRounded64" : "divRounded",
                               {one(), result}, mode)
                    : builder.CreateFDiv(one(), result);
    if (is64 && instruction.has("approx"))
      result = upperHalf(result);
    return write(finish(result, type));
  }
  if (is64)
    unsupported();
  const char *name = opcode == "ex2"   ? "exp2"
                     : opcode == "lg2" ? "log2"
                     : opcode == "sin" ? "sin"
                     : opcode == "cos" ? "cos"
                                       : "tanh";
  if (!type.packed)
    return write(finish(callMath(name, {x}), type));
  // The two halves of each lane, one after the other.
  bool wasWide = wide;
  SmallVector<int> even, odd, both;
  unsigned lanes = wasWide ? warpSize : 1;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    even.push_back(int(2 * lane));
    odd.push_back(int(2 * lane + 1));
    both.push_back(int(lane));
    both.push_back(int(lanes + lane));
  }
  if (!wasWide) {
    Value *low = callMath(name, {builder.CreateExtractElement(x, uint64_t(0))});
    Value *high =
        callMath(name, {builder.CreateExtractElement(x, uint64_t(1))});
    Value *pair = builder.CreateInsertElement(PoisonValue::get(x->getType()),
                                              low, uint64_t(0));
    return write(
        finish(builder.CreateInsertElement(pair, high, uint64_t(1)), type));
  }
  Value *low = callMath(name, {builder.CreateShuffleVector(x, even)});
  Value *high = callMath(name, {builder.CreateShuffleVector(x, odd)});
  write(finish(builder.CreateShuffleVector(low, high, both), type));
}

void Lowering::floatMinMax(const Instruction &instruction) {
  Type type = instruction.type();
  bool isMin = instruction.opcode == "min";
  if (instruction.has("xorsign"))
    unsupported();
  Value *result = flush(readFloat(1, type), type);
  for (unsigned i = 2; i < instruction.operands.size(); ++i) {
    Value *y = flush(readFloat(i, type), type), *x = result;
    // minnum and maxnum leave the order of the zeros open: the GPU has -0 < +0.
    Intrinsic::ID id = isMin ? Intrinsic::minimum : Intrinsic::maximum;
    result = builder.CreateBinaryIntrinsic(id, x, y);
    if (!instruction.has("NaN")) {
      result = builder.CreateSelect(builder.CreateFCmpUNO(x, x), y, result);
      result = builder.CreateSelect(builder.CreateFCmpUNO(y, y), x, result);
    }
  }
  if (type.kind == ptx::Kind::Float && type.element().bits == 32) {
    // A NaN result is the canonical one.
    Value *isNaN = builder.CreateFCmpUNO(result, result);
    auto *ints = result->getType()->getWithNewType(builder.getInt32Ty());
    Value *canonical = builder.CreateBitCast(ConstantInt::get(ints, 0x7fffffff),
                                             result->getType());
    result = builder.CreateSelect(isNaN, canonical, result);
  }
  write(finish(result, type));
}

void Lowering::floatAbsNeg(const Instruction &instruction) {
  Type type = instruction.type();
  if (instruction.has("ftz")) {
    Value *x = flush(readFloat(1, type), type);
    x = instruction.opcode == "neg"
            ? builder.CreateFNeg(x)
            : builder.CreateUnaryIntrinsic(Intrinsic::fabs, x);
    return write(finish(x, type));
  }
  // On the sign bits: nothing else of a NaN changes.
  uint64_t sign = uint64_t(1) << (type.element().bits - 1);
  if (type.packed)
    sign |= sign << 16;
  Value *bits = read(1, type);
  write(instruction.opcode == "neg"
            ? builder.CreateXor(bits, constant(sign, type.bits))
            : builder.CreateAnd(bits, constant(~sign, type.bits)));
}

void Lowering::copySign(const Instruction &instruction) {
  Type type = instruction.type();
  uint64_t sign = uint64_t(1) << (type.bits - 1);
  Value *from = builder.CreateAnd(read(1, type), constant(sign, type.bits));
  Value *to = builder.CreateAnd(read(2, type), constant(~sign, type.bits));
  write(builder.CreateOr(from, to));
}

void Lowering::testFloat(const Instruction &instruction) {
  Type type = instruction.type();
  Value *x = readFloat(1, type);
  static const std::pair<const char *, unsigned> classes[] = {
      {"finite", fcFinite},  {"infinite", fcInf},  {"number", fcFinite | fcInf},
      {"notanumber", fcNan}, {"normal", fcNormal}, {"subnormal", fcSubnormal}};
  for (const auto &[name, classMask] : classes)
    if (instruction.has(name)) {
      FPClassTest test = static_cast<FPClassTest>(classMask);
      return write(builder.createIsFPClass(x, test));
    }
  unsupported();
}

} // namespace tsp::emulation
