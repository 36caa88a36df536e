//===- VectorEmitter.cpp - short hand for vector loops --------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/VectorEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using tsp::VectorEmitter;

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

Value VectorEmitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Value VectorEmitter::add(Value x, Value y) {
  return b.createOrFold<arith::AddIOp>(loc, x, y);
}

Value VectorEmitter::sub(Value x, Value y) {
  return b.createOrFold<arith::SubIOp>(loc, x, y);
}

Value VectorEmitter::mul(Value x, int64_t y) { return mul(x, index(y)); }

Value VectorEmitter::mul(Value x, Value y) {
  return b.createOrFold<arith::MulIOp>(loc, x, y);
}

Value VectorEmitter::div(Value x, int64_t y) {
  if (y == 1)
    return x;
  return b.createOrFold<arith::DivUIOp>(loc, x, index(y));
}

Value VectorEmitter::rem(Value x, int64_t y) {
  if (y == 1)
    return index(0);
  return b.createOrFold<arith::RemUIOp>(loc, x, index(y));
}

Value VectorEmitter::min(Value x, Value y) {
  return b.createOrFold<arith::MinSIOp>(loc, x, y);
}

Value VectorEmitter::max(Value x, Value y) {
  return b.createOrFold<arith::MaxSIOp>(loc, x, y);
}

VectorEmitter::Values VectorEmitter::delinearize(Value linear,
                                                 ArrayRef<int64_t> sizes) {
  Values result(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    result[i] = i == 0 ? linear : rem(linear, sizes[i]);
    linear = i == 0 ? linear : div(linear, sizes[i]);
  }
  return result;
}

Value VectorEmitter::offset(Value base, ValueRange indices,
                            ArrayRef<int64_t> strides) {
  for (auto [i, stride] : llvm::zip_equal(indices, strides))
    if (stride != 0)
      base = add(base, mul(i, stride));
  return base;
}

//===----------------------------------------------------------------------===//
// Conditions and loops
//===----------------------------------------------------------------------===//

Value VectorEmitter::lessThan(Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, x, y);
}

Value VectorEmitter::equal(Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, x, y);
}

Value VectorEmitter::notEqual(Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, x, y);
}

Value VectorEmitter::select(Value condition, Value x, Value y) {
  return b.createOrFold<arith::SelectOp>(loc, condition, x, y);
}

VectorEmitter::Values
VectorEmitter::loop(Value from, Value to, int64_t step, ValueRange init,
                    llvm::function_ref<Values(Value, ValueRange)> body) {
  // A loop of one step is its body.
  APInt first, last;
  if (matchPattern(from, m_ConstantInt(&first)) &&
      matchPattern(to, m_ConstantInt(&last)) &&
      last.getSExtValue() > first.getSExtValue() &&
      last.getSExtValue() - first.getSExtValue() <= step)
    return body(from, init);
  auto loop = scf::ForOp::create(
      b, loc, from, to, index(step), init,
      [&](OpBuilder &, Location, Value iv, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(iv.getParentBlock());
        Values next = body(iv, carried);
        scf::YieldOp::create(b, loc, next);
      });
  return Values(loop.getResults());
}

void VectorEmitter::loop(Value from, Value to, int64_t step,
                         llvm::function_ref<void(Value)> body) {
  loop(from, to, step, ValueRange(), [&](Value iv, ValueRange) {
    body(iv);
    return Values();
  });
}

void VectorEmitter::loop(int64_t from, int64_t to, int64_t step,
                         llvm::function_ref<void(Value)> body) {
  loop(index(from), index(to), step, body);
}

/// Has LLVM make vectors of `lanes` steps of a loop.
static void vectorize(OpBuilder &b, scf::ForOp loop, int64_t lanes) {
  MLIRContext *context = b.getContext();
  auto vectorize = LLVM::LoopVectorizeAttr::get(
      context, {}, {}, {}, b.getI32IntegerAttr(lanes), {}, {}, {});
  auto interleave =
      LLVM::LoopInterleaveAttr::get(context, b.getI32IntegerAttr(1));
  auto unroll = LLVM::LoopUnrollAttr::get(context, b.getBoolAttr(true), {}, {},
                                          {}, {}, {}, {});
  loop->setAttr("loop_annotation",
                LLVM::LoopAnnotationAttr::get(
                    context, {}, vectorize, interleave, unroll, {}, {}, {}, {},
                    {}, {}, {}, {}, {}, {}, {}));
}

void VectorEmitter::elementLoop(Value from, Value to, int64_t lanes,
                                llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, loc, from, to, index(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVar());
  vectorize(b, loop, lanes);
}

VectorEmitter::Values VectorEmitter::elementSums(
    Value from, Value to, int64_t lanes, ValueRange init,
    llvm::function_ref<std::vector<std::pair<Value, Value>>(Value)> body) {
  auto loop = scf::ForOp::create(b, loc, from, to, index(1), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(loop.getBody());
  auto contract = arith::FastMathFlags::contract;
  Values sums;
  for (auto [factors, sum] : llvm::zip_equal(body(loop.getInductionVar()),
                                             loop.getRegionIterArgs())) {
    Value product = arith::MulFOp::create(b, loc, factors.first, factors.second,
                                          contract);
    sums.push_back(arith::AddFOp::create(
        b, loc, sum, product, contract | arith::FastMathFlags::reassoc));
  }
  scf::YieldOp::create(b, loc, sums);
  vectorize(b, loop, lanes);
  return llvm::to_vector_of<Value>(loop.getResults());
}

void VectorEmitter::when(Value condition, llvm::function_ref<void()> body,
                         llvm::function_ref<void()> otherwise) {
  auto branch =
      scf::IfOp::create(b, loc, condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  body();
  if (otherwise) {
    b.setInsertionPoint(branch.elseBlock()->getTerminator());
    otherwise();
  }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value VectorEmitter::flat(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (type.getRank() == 1)
    return buffer;
  if (type.getRank() == 0) {
    auto one = MemRefType::get({1}, type.getElementType());
    return memref::ExpandShapeOp::create(b, loc, one, buffer,
                                         ArrayRef<ReassociationIndices>());
  }
  ReassociationIndices all =
      llvm::to_vector<2>(llvm::seq<int64_t>(0, type.getRank()));
  return memref::CollapseShapeOp::create(b, loc, buffer,
                                         ArrayRef<ReassociationIndices>(all));
}

Value VectorEmitter::shifted(Value flat, int64_t elements) {
  int64_t size = cast<MemRefType>(flat.getType()).getDimSize(0) - elements;
  return memref::SubViewOp::create(b, loc, flat, ArrayRef<int64_t>{elements},
                                   ArrayRef<int64_t>{size},
                                   ArrayRef<int64_t>{1});
}

Value VectorEmitter::view(Value scratch, int64_t byteOffset, Type element,
                          int64_t count) {
  return memref::ViewOp::create(b, loc, MemRefType::get({count}, element),
                                scratch, index(byteOffset), ValueRange());
}

Value VectorEmitter::load(Value flat, Value at) {
  return memref::LoadOp::create(b, loc, flat, at);
}

void VectorEmitter::store(Value scalar, Value flat, Value at) {
  memref::StoreOp::create(b, loc, scalar, flat, at);
}

/// Where no instruction masks 16 bits, LLVM goes lane by lane, and would round
/// each bf16 again by a library call: it is to see integers. Of a buffer it
/// sees no more than the pointer.
static Value asIntegers(VectorEmitter &e, Value flat) {
  auto type = cast<MemRefType>(flat.getType());
  if (!type.getElementType().isBF16())
    return flat;
  MemRefType integers =
      MemRefType::Builder(type).setElementType(e.b.getI16Type());
  return UnrealizedConversionCastOp::create(e.b, e.loc, integers, flat)
      .getResult(0);
}

Value VectorEmitter::loadVector(Value flat, Value at, int64_t lanes,
                                Value mask) {
  VectorType type =
      vectorOf(cast<MemRefType>(flat.getType()).getElementType(), lanes);
  if (!mask)
    return vector::LoadOp::create(b, loc, type, flat, at);
  Value buffer = asIntegers(*this, flat);
  VectorType stored =
      vectorOf(cast<MemRefType>(buffer.getType()).getElementType(), lanes);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(stored));
  Value vector =
      vector::MaskedLoadOp::create(b, loc, stored, buffer, at, mask, zero);
  if (stored == type)
    return vector;
  return arith::BitcastOp::create(b, loc, type, vector);
}

void VectorEmitter::storeVector(Value vector, Value flat, Value at,
                                Value mask) {
  if (!mask) {
    vector::StoreOp::create(b, loc, vector, flat, at);
    return;
  }
  Value buffer = asIntegers(*this, flat);
  if (buffer != flat)
    vector = arith::BitcastOp::create(
        b, loc, cast<VectorType>(vector.getType()).clone(b.getI16Type()),
        vector);
  vector::MaskedStoreOp::create(b, loc, buffer, at, mask, vector);
}

Value VectorEmitter::mask(Value count, int64_t lanes) {
  return vector::CreateMaskOp::create(b, loc, vectorOf(b.getI1Type(), lanes),
                                      count);
}
