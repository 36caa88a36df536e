//===- LowerConvert.cpp - moves and conversions ---------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "jit/Lowering.h"

#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace tsp::emulation {

void Lowering::move(const Instruction &instruction) {
  Type type = instruction.type();
  if (!type)
    unsupported();
  const Operand &to = operand(0), &from = operand(1);
  if (from.form == Operand::Form::List) {
    // Packs, the first element lowest.
    Type part = type;
    part.bits = uint16_t(type.bits / from.elements.size());
    part.kind = ptx::Kind::Bits;
    Value *result = constant(0, type.bits);
    for (unsigned i = 0; i < from.elements.size(); ++i) {
      Value *element =
          builder.CreateZExt(read(from.elements[i], part), result->getType());
      result = builder.CreateOr(
          result, builder.CreateShl(element, uint64_t(i) * part.bits));
    }
    return write(result);
  }
  if (to.form == Operand::Form::List) {
    Value *value = read(from, type);
    unsigned bits = unsigned(type.bits / to.elements.size());
    for (unsigned i = 0; i < to.elements.size(); ++i)
      write(to.elements[i],
            builder.CreateTrunc(builder.CreateLShr(value, uint64_t(i) * bits),
                                shaped(intType(bits))));
    return;
  }
  write(read(from, type));
}

void Lowering::convertAddress(const Instruction &instruction) {
  Type type = instruction.type();
  if (instruction.has("shared::cluster"))
    return write(
        convertCluster(read(1, ptx::parseType("u64")), instruction.has("to")));
  Value *address = read(1, type);
  if (instruction.space() == ptx::Space::Shared) {
    Value *base = sharedBase();
    base = widen(builder.CreateZExtOrTrunc(base, intType(type.bits)));
    address = instruction.has("to") ? builder.CreateSub(address, base)
                                    : builder.CreateAdd(address, base);
  }
  if (instruction.space() == ptx::Space::Param && !instruction.has("to")) {
    // Unless it is an offset (see read()), it is generic already.
    Value *base = parameterBase();
    Value *isOffset =
        builder.CreateICmpULT(address, constant(uint64_t(1) << 32, type.bits));
    address = builder.CreateSelect(
        isOffset, builder.CreateAdd(address, widen(base)), address);
  }
  write(address);
}

void Lowering::isSpace(const Instruction &instruction) {
  if (instruction.has("shared::cluster"))
    return write(isOfCluster(read(1, ptx::parseType("u64"))));
  Value *offset =
      builder.CreateSub(read(1, ptx::parseType("u64")), widen(sharedBase()));
  Value *size =
      contextField(offsetof(WarpContext, totalShared), builder.getInt32Ty());
  size = widen(builder.CreateZExt(size, builder.getInt64Ty()));
  Value *isShared = builder.CreateICmpULT(offset, size);
  if (instruction.space() == ptx::Space::Shared)
    return write(isShared);
  unsupported();
}

//===----------------------------------------------------------------------===//
// cvt
//===----------------------------------------------------------------------===//

Value *Lowering::roundToInteger(Value *value) {
  Intrinsic::ID id = current->has("rni")   ? Intrinsic::roundeven
                     : current->has("rzi") ? Intrinsic::trunc
                     : current->has("rmi") ? Intrinsic::floor
                     : current->has("rpi") ? Intrinsic::ceil
                                           : Intrinsic::not_intrinsic;
  return id == Intrinsic::not_intrinsic
             ? value
             : builder.CreateUnaryIntrinsic(id, value);
}

Value *Lowering::floatToInt(Value *value, Type to) {
  value = roundToInteger(value);
  auto *integer = shaped(intType(to.bits));
  Intrinsic::ID id =
      to.isSigned() ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat;
  Value *result =
      builder.CreateIntrinsic(id, {integer, value->getType()}, {value});
  if (to.bits < 64 && !value->getType()->getScalarType()->isDoubleTy())
    return result;
  // NaN becomes zero only when no side is 64 bits wide.
  Value *isNaN = builder.CreateFCmpUNO(value, value);
  return builder.CreateSelect(
      isNaN, constant(uint64_t(1) << (to.bits - 1), to.bits), result);
}

void Lowering::convertPacked(Type to, Type from) {
  if (from.bits != 32 || from.kind != ptx::Kind::Float || rounding() ||
      to.element().bits != 16)
    unsupported();
  // The first operand is the upper half.
  auto half = [&](unsigned index) {
    Value *value = finish(flush(readFloat(index, from), from), to.element());
    value = builder.CreateBitCast(value, shaped(builder.getInt16Ty()));
    return builder.CreateZExt(value, shaped(builder.getInt32Ty()));
  };
  Value *high = builder.CreateShl(half(1), 16);
  write(builder.CreateOr(high, half(2)));
}

void Lowering::convert(const Instruction &instruction) {
  Type to = instruction.type(0), from = instruction.type(1);
  if (!to || !from || instruction.has("pack"))
    unsupported();
  if (to.isFloat8() || from.isFloat8())
    return convertFloat8(to, from);
  if (instruction.has("satfinite"))
    unsupported();
  if (to.packed)
    return convertPacked(to, from);
  // Into a wider register, integers are extended by their sign.
  unsigned width = to.bits;
  if (operand(0).isRegister())
    width = function.registers[operand(0).index].type.bits;
  auto writeInteger = [&](Value *value) {
    auto *wanted = shaped(intType(std::max<unsigned>(width, to.bits)));
    write(to.isSigned() ? builder.CreateSExtOrTrunc(value, wanted)
                        : builder.CreateZExtOrTrunc(value, wanted));
  };

  if (!from.isFloat() && !to.isFloat()) {
    Value *value = read(1, from);
    if (instruction.has("sat")) {
      // To the nearest value of the result's type.
      Value *whole = from.isSigned()
                         ? builder.CreateSExt(value, shaped(intType(128)))
                         : builder.CreateZExt(value, shaped(intType(128)));
      APInt low = to.isSigned() ? APInt::getSignedMinValue(to.bits).sext(128)
                                : APInt(128, 0);
      APInt high = to.isSigned() ? APInt::getSignedMaxValue(to.bits).zext(128)
                                 : APInt::getMaxValue(to.bits).zext(128);
      auto *big = whole->getType();
      whole = builder.CreateSelect(
          builder.CreateICmpSLT(whole, ConstantInt::get(big, low)),
          ConstantInt::get(big, low), whole);
      whole = builder.CreateSelect(
          builder.CreateICmpSGT(whole, ConstantInt::get(big, high)),
          ConstantInt::get(big, high), whole);
      return writeInteger(builder.CreateTrunc(whole, shaped(intType(to.bits))));
    }
    auto *sized = shaped(intType(to.bits));
    return writeInteger(from.isSigned()
                            ? builder.CreateSExtOrTrunc(value, sized)
                            : builder.CreateZExtOrTrunc(value, sized));
  }
  if (!to.isFloat())
    return writeInteger(floatToInt(flush(readFloat(1, from), from), to));
  llvm::Type *real =
      to.bits == 64 ? builder.getDoubleTy() : builder.getFloatTy();
  if (!from.isFloat()) {
    Value *value = read(1, from);
    unsigned mode = rounding();
    // Halves too are rounded once, from a number that is exact.
    bool viaDouble = mode || (to.bits == 16 && from.bits > 16);
    if (viaDouble && from.bits == 64)
      unsupported();
    auto *exact = shaped(viaDouble ? builder.getDoubleTy() : real);
    value = from.isSigned() ? builder.CreateSIToFP(value, exact)
                            : builder.CreateUIToFP(value, exact);
    if (mode && to.bits == 32)
      value = callMath("narrowRounded", {value}, mode);
    else if (mode && to.bits == 16)
      unsupported();
    return write(finish(value, to));
  }

  Value *value = roundToInteger(flush(readFloat(1, from), from));
  if (to.kind == ptx::Kind::TF32) {
    // 10 bits of the fraction stay; infinities and NaNs as they are.
    Value *bits = builder.CreateBitCast(value, shaped(builder.getInt32Ty()));
    Value *add = constant(0x1000, 32);
    if (!instruction.has("rna"))
      add = builder.CreateAdd(
          constant(0xfff, 32),
          builder.CreateAnd(builder.CreateLShr(bits, 13), constant(1, 32)));
    Value *rounded = builder.CreateAnd(builder.CreateAdd(bits, add),
                                       constant(~uint64_t(0x1fff), 32));
    Value *exponent = builder.CreateAnd(bits, constant(0x7f800000, 32));
    Value *special = builder.CreateICmpEQ(exponent, constant(0x7f800000, 32));
    return write(builder.CreateSelect(special, bits, rounded));
  }
  unsigned mode = rounding();
  if (to.bits == 64) {
    if (from.bits != 64)
      value = builder.CreateFPExt(value, shaped(real));
  } else if (to.bits == 32 && from.bits == 64) {
    value = mode ? callMath("narrowRounded", {value}, mode)
                 : builder.CreateFPTrunc(value, shaped(real));
  } else if (to.bits == 16 && mode && !(from == to)) {
    if (mode != 1 || to.kind != ptx::Kind::BFloat || from.bits != 32)
      unsupported();
    Value *bits = builder.CreateBitCast(value, shaped(builder.getInt32Ty()));
    Value *cut = builder.CreateTrunc(builder.CreateLShr(bits, 16),
                                     shaped(builder.getInt16Ty()));
    Value *isNaN = builder.CreateFCmpUNO(value, value);
    return write(builder.CreateSelect(isNaN, constant(0x7fff, 16), cut));
  }
  write(finish(value, to));
}

} // namespace tsp::emulation
