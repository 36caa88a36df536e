//===- LowerInteger.cpp - integer arithmetic and bits ---------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jit/Lowering.h"

#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace tsp::emulation {

void Lowering::addSub(const Instruction &instruction) {
  Type type = instruction.type();
  if (type.isFloat())
    return floatBinary(instruction);
  bool isSub = instruction.opcode == "sub" || instruction.opcode == "subc";
  bool readsCarry =
      instruction.opcode == "addc" || instruction.opcode == "subc";
  Value *x = read(1, type), *y = read(2, type);
  if (instruction.has("sat"))
    return write(builder.CreateBinaryIntrinsic(
        isSub ? Intrinsic::ssub_sat : Intrinsic::sadd_sat, x, y));
  if (type.packed) {
    auto *halves = shaped(builder.getInt16Ty(), 2);
    x = builder.CreateBitCast(x, halves);
    y = builder.CreateBitCast(y, halves);
  }
  Value *result = isSub ? builder.CreateSub(x, y) : builder.CreateAdd(x, y);
  // The flag is a carry of sums and a borrow of differences.
  Value *carry =
      isSub ? builder.CreateICmpULT(x, y) : builder.CreateICmpULT(result, x);
  if (readsCarry) {
    Value *in =
        builder.CreateZExt(readPredicate(operand(3)), result->getType());
    Value *first = result;
    result =
        isSub ? builder.CreateSub(first, in) : builder.CreateAdd(first, in);
    carry = builder.CreateOr(carry, isSub ? builder.CreateICmpULT(first, in)
                                          : builder.CreateICmpULT(result, in));
  }
  if (!instruction.has("cc"))
    return write(result);
  write(operand(0).elements[0], result);
  write(operand(0).elements[1], carry);
}

/// Low, high or whole product of operands 1 and 2.
Value *Lowering::product(const Instruction &instruction, Type type,
                         bool &isWide) {
  isWide = instruction.has("wide");
  Value *x = read(1, type), *y = read(2, type);
  if (instruction.opcode == "mul24" || instruction.opcode == "mad24") {
    auto cut = [&](Value *value) {
      value = builder.CreateShl(value, 8);
      return type.isSigned() ? builder.CreateAShr(value, 8)
                             : builder.CreateLShr(value, 8);
    };
    x = cut(x);
    y = cut(y);
    if (instruction.has("lo"))
      return builder.CreateMul(x, y);
    fail("only .lo of 24-bit products is supported");
  }
  if (instruction.has("lo") || type.packed)
    return builder.CreateMul(x, y);
  auto *doubled = shaped(intType(type.bits * 2));
  auto extend = [&](Value *value) {
    return type.isSigned() ? builder.CreateSExt(value, doubled)
                           : builder.CreateZExt(value, doubled);
  };
  Value *whole = builder.CreateMul(extend(x), extend(y));
  if (isWide)
    return whole;
  return builder.CreateTrunc(builder.CreateLShr(whole, type.bits),
                             shaped(intType(type.bits)));
}

void Lowering::multiply(const Instruction &instruction) {
  Type type = instruction.type();
  if (type.isFloat())
    return floatBinary(instruction);
  bool isWide;
  write(product(instruction, type, isWide));
}

void Lowering::multiplyAdd(const Instruction &instruction) {
  Type type = instruction.type();
  if (type.isFloat())
    return floatFma(instruction);
  bool isWide;
  Value *result = product(instruction, type, isWide);
  Type sumType = type;
  if (isWide)
    sumType.bits *= 2;
  Value *addend = read(3, sumType);
  if (instruction.has("sat"))
    return write(
        builder.CreateBinaryIntrinsic(Intrinsic::sadd_sat, result, addend));
  Value *sum = builder.CreateAdd(result, addend);
  Value *carry = builder.CreateICmpULT(sum, addend);
  if (instruction.opcode == "madc") {
    Value *in = builder.CreateZExt(readPredicate(operand(4)), sum->getType());
    sum = builder.CreateAdd(sum, in);
    carry = builder.CreateOr(carry, builder.CreateICmpULT(sum, in));
  }
  if (!instruction.has("cc"))
    return write(sum);
  write(operand(0).elements[0], sum);
  write(operand(0).elements[1], carry);
}

void Lowering::divide(const Instruction &instruction) {
  Type type = instruction.type();
  if (type.isFloat())
    return floatBinary(instruction);
  Value *x = read(1, type), *y = read(2, type);
  bool isRemainder = instruction.opcode == "rem";
  // Divisors the host would trap on: zero gives all ones (the remainder: the
  // dividend), and the smallest number by minus one itself (zero).
  Value *byZero = builder.CreateICmpEQ(y, constant(0, type.bits));
  Value *safe = builder.CreateSelect(byZero, constant(1, type.bits), y);
  if (!type.isSigned()) {
    Value *result =
        isRemainder ? builder.CreateURem(x, safe) : builder.CreateUDiv(x, safe);
    return write(builder.CreateSelect(
        byZero, isRemainder ? x : constant(~uint64_t(0), type.bits), result));
  }
  Value *byMinusOne =
      builder.CreateICmpEQ(y, constant(~uint64_t(0), type.bits));
  safe = builder.CreateSelect(byMinusOne, constant(1, type.bits), safe);
  Value *result =
      isRemainder ? builder.CreateSRem(x, safe) : builder.CreateSDiv(x, safe);
  Value *negated = isRemainder ? constant(0, type.bits) : builder.CreateNeg(x);
  result = builder.CreateSelect(byMinusOne, negated, result);
  write(builder.CreateSelect(
      byZero, isRemainder ? x : constant(~uint64_t(0), type.bits), result));
}

void Lowering::minMax(const Instruction &instruction) {
  Type type = instruction.type();
  if (type.isFloat())
    return floatMinMax(instruction);
  bool isMin = instruction.opcode == "min";
  Value *x = read(1, type), *y = read(2, type);
  if (type.packed) {
    auto *halves = shaped(builder.getInt16Ty(), 2);
    x = builder.CreateBitCast(x, halves);
    y = builder.CreateBitCast(y, halves);
  }
  Intrinsic::ID id = type.isSigned()
                         ? (isMin ? Intrinsic::smin : Intrinsic::smax)
                         : (isMin ? Intrinsic::umin : Intrinsic::umax);
  Value *result = builder.CreateBinaryIntrinsic(id, x, y);
  if (instruction.has("relu"))
    result = builder.CreateBinaryIntrinsic(
        Intrinsic::smax, result, Constant::getNullValue(result->getType()));
  write(result);
}

void Lowering::absNeg(const Instruction &instruction) {
  Type type = instruction.type();
  if (type.isFloat())
    return floatAbsNeg(instruction);
  Value *x = read(1, type), *negated = builder.CreateNeg(x);
  if (instruction.opcode == "neg")
    return write(negated);
  write(builder.CreateSelect(builder.CreateICmpSLT(x, constant(0, type.bits)),
                             negated, x));
}

void Lowering::logic(const Instruction &instruction) {
  Type type = instruction.type();
  const std::string &opcode = instruction.opcode;
  Value *x = read(1, type);
  if (opcode == "not")
    return write(builder.CreateNot(x));
  if (opcode == "cnot")
    return write(builder.CreateZExt(
        builder.CreateICmpEQ(x, constant(0, type.bits)), x->getType()));
  Value *y = read(2, type);
  write(opcode == "and"  ? builder.CreateAnd(x, y)
        : opcode == "or" ? builder.CreateOr(x, y)
                         : builder.CreateXor(x, y));
}

void Lowering::lop3(const Instruction &instruction) {
  if (operand(0).form == Operand::Form::List)
    fail("lop3 with a predicate is not supported");
  Type type = instruction.type();
  Value *x = read(1, type), *y = read(2, type), *z = read(3, type);
  if (operand(4).form != Operand::Form::Integer)
    fail("the table of lop3 must be a constant");
  uint64_t table = operand(4).bits;
  Value *result = constant(0, 32);
  for (unsigned row = 0; row < 8; ++row) {
    if (!(table >> row & 1))
      continue;
    Value *term = builder.CreateAnd(row & 4 ? x : builder.CreateNot(x),
                                    row & 2 ? y : builder.CreateNot(y));
    term = builder.CreateAnd(term, row & 1 ? z : builder.CreateNot(z));
    result = builder.CreateOr(result, term);
  }
  write(result);
}

void Lowering::shift(const Instruction &instruction) {
  Type type = instruction.type();
  Value *x = read(1, type);
  // Amounts are 32 bits and clamped to the width.
  Value *amount = read(2, ptx::parseType("u32"));
  Value *large = builder.CreateICmpUGE(amount, constant(type.bits, 32));
  auto *wanted = shaped(intType(type.bits));
  Value *resized = builder.CreateZExtOrTrunc(amount, wanted);
  if (instruction.opcode == "shr" && type.isSigned()) {
    resized = builder.CreateSelect(large, constant(type.bits - 1, type.bits),
                                   resized);
    return write(builder.CreateAShr(x, resized));
  }
  resized = builder.CreateSelect(large, constant(0, type.bits), resized);
  Value *shifted = instruction.opcode == "shl" ? builder.CreateShl(x, resized)
                                               : builder.CreateLShr(x, resized);
  write(builder.CreateSelect(large, constant(0, type.bits), shifted));
}

void Lowering::funnelShift(const Instruction &instruction) {
  Type word = ptx::parseType("b32");
  Value *low = read(1, word), *high = read(2, word), *amount = read(3, word);
  if (instruction.has("wrap"))
    amount = builder.CreateAnd(amount, constant(31, 32));
  else
    amount = builder.CreateBinaryIntrinsic(Intrinsic::umin, amount,
                                           constant(32, 32));
  auto *pairType = shaped(builder.getInt64Ty());
  Value *pair = builder.CreateOr(
      builder.CreateShl(builder.CreateZExt(high, pairType), 32),
      builder.CreateZExt(low, pairType));
  amount = builder.CreateZExt(amount, pairType);
  Value *shifted = instruction.has("l")
                       ? builder.CreateLShr(builder.CreateShl(pair, amount), 32)
                       : builder.CreateLShr(pair, amount);
  write(builder.CreateTrunc(shifted, shaped(builder.getInt32Ty())));
}

void Lowering::bitField(const Instruction &instruction) {
  Type type = instruction.type();
  unsigned bits = type.bits;
  Type word = ptx::parseType("u32");
  bool isInsert = instruction.opcode == "bfi";
  auto clampedTo = [&](Value *amount, unsigned limit) {
    amount = builder.CreateAnd(amount, constant(255, 32));
    amount = builder.CreateBinaryIntrinsic(Intrinsic::umin, amount,
                                           constant(limit, 32));
    return builder.CreateZExtOrTrunc(amount, shaped(builder.getInt64Ty()));
  };
  // In 128 bits nothing of a shift by up to 64 is undefined.
  auto *big = shaped(intType(128));
  Value *start =
      builder.CreateZExt(clampedTo(read(isInsert ? 3 : 2, word), bits), big);
  Value *length =
      builder.CreateZExt(clampedTo(read(isInsert ? 4 : 3, word), bits), big);
  Value *one = ConstantInt::get(big, 1);
  Value *ones = builder.CreateSub(builder.CreateShl(one, length), one);
  auto *narrow = shaped(intType(bits));
  if (isInsert) {
    Value *from = builder.CreateZExt(read(1, type), big),
          *to = builder.CreateZExt(read(2, type), big);
    Value *field = builder.CreateShl(ones, start);
    Value *result = builder.CreateOr(
        builder.CreateAnd(to, builder.CreateNot(field)),
        builder.CreateAnd(builder.CreateShl(from, start), field));
    return write(builder.CreateTrunc(result, narrow));
  }
  Value *x = read(1, type);
  // Beyond the top, a signed field repeats the sign.
  Value *extended =
      type.isSigned() ? builder.CreateSExt(x, big) : builder.CreateZExt(x, big);
  Value *field = builder.CreateAnd(builder.CreateLShr(extended, start), ones);
  if (type.isSigned()) {
    Value *top = builder.CreateLShr(builder.CreateAdd(ones, one), 1);
    Value *set = builder.CreateICmpNE(builder.CreateAnd(field, top),
                                      ConstantInt::get(big, 0));
    Value *negative = builder.CreateOr(field, builder.CreateNot(ones));
    Value *isEmpty = builder.CreateICmpEQ(length, ConstantInt::get(big, 0));
    field = builder.CreateSelect(set, negative, field);
    field = builder.CreateSelect(isEmpty, ConstantInt::get(big, 0), field);
  }
  write(builder.CreateTrunc(field, narrow));
}

void Lowering::countBits(const Instruction &instruction) {
  Type type = instruction.type();
  Value *x = read(1, type);
  if (instruction.opcode == "brev")
    return write(builder.CreateUnaryIntrinsic(Intrinsic::bitreverse, x));
  Value *result = instruction.opcode == "popc"
                      ? builder.CreateUnaryIntrinsic(Intrinsic::ctpop, x)
                      : builder.CreateBinaryIntrinsic(Intrinsic::ctlz, x,
                                                      builder.getFalse());
  write(builder.CreateZExtOrTrunc(result, shaped(builder.getInt32Ty())));
}

void Lowering::findHighest(const Instruction &instruction) {
  Type type = instruction.type();
  Value *x = read(1, type);
  if (type.isSigned())
    x = builder.CreateXor(x, builder.CreateAShr(x, type.bits - 1));
  Value *leading =
      builder.CreateBinaryIntrinsic(Intrinsic::ctlz, x, builder.getFalse());
  leading = builder.CreateZExtOrTrunc(leading, shaped(builder.getInt32Ty()));
  Value *none = builder.CreateICmpEQ(x, constant(0, type.bits));
  Value *result = instruction.has("shiftamt")
                      ? leading
                      : builder.CreateSub(constant(type.bits - 1, 32), leading);
  write(builder.CreateSelect(none, constant(~uint64_t(0), 32), result));
}

void Lowering::permuteBytes(const Instruction &instruction) {
  Type word = ptx::parseType("b32");
  auto *pairType = shaped(builder.getInt64Ty());
  Value *pair = builder.CreateOr(
      builder.CreateShl(builder.CreateZExt(read(2, word), pairType), 32),
      builder.CreateZExt(read(1, word), pairType));
  Value *selector = read(3, word);
  static const char *const modes[] = {"f4e", "b4e", "rc8",
                                      "ecl", "ecr", "rc16"};
  for (const char *mode : modes)
    if (instruction.has(mode))
      unsupported();
  Value *result = constant(0, 32);
  for (unsigned i = 0; i < 4; ++i) {
    Value *choice = builder.CreateAnd(builder.CreateLShr(selector, 4 * i),
                                      constant(15, 32));
    Value *amount =
        builder.CreateShl(builder.CreateAnd(choice, constant(7, 32)), 3);
    Value *byte =
        builder.CreateLShr(pair, builder.CreateZExt(amount, pairType));
    byte = builder.CreateTrunc(byte, shaped(builder.getInt8Ty()));
    Value *sign = builder.CreateAShr(byte, 7);
    Value *spread = builder.CreateICmpNE(
        builder.CreateAnd(choice, constant(8, 32)), constant(0, 32));
    byte = builder.CreateSelect(spread, sign, byte);
    byte = builder.CreateZExt(byte, shaped(builder.getInt32Ty()));
    result = builder.CreateOr(result, builder.CreateShl(byte, 8 * i));
  }
  write(result);
}

void Lowering::dotProduct(const Instruction &instruction) {
  // dp4a.atype.btype, dp2a.lo|hi.atype.btype: 16 bits of a by 8 bits of b.
  Type a = instruction.type(0), b = instruction.type(1);
  Value *x = read(1, ptx::parseType("b32")),
        *y = read(2, ptx::parseType("b32"));
  Value *sum = read(3, a);
  bool isFour = instruction.opcode == "dp4a";
  unsigned terms = isFour ? 4 : 2, bitsOfX = isFour ? 8 : 16;
  auto part = [&](Value *word, unsigned bits, unsigned index, bool isSigned) {
    Value *top = builder.CreateShl(word, 32 - bits * (index + 1));
    return isSigned ? builder.CreateAShr(top, 32 - bits)
                    : builder.CreateLShr(top, 32 - bits);
  };
  for (unsigned i = 0; i < terms; ++i) {
    unsigned ofY = isFour ? i : i + (instruction.has("hi") ? 2 : 0);
    sum = builder.CreateAdd(sum,
                            builder.CreateMul(part(x, bitsOfX, i, a.isSigned()),
                                              part(y, 8, ofY, b.isSigned())));
  }
  write(sum);
}

void Lowering::sumDifference(const Instruction &instruction) {
  Type type = instruction.type();
  Value *x = read(1, type), *y = read(2, type);
  Value *less = type.isSigned() ? builder.CreateICmpSLT(x, y)
                                : builder.CreateICmpULT(x, y);
  Value *difference = builder.CreateSelect(less, builder.CreateSub(y, x),
                                           builder.CreateSub(x, y));
  write(builder.CreateAdd(difference, read(3, type)));
}

} // namespace tsp::emulation
