//===- DevicePrologue.cpp - computed operands on a GPU --------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DevicePrologue.h"
#include "../Emit.h"
#include "tsp/Kernels/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace tsp;

DevicePrologue::DevicePrologue(const GemmKernel &kernel,
                               const GemmOperand &operand, Block &tensorBody,
                               ValueRange inputs, Block *block)
    : prologue(kernel, operand, tensorBody, inputs, block) {
  prologue.getEmitter().useNarrowIndices();
}

/// Elements around a place that can be read together: a power of two that fits
/// in 16 bytes and in the buffer, and divides whatever the place depends on.
static int64_t findWidth(Value flat, const LinearIndex &place, int64_t most) {
  auto type = cast<MemRefType>(flat.getType());
  int64_t width = std::min<int64_t>(
      most, 128 / type.getElementType().getIntOrFloatBitWidth());
  int64_t unit = type.getNumElements();
  for (auto [id, coefficient] : place.getTerms())
    unit = std::gcd(unit, coefficient);
  return std::gcd(llvm::bit_floor(uint64_t(width)), unit);
}

DevicePrologue::Values DevicePrologue::emit(
    DeviceEmitter &e, const Run &run,
    llvm::function_ref<Value(Value, VectorType, const LinearIndex &)> read) {
  std::map<SmallVector<int64_t, 12>, Value> parts;
  auto load = [&](Value flat, Type element, const LinearIndex &place) -> Value {
    int64_t width = findWidth(flat, place, run.count);
    int64_t lane = place.getConstant() -
                   llvm::divideFloorSigned(place.getConstant(), width) * width;
    LinearIndex first = place - LinearIndex(lane);
    SmallVector<int64_t, 12> key{
        reinterpret_cast<intptr_t>(flat.getAsOpaquePointer())};
    first.addTo(key);
    auto type = VectorType::get(
        {width}, cast<MemRefType>(flat.getType()).getElementType());
    Value &part = parts[key];
    if (!part)
      part = read(flat, type, first);
    OpBuilder &builder = prologue.getEmitter().getBuilder();
    Location loc = prologue.getEmitter().getLoc();
    Value stored = vector::ExtractOp::create(builder, loc, part, lane);
    return fromStorage(builder, loc, stored, element);
  };
  return prologue.emit(e.b, run.place, run.alongK, run.count, load);
}

DevicePrologue::Run DevicePrologue::load(DeviceEmitter &e, ValueRange outer,
                                         Value free, ValueRange k, bool alongK,
                                         int64_t count) {
  auto index = [&](Value x) -> Value {
    return arith::IndexCastOp::create(e.b, e.loc, e.b.getIndexType(), x);
  };
  Run run{{}, alongK, count, {}};
  for (Value x : outer)
    run.place.outer.push_back(index(x));
  for (Value x : k)
    run.place.k.push_back(index(x));
  run.place.free = index(free);
  // What is computed here is used by nobody; the reads are.
  emit(e, run, [&](Value flat, VectorType type, const LinearIndex &first) {
    ElementEmitter &emitter = prologue.getEmitter();
    DeviceEmitter at(emitter.getBuilder(), emitter.getLoc());
    Value place = arith::IndexCastOp::create(at.b, at.loc, at.b.getI64Type(),
                                             emitter.materialize(first));
    Value from = at.element(at.pointer(flat), type.getElementType(), place);
    int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
    Value part = at.load(from, type, bytes);
    run.loaded.push_back(part);
    return part;
  });
  return run;
}

DevicePrologue::Values DevicePrologue::compute(DeviceEmitter &e,
                                               const Run &run) {
  // Asked for in the same order as when they were read.
  const Value *next = run.loaded.begin();
  return emit(e, run,
              [&](Value, VectorType, const LinearIndex &) { return *next++; });
}
