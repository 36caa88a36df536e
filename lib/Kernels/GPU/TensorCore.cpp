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

Values tsp::multiplyTiles(DeviceEmitter &e, Type element, ValueRange a,
                          ValueRange b, ValueRange c) {
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
  Value sums = NVVM::MmaOp::create(
      e.b, e.loc, structOf(e, e.b.getF32Type(), 4), left, right, c,
      ArrayRef<int64_t>{16, 8, depth}, std::nullopt, std::nullopt,
      std::array<NVVM::MMATypes, 2>{type, type},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                     NVVM::MMALayout::col});
  return unpack(e, sums, 4);
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
