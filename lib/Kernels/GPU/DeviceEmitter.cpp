//===- DeviceEmitter.cpp - building blocks of device code -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace tsp;

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Value DeviceEmitter::i32(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
}

Value DeviceEmitter::i64(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

Value DeviceEmitter::constant(Type type, double value) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
}

Value DeviceEmitter::wide(Value x) {
  if (x.getType().isInteger(64))
    return x;
  return b.createOrFold<arith::ExtSIOp>(loc, b.getI64Type(), x);
}

std::pair<Value, Value> DeviceEmitter::sameWidth(Value x, Value y) {
  if (x.getType() == y.getType())
    return {x, y};
  return {wide(x), wide(y)};
}

Value DeviceEmitter::add(Value x, Value y) {
  std::tie(x, y) = sameWidth(x, y);
  return b.createOrFold<arith::AddIOp>(loc, x, y);
}

Value DeviceEmitter::add(Value x, int64_t y) {
  return y == 0 ? x : add(x, x.getType().isInteger(64) ? i64(y) : i32(y));
}

Value DeviceEmitter::sub(Value x, Value y) {
  std::tie(x, y) = sameWidth(x, y);
  return b.createOrFold<arith::SubIOp>(loc, x, y);
}

Value DeviceEmitter::mul(Value x, Value y) {
  std::tie(x, y) = sameWidth(x, y);
  return b.createOrFold<arith::MulIOp>(loc, x, y);
}

Value DeviceEmitter::mul(Value x, int64_t y) {
  if (y == 1)
    return x;
  return mul(x, x.getType().isInteger(64) ? i64(y) : i32(y));
}

Value DeviceEmitter::div(Value x, int64_t y) {
  return y == 1 ? x : b.createOrFold<arith::DivUIOp>(loc, x, i32(y));
}

Value DeviceEmitter::rem(Value x, int64_t y) {
  return y == 1 ? i32(0) : b.createOrFold<arith::RemUIOp>(loc, x, i32(y));
}

Value DeviceEmitter::min(Value x, Value y) {
  return b.createOrFold<arith::MinSIOp>(loc, x, y);
}

Value DeviceEmitter::max(Value x, Value y) {
  return b.createOrFold<arith::MaxSIOp>(loc, x, y);
}

Value DeviceEmitter::bitAnd(Value x, Value y) {
  return b.createOrFold<arith::AndIOp>(loc, x, y);
}

Value DeviceEmitter::bitOr(Value x, Value y) {
  return b.createOrFold<arith::OrIOp>(loc, x, y);
}

Value DeviceEmitter::bitXor(Value x, Value y) {
  return b.createOrFold<arith::XOrIOp>(loc, x, y);
}

Value DeviceEmitter::less(Value x, Value y) {
  return compare(arith::CmpIPredicate::slt, x, y);
}

Value DeviceEmitter::compare(arith::CmpIPredicate predicate, Value x, Value y) {
  return b.createOrFold<arith::CmpIOp>(loc, predicate, x, y);
}

Value DeviceEmitter::compare(arith::CmpFPredicate predicate, Value x, Value y) {
  return arith::CmpFOp::create(b, loc, predicate, x, y);
}

Value DeviceEmitter::select(Value condition, Value x, Value y) {
  return b.createOrFold<arith::SelectOp>(loc, condition, x, y);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value DeviceEmitter::thread() {
  return NVVM::ThreadIdXOp::create(b, loc, b.getI32Type());
}

Value DeviceEmitter::block(int dim) {
  if (dim == 0)
    return NVVM::BlockIdXOp::create(b, loc, b.getI32Type());
  if (dim == 1)
    return NVVM::BlockIdYOp::create(b, loc, b.getI32Type());
  return NVVM::BlockIdZOp::create(b, loc, b.getI32Type());
}

Value DeviceEmitter::lane() { return rem(thread(), 32); }

void DeviceEmitter::barrier() { gpu::BarrierOp::create(b, loc); }

void DeviceEmitter::syncWarp() { NVVM::SyncWarpOp::create(b, loc, i32(-1)); }

Value DeviceEmitter::shuffleXor(Value value, int64_t mask) {
  Type type = value.getType();
  if (type.getIntOrFloatBitWidth() == 64) {
    // The machine shuffles 32 bits.
    auto pair = VectorType::get({2}, b.getI32Type());
    Value halves = LLVM::BitcastOp::create(b, loc, pair, value);
    Value result = LLVM::UndefOp::create(b, loc, pair);
    for (int64_t i = 0; i < 2; ++i) {
      Value half = LLVM::ExtractElementOp::create(b, loc, halves, i32(i));
      result = LLVM::InsertElementOp::create(b, loc, result,
                                             shuffleXor(half, mask), i32(i));
    }
    return LLVM::BitcastOp::create(b, loc, type, result);
  }
  return NVVM::ShflOp::create(b, loc, type, i32(-1), value, i32(mask), i32(31),
                              NVVM::ShflKind::bfly, UnitAttr());
}

Value DeviceEmitter::reduceLanes(
    Value value, int64_t lanes,
    llvm::function_ref<Value(Value, Value)> combine) {
  for (int64_t mask = 1; mask < lanes; mask *= 2)
    value = combine(value, shuffleXor(value, mask));
  return value;
}

Value DeviceEmitter::reduceWarp(Value value, bool least) {
  if (value.getType().isInteger(64))
    return reduceLanes(value, 32, [&](Value x, Value y) {
      return least ? min(x, y) : max(x, y);
    });
  return NVVM::ReduxOp::create(
      b, loc, value.getType(), value,
      least ? NVVM::ReduxKind::MIN : NVVM::ReduxKind::MAX, i32(-1));
}

Value DeviceEmitter::leastOfWarp(Value value) {
  return reduceWarp(value, /*least=*/true);
}

Value DeviceEmitter::greatestOfWarp(Value value) {
  return reduceWarp(value, /*least=*/false);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

void DeviceEmitter::loop(Value from, Value to, int64_t step,
                         llvm::function_ref<void(Value)> body) {
  loop(from, to, step, {}, [&](Value i, ValueRange) {
    body(i);
    return Values();
  });
}

DeviceEmitter::Values
DeviceEmitter::loop(Value from, Value to, int64_t step, ValueRange init,
                    llvm::function_ref<Values(Value, ValueRange)> body) {
  // With a builder of its body the loop comes without a terminator.
  auto op = scf::ForOp::create(b, loc, from, to, i32(step), init,
                               [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(op.getBody());
  Values next = body(op.getInductionVar(), op.getRegionIterArgs());
  scf::YieldOp::create(b, loc, next);
  return op.getResults();
}

void DeviceEmitter::keepRolled(ValueRange results) {
  MLIRContext *context = b.getContext();
  auto unroll = LLVM::LoopUnrollAttr::get(
      context, /*disable=*/BoolAttr::get(context, true), {}, {}, {}, {}, {},
      {});
  auto annotation = LLVM::LoopAnnotationAttr::get(
      context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {});
  results.front().getDefiningOp()->setAttr("llvm.loop_annotation", annotation);
}

DeviceEmitter::Values
DeviceEmitter::loopWhile(ValueRange init,
                         llvm::function_ref<Value(ValueRange)> condition,
                         llvm::function_ref<Values(ValueRange)> body) {
  auto op = scf::WhileOp::create(b, loc, init.getTypes(), init);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Location> locations(init.size(), loc);
  Block *before =
      b.createBlock(&op.getBefore(), {}, init.getTypes(), locations);
  Value go = condition(before->getArguments());
  scf::ConditionOp::create(b, loc, go, before->getArguments());
  Block *after = b.createBlock(&op.getAfter(), {}, init.getTypes(), locations);
  Values next = body(after->getArguments());
  scf::YieldOp::create(b, loc, next);
  return op.getResults();
}

void DeviceEmitter::when(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  body();
}

DeviceEmitter::Values
DeviceEmitter::choose(Value condition, TypeRange types,
                      llvm::function_ref<Values()> then,
                      llvm::function_ref<Values()> otherwise) {
  auto branch =
      scf::IfOp::create(b, loc, types, condition, /*addThenBlock=*/true,
                        /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(b, loc, then());
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, otherwise());
  return branch.getResults();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value DeviceEmitter::pointer(Value memref, int64_t element) {
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memref);
  address = arith::IndexCastOp::create(b, loc, b.getI64Type(), address);
  Value pointer = LLVM::IntToPtrOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext(), 1), address);
  int64_t bits = cast<MemRefType>(memref.getType()).getElementTypeBitWidth();
  return shifted(pointer, element * bits / 8);
}

Value DeviceEmitter::shifted(Value pointer, Value bytes) {
  return element(pointer, b.getI8Type(), bytes);
}

Value DeviceEmitter::shifted(Value pointer, int64_t bytes) {
  if (bytes == 0)
    return pointer;
  if (!llvm::isInt<32>(bytes))
    return shifted(pointer, i64(bytes));
  return LLVM::GEPOp::create(b, loc, pointer.getType(), b.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
}

Value DeviceEmitter::element(Value pointer, Type type, Value at) {
  return LLVM::GEPOp::create(b, loc, pointer.getType(), type, pointer,
                             ArrayRef<LLVM::GEPArg>{at});
}

Value DeviceEmitter::load(Value pointer, Type type, int64_t align) {
  return LLVM::LoadOp::create(b, loc, type, pointer, align);
}

void DeviceEmitter::store(Value value, Value pointer, int64_t align) {
  LLVM::StoreOp::create(b, loc, value, pointer, align);
}

Value DeviceEmitter::sharedMemory() {
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                              MemRefLayoutAttrInterface(), space);
  Value buffer = gpu::DynamicSharedMemoryOp::create(b, loc, type);
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, buffer);
  address = arith::IndexCastOp::create(b, loc, b.getI64Type(), address);
  return LLVM::IntToPtrOp::create(
      b, loc, LLVM::LLVMPointerType::get(b.getContext(), 3), address);
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

Value DeviceEmitter::addf(Value x, Value y) {
  return arith::AddFOp::create(b, loc, x, y);
}

Value DeviceEmitter::subf(Value x, Value y) {
  return arith::SubFOp::create(b, loc, x, y);
}

Value DeviceEmitter::mulf(Value x, Value y) {
  return arith::MulFOp::create(b, loc, x, y);
}

Value DeviceEmitter::divf(Value x, Value y) {
  return arith::DivFOp::create(b, loc, x, y);
}

Value DeviceEmitter::fma(Value x, Value y, Value z) {
  return LLVM::FMAOp::create(b, loc, x, y, z);
}

Value DeviceEmitter::maxf(Value x, Value y) {
  // The arith op would become a call of libdevice.
  return LLVM::MaxNumOp::create(b, loc, x, y);
}

Value DeviceEmitter::exp2(Value x) {
  if (!x.getType().isF32())
    return math::Exp2Op::create(b, loc, x);
  return LLVM::CallIntrinsicOp::create(
             b, loc, b.getF32Type(),
             b.getStringAttr("llvm.nvvm.ex2.approx.ftz"), ValueRange{x})
      .getResult(0);
}

Value DeviceEmitter::log(Value x) { return math::LogOp::create(b, loc, x); }

Value DeviceEmitter::tanh(Value x) {
  Type type = x.getType();
  if (!type.isF32())
    return math::TanhOp::create(b, loc, x);
  // 1 - 2 / (1 + e^2x); 2 log2(e) = 2.885390...
  Value power = exp2(mulf(x, constant(type, 2.8853900817779268)));
  Value one = constant(type, 1), two = constant(type, 2);
  return subf(one, divf(two, addf(one, power)));
}

Value DeviceEmitter::infinity(Type type, bool negative) {
  auto value =
      APFloat::getInf(cast<FloatType>(type).getFloatSemantics(), negative);
  return arith::ConstantOp::create(b, loc, FloatAttr::get(type, value));
}

Value DeviceEmitter::widen(Value stored, Type element, Type to) {
  if (element == to)
    return stored;
  return arith::ExtFOp::create(b, loc, to, stored);
}

Value DeviceEmitter::narrow(Value value, Type element) {
  if (value.getType() == element)
    return value;
  return arith::TruncFOp::create(b, loc, element, value);
}
