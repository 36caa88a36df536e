//===- TensorCore.cpp - fragments of matrices in registers ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorCore.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tsp;

using Values = DeviceEmitter::Values;

static Values unpack(DeviceEmitter &e, Value aggregate, int64_t count) {
  Values values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(LLVM::ExtractValueOp::create(e.b, e.loc, aggregate, i));
  return values;
}

static Type structOf(DeviceEmitter &e, Type type, int64_t count) {
  return LLVM::LLVMStructType::getLiteral(e.b.getContext(),
                                          SmallVector<Type>(count, type));
}

Values tsp::loadTiles(DeviceEmitter &e, Value pointer, bool transpose) {
  MLIRContext *context = e.b.getContext();
  auto layout = transpose ? NVVM::MMALayout::col : NVVM::MMALayout::row;
  auto shape = NVVM::LdStMatrixShapeAttr::get(context, 8, 8);
  Value tiles = NVVM::LdMatrixOp::create(
      e.b, e.loc, structOf(e, e.b.getI32Type(), 4), pointer, 4, layout, shape,
      NVVM::LdStMatrixEltType::B16);
  return unpack(e, tiles, 4);
}

static StringRef f8Name(Type element) {
  return isa<Float8E4M3FNType>(element) ? "e4m3" : "e5m2";
}

/// f8, for which the dialect has no op.
static Values multiplyF8Tiles(DeviceEmitter &e, Type elementA, Type elementB,
                              ValueRange a, ValueRange b, ValueRange c) {
  std::string name = ("llvm.nvvm.mma.m16n8k32.row.col.f32." + f8Name(elementA) +
                      "." + f8Name(elementB) + ".f32")
                         .str();
  Values operands(a);
  llvm::append_range(operands, b);
  llvm::append_range(operands, c);
  auto call = LLVM::CallIntrinsicOp::create(e.b, e.loc,
                                            structOf(e, e.b.getF32Type(), 4),
                                            e.b.getStringAttr(name), operands);
  return unpack(e, call.getResult(0), 4);
}

static Value multiply(DeviceEmitter &e, NVVM::MMATypes type, Type sum,
                      ArrayRef<int64_t> shape, ValueRange a, ValueRange b,
                      ValueRange c) {
  std::optional<NVVM::MMAIntOverflow> overflow;
  if (type == NVVM::MMATypes::s8)
    overflow = NVVM::MMAIntOverflow::wrapped;
  return NVVM::MmaOp::create(e.b, e.loc, structOf(e, sum, c.size()), a, b, c,
                             shape, std::nullopt, overflow,
                             std::array<NVVM::MMATypes, 2>{type, type},
                             std::array<NVVM::MMALayout, 2>{
                                 NVVM::MMALayout::row, NVVM::MMALayout::col});
}

Values tsp::multiplyTiles(DeviceEmitter &e, Type element, ValueRange a,
                          ValueRange b, ValueRange c, Type elementB) {
  if (element.isInteger(8))
    return unpack(
        e,
        multiply(e, NVVM::MMATypes::s8, e.b.getI32Type(), {16, 8, 32}, a, b, c),
        4);
  if (element.getIntOrFloatBitWidth() == 8)
    return multiplyF8Tiles(e, element, elementB ? elementB : element, a, b, c);
  if (element.isF64()) {
    // sm_80 has 8 rows at a time.
    Values sums;
    for (unsigned half = 0; half < 2; ++half)
      llvm::append_range(
          sums, unpack(e,
                       multiply(e, NVVM::MMATypes::f64, element, {8, 8, 4},
                                a.slice(half, 1), b, c.slice(2 * half, 2)),
                       2));
    return sums;
  }
  NVVM::MMATypes type = NVVM::MMATypes::bf16;
  Values left(a), right(b);
  if (element.isF16()) {
    // The intrinsic of f16 takes pairs as vectors.
    type = NVVM::MMATypes::f16;
    auto pair = VectorType::get({2}, element);
    for (Values *side : {&left, &right})
      for (Value &value : *side)
        value = LLVM::BitcastOp::create(e.b, e.loc, pair, value);
  }
  if (element.isF32())
    type = NVVM::MMATypes::tf32;
  int64_t depth = element.isF32() ? 8 : 16;
  return unpack(
      e, multiply(e, type, e.b.getF32Type(), {16, 8, depth}, left, right, c),
      4);
}

Value tsp::roundToTf32(DeviceEmitter &e, Value bits) {
  Value value = arith::BitcastOp::create(e.b, e.loc, e.b.getF32Type(), bits);
  return NVVM::ConvertFloatToTF32Op::create(
      e.b, e.loc, e.b.getI32Type(), value, NVVM::FPRoundingMode::RNA,
      NVVM::SaturationMode::NONE, /*relu=*/false);
}

Value tsp::packPair(DeviceEmitter &e, Type element, Value low, Value high) {
  auto wide = VectorType::get({2}, e.b.getF32Type());
  Value pair =
      vector::FromElementsOp::create(e.b, e.loc, wide, ValueRange{low, high});
  pair = arith::TruncFOp::create(e.b, e.loc, wide.clone(element), pair);
  return LLVM::BitcastOp::create(e.b, e.loc, e.b.getI32Type(), pair);
}

void tsp::copyAsync(DeviceEmitter &e, Value shared, Value global, Value valid,
                    int64_t bytes) {
  auto cache = bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                           : NVVM::LoadCacheModifierKind::CA;
  NVVM::CpAsyncOp::create(e.b, e.loc, shared, global, bytes, cache, valid);
}

void tsp::commitCopies(DeviceEmitter &e) {
  NVVM::CpAsyncCommitGroupOp::create(e.b, e.loc);
}

void tsp::waitForCopies(DeviceEmitter &e, int64_t pending) {
  NVVM::CpAsyncWaitGroupOp::create(e.b, e.loc, e.b.getI32IntegerAttr(pending));
}
