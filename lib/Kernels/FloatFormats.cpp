//===- FloatFormats.cpp - narrow floats by integer arithmetic -------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// bf16 and the f8 types are rounded and widened by integer arithmetic on the
// bits of an f32: every machine gives the same bits, LLVM vectorises it, and
// nothing can fold a rounding away. f16 has instructions, and bf16 has them on
// GPUs.
//
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "ScalarBuilder.h"
#include "tsp/Kernels/Kernels.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tsp;

namespace {

/// The layout of an f8 type.
struct Format {
  unsigned mantissaBits;
  int bias;
  /// The greatest finite value's bits, and the bits of infinity (or of NaN
  /// where there is none) and of a NaN, all without the sign.
  unsigned maxFinite, overflow, nan;
};

Format getFormat(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return {3, 7, 0x7E, 0x7F, 0x7F};
  assert(isa<Float8E5M2Type>(type) && "a type of the accepted subset");
  return {2, 15, 0x7B, 0x7C, 0x7E};
}

/// f32 to the bits of an f8 type, ties to even.
Value encode8(ScalarBuilder &b, Value value, const Format &format) {
  Value bits = b.bitcast(value, b.i32());
  Value sign = b.andi(b.shrui(bits, 24), b.constI32(0x80));
  Value magnitude = b.andi(bits, b.constI32(0x7FFFFFFF));
  unsigned dropped = 23 - format.mantissaBits;

  // Normal: round the mantissa in place, then move the exponent.
  Value odd = b.andi(b.shrui(magnitude, dropped), b.constI32(1));
  Value rounded = b.addi(magnitude, b.addi(odd, b.constI32((1u << (dropped - 1)) - 1)));
  Value normal = b.subi(b.shrui(rounded, dropped),
                        b.constI32((127 - format.bias) << format.mantissaBits));
  // Subnormal: adding a power of two makes the FPU round at the right bit.
  int exponent = 1 - format.bias - int(format.mantissaBits) + 23;
  Value magic = b.constF32(std::ldexp(1.0, exponent));
  Value absolute = b.bitcast(magnitude, b.f32());
  Value subnormal = b.subi(b.bitcast(b.addf(absolute, magic), b.i32()),
                           b.bitcast(magic, b.i32()));
  Value smallestNormal = b.constI32((127 + 1 - format.bias) << 23);
  Value isSubnormal = b.cmpi(arith::CmpIPredicate::ult, magnitude, smallestNormal);
  Value result = b.select(isSubnormal, subnormal, normal);

  Value tooLarge = b.cmpi(arith::CmpIPredicate::sgt, result,
                          b.constI32(format.maxFinite));
  result = b.select(tooLarge, b.constI32(format.overflow), result);
  Value isNan = b.cmpi(arith::CmpIPredicate::ugt, magnitude, b.constI32(0x7F800000));
  result = b.select(isNan, b.constI32(format.nan), result);
  return b.trunci(b.ori(result, sign), b.i8());
}

/// The bits of an f8 type to f32, exactly.
Value decode8(ScalarBuilder &b, Value bits8, const Format &format) {
  Value bits = b.extui(bits8, b.i32());
  Value sign = b.shli(b.andi(bits, b.constI32(0x80)), 24);
  Value magnitude = b.andi(bits, b.constI32(0x7F));
  unsigned dropped = 23 - format.mantissaBits;
  Value normal = b.addi(b.shli(magnitude, dropped),
                        b.constI32((127 - format.bias) << 23));
  int exponent = 1 - format.bias - int(format.mantissaBits);
  Value subnormal = b.bitcast(
      b.mulf(b.uitofp(magnitude, b.f32()), b.constF32(std::ldexp(1.0, exponent))),
      b.i32());
  Value isSubnormal = b.cmpi(arith::CmpIPredicate::ult, magnitude,
                             b.constI32(1u << format.mantissaBits));
  Value result = b.select(isSubnormal, subnormal, normal);
  bool hasInfinity = format.overflow != format.nan;
  if (hasInfinity)
    result = b.select(b.cmpi(arith::CmpIPredicate::eq, magnitude,
                             b.constI32(format.overflow)),
                      b.constI32(0x7F800000), result);
  Value isNan = b.cmpi(hasInfinity ? arith::CmpIPredicate::ugt
                                   : arith::CmpIPredicate::uge,
                       magnitude, b.constI32(format.overflow));
  result = b.select(isNan, b.constI32(0x7FC00000), result);
  return b.bitcast(b.ori(result, sign), b.f32());
}

/// Whether the code is that of a GPU.
bool isDeviceCode(ScalarBuilder &b) {
  Operation *op = b.builder.getInsertionBlock()->getParentOp();
  return op && (isa<gpu::GPUFuncOp>(op) || op->getParentOfType<gpu::GPUFuncOp>());
}

constexpr StringLiteral roundPair = "llvm.nvvm.ff2bf16x2.rn";

/// Rounds to bf16 by the instruction of GPUs that packs two: with zero below,
/// the pair is the rounded f32.
Value roundOnDevice(ScalarBuilder &b, Value value) {
  auto pair = VectorType::get({2}, b.builder.getBF16Type());
  Value packed = LLVM::CallIntrinsicOp::create(
                     b.builder, b.loc, pair, b.builder.getStringAttr(roundPair),
                     ValueRange{value, b.constF32(0)})
                     .getResult(0);
  packed = LLVM::BitcastOp::create(b.builder, b.loc, b.i32(), packed);
  return b.bitcast(packed, b.f32());
}

/// What roundOnDevice rounded to `value`, or the value. Neighbours that memory
/// gets are rounded by twos, straight from it.
Value beforeRounding(Value value) {
  auto bits = value.getDefiningOp<arith::BitcastOp>();
  auto packed = bits ? bits.getIn().getDefiningOp<LLVM::BitcastOp>() : nullptr;
  auto round =
      packed ? packed.getArg().getDefiningOp<LLVM::CallIntrinsicOp>() : nullptr;
  return round && round.getIntrin() == roundPair ? round.getArgs().front()
                                                 : value;
}

/// The bits of an f32 whose upper half is the nearest bf16.
Value roundBits16(ScalarBuilder &b, Value value) {
  Value bits = b.bitcast(value, b.i32());
  Value odd = b.andi(b.shrui(bits, 16), b.constI32(1));
  Value rounded = b.addi(bits, b.addi(odd, b.constI32(0x7FFF)));
  Value isNan = b.cmpf(arith::CmpFPredicate::UNO, value, value);
  return b.select(isNan, b.ori(bits, b.constI32(0x00400000)), rounded);
}

} // namespace

Value tsp::roundToFormat(OpBuilder &builder, Location loc, Value value,
                         Type elementType) {
  ScalarBuilder b(builder, loc);
  if (elementType.isF32() || elementType.isF64())
    return value;
  if (elementType.isF16())
    return b.extf(b.truncf(value, elementType), b.f32());
  if (elementType.isBF16() && isDeviceCode(b))
    return roundOnDevice(b, value);
  if (elementType.isBF16())
    return b.bitcast(b.andi(roundBits16(b, value), b.constI32(0xFFFF0000)), b.f32());
  Format format = getFormat(elementType);
  return decode8(b, encode8(b, value, format), format);
}

Value tsp::reducePrecision(OpBuilder &builder, Location loc, Value value,
                           unsigned exponentBits, unsigned mantissaBits) {
  ScalarBuilder b(builder, loc);
  bool isF64 = value.getType().isF64();
  unsigned width = isF64 ? 64 : 32, mantissa = isF64 ? 52 : 23;
  unsigned exponent = width - 1 - mantissa;
  int64_t bias = (int64_t(1) << (exponent - 1)) - 1;
  Type integer = builder.getIntegerType(width);
  auto constant = [&](uint64_t n) { return b.constant(integer, n); };
  Value bits = b.bitcast(value, integer);
  Value result = bits;
  if (mantissaBits < mantissa) {
    unsigned dropped = mantissa - mantissaBits;
    Value odd = b.andi(b.shrui(bits, dropped), constant(1));
    Value half = constant((uint64_t(1) << (dropped - 1)) - 1);
    result = b.andi(b.addi(bits, b.addi(odd, half)),
                    constant(~((uint64_t(1) << dropped) - 1)));
  }
  if (exponentBits < exponent) {
    Value signMask = constant(uint64_t(1) << (width - 1));
    Value sign = b.andi(bits, signMask);
    Value magnitude = b.andi(result, constant((uint64_t(1) << (width - 1)) - 1));
    int64_t newBias = (int64_t(1) << (exponentBits - 1)) - 1;
    Value least = constant(uint64_t(bias - newBias + 1) << mantissa);
    Value beyond = constant(uint64_t(bias + newBias + 1) << mantissa);
    Value infinity = constant(((uint64_t(1) << exponent) - 1) << mantissa);
    magnitude = b.select(b.cmpi(arith::CmpIPredicate::uge, magnitude, beyond),
                         infinity, magnitude);
    magnitude = b.select(b.cmpi(arith::CmpIPredicate::ult, magnitude, least),
                         constant(0), magnitude);
    result = b.ori(magnitude, sign);
  }
  Value isNan = b.cmpf(arith::CmpFPredicate::UNO, value, value);
  return b.select(isNan, value, b.bitcast(result, value.getType()));
}

Value tsp::toBits(OpBuilder &builder, Location loc, Value value,
                  Type elementType) {
  ScalarBuilder b(builder, loc);
  if (!isa<FloatType>(elementType))
    return value;
  if (elementType.isF32() || elementType.isF64())
    return b.bitcast(value,
                     builder.getIntegerType(elementType.getIntOrFloatBitWidth()));
  if (elementType.isF16())
    return b.bitcast(b.truncf(value, elementType), builder.getI16Type());
  if (elementType.isBF16())
    return b.trunci(b.shrui(b.bitcast(value, b.i32()), 16), builder.getI16Type());
  return encode8(b, value, getFormat(elementType));
}

Value tsp::fromBits(OpBuilder &builder, Location loc, Value bits,
                    Type elementType) {
  ScalarBuilder b(builder, loc);
  if (!isa<FloatType>(elementType))
    return bits;
  if (elementType.isF32() || elementType.isF64())
    return b.bitcast(bits, elementType);
  if (elementType.isF16())
    return b.extf(b.bitcast(bits, elementType), b.f32());
  if (elementType.isBF16())
    return b.bitcast(b.shli(b.extui(bits, b.i32()), 16), b.f32());
  return decode8(b, bits, getFormat(elementType));
}

Value tsp::toStorage(OpBuilder &builder, Location loc, Value value,
                     Type elementType) {
  ScalarBuilder b(builder, loc);
  Type storage = getStorageType(elementType);
  if (elementType.isF32() || elementType.isF64())
    return value;
  if (elementType.isBF16() && isDeviceCode(b))
    return b.truncf(beforeRounding(value), elementType);
  if (elementType.isF16())
    return b.truncf(value, elementType);
  if (isa<FloatType>(elementType)) {
    Value bits = toBits(builder, loc, value, elementType);
    return b.bitcast(bits, storage);
  }
  if (value.getType() == storage)
    return value;
  return elementType.isSignlessInteger(4) ? b.extsi(value, storage)
                                          : b.extui(value, storage);
}

Value tsp::fromStorage(OpBuilder &builder, Location loc, Value stored,
                       Type elementType) {
  ScalarBuilder b(builder, loc);
  if (elementType.isF32() || elementType.isF64())
    return stored;
  if (elementType.isF16())
    return b.extf(stored, b.f32());
  if (elementType.isBF16())
    return fromBits(builder, loc, b.bitcast(stored, builder.getI16Type()),
                    elementType);
  if (isa<FloatType>(elementType))
    return fromBits(builder, loc, stored, elementType);
  Type compute = getComputeType(elementType);
  return stored.getType() == compute ? stored : b.trunci(stored, compute);
}
