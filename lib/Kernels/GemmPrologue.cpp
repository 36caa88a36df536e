//===- GemmPrologue.cpp - operands that a kernel computes -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmPrologue.h"
#include "Emit.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tsp;

/// The ops that a tensor is computed by, up to arguments.
static llvm::SetVector<Operation *> collectOps(Value tensor) {
  llvm::SetVector<Operation *> ops;
  if (Operation *op = tensor.getDefiningOp())
    ops.insert(op);
  for (size_t i = 0; i < ops.size(); ++i)
    for (Value operand : ops[i]->getOperands())
      if (Operation *op = operand.getDefiningOp())
        ops.insert(op);
  return ops;
}

bool tsp::isPrologue(Value tensor) {
  return llvm::all_of(collectOps(tensor), [](Operation *op) {
    return stablehlo::isElementwise(op) ||
           isa<stablehlo::ConstantOp, stablehlo::IotaOp,
               stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp,
               stablehlo::SliceOp, stablehlo::DynamicSliceOp,
               stablehlo::TransposeOp>(op);
  });
}

Type tsp::findLoadedType(Value tensor) {
  Type result = getElementTypeOrSelf(tensor.getType());
  int64_t most = 0;
  for (Operation *op : collectOps(tensor))
    for (Value operand : op->getOperands()) {
      auto type = cast<RankedTensorType>(operand.getType());
      Type element = type.getElementType();
      int64_t bits = type.getNumElements() * element.getIntOrFloatBitWidth();
      if (isa<BlockArgument>(operand) && bits > most) {
        most = bits;
        result = element;
      }
    }
  return result;
}

GemmPrologue::GemmPrologue(const GemmKernel &kernel, const GemmOperand &operand,
                           Block &tensorBody, ValueRange inputs, Block *block)
    : spec(kernel.product.spec), operand(operand),
      emitter(block, block->getParentOp()->getParentOfType<ModuleOp>()) {
  bool isA = &operand == &spec.a;
  base = isA ? kernel.product.baseA : kernel.product.baseB;
  offset = isA ? kernel.product.offsetA : kernel.product.offsetB;
  freeSize = isA ? spec.m : spec.n;
  emitter.setLoc(kernel.dot->getLoc());
  for (auto [argument, buffer] :
       llvm::zip_equal(tensorBody.getArguments(), inputs))
    emitter.bindBuffer(argument, buffer);
}

SmallVector<Value> GemmPrologue::emit(OpBuilder &at, const GemmPlace &place,
                                      bool alongK, int64_t count,
                                      ElementEmitter::Loader loader) {
  SmallVector<Value> values;
  emitter.emitAt(at, [&] {
    OpBuilder &builder = emitter.getBuilder();
    Location loc = emitter.getLoc();
    // An index that is a multiple of `unit`, as such, so that it is known.
    auto symbol = [&](Value value, int64_t size, int64_t unit) {
      if (unit <= 1)
        return emitter.makeSymbol(value, 0, size - 1);
      Value units = arith::DivUIOp::create(builder, loc, value,
                                           emitter.constantIndex(unit));
      return emitter.makeSymbol(units, 0, size / unit - 1) * unit;
    };
    LinearIndex first(offset);
    for (auto [value, size, stride] :
         llvm::zip_equal(place.outer, spec.outer, operand.outer))
      if (stride != 0)
        first = first + symbol(value, size, 1) * stride;
    first = first +
            symbol(place.free, freeSize, alongK ? 1 : count) * operand.free;
    for (auto [i, value] : llvm::enumerate(place.k)) {
      bool isLast = i + 1 == place.k.size();
      int64_t unit = isLast && alongK ? count : 1;
      if (isLast && place.ahead)
        unit = operand.run;
      first = first + symbol(value, spec.k[i], unit) * operand.k[i];
    }
    int64_t step = alongK ? operand.k.back() : operand.free;
    if (place.ahead)
      first = first + symbol(place.ahead, operand.run, 1) * operand.k.back();
    emitter.withLoader(std::move(loader), [&] {
      for (int64_t i = 0; i < count; ++i) {
        Value value = emitter.emitFlat(base, first + step * i);
        values.push_back(emitConvert(builder, loc, value, operand.element,
                                     spec.compute));
      }
    });
  });
  return values;
}

int64_t GemmPrologue::findRun() {
  Value zero = emitter.constantIndex(0);
  int64_t size = spec.k.back();
  /// Whether indices are divided where k is run * x + y.
  auto divides = [&](int64_t run) {
    return emitter
        .tryOut([&] {
          LinearIndex k = emitter.makeSymbol(zero, 0, size / run - 1) * run +
                          emitter.makeSymbol(zero, 0, run - 1);
          LinearIndex place = k * operand.k.back() + offset;
          place = place + emitter.makeSymbol(zero, 0, freeSize - 1) *
                              operand.free;
          for (auto [outer, stride] : llvm::zip_equal(spec.outer,
                                                      operand.outer))
            place = place + emitter.makeSymbol(zero, 0, outer - 1) * stride;
          for (auto [outer, stride] :
               llvm::zip(ArrayRef(spec.k).drop_back(), operand.k))
            place = place + emitter.makeSymbol(zero, 0, outer - 1) * stride;
          emitter.emitFlat(base, place);
        })
        .choosesByIndex;
  };
  if (!divides(size))
    return 0;
  // What k is divided by is a dim of one of the tensors.
  for (Operation *op : collectOps(base))
    for (int64_t dim :
         cast<RankedTensorType>(op->getResult(0).getType()).getShape())
      if (dim > 1 && dim < size && size % dim == 0 && !divides(dim))
        return dim;
  return 0;
}
