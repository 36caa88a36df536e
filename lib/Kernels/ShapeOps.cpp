//===- ShapeOps.cpp - ops that move elements by fixed rules ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "InsideTest.h"
#include "ScalarBuilder.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Support/TensorTypes.h"

using namespace mlir;
using namespace tsp;
namespace sh = tsp::stablehlo;

namespace {

Value emitBroadcast(ElementEmitter &emitter, sh::BroadcastInDimOp op,
                    ArrayRef<LinearIndex> index) {
  ElementIndex from;
  for (auto [dim, size] : llvm::zip_equal(op.getBroadcastDimensions(),
                                          getShape(op.getOperand())))
    from.push_back(size == 1 ? LinearIndex(0) : index[dim]);
  return emitter.emit(op.getOperand(), from);
}

Value emitTranspose(ElementEmitter &emitter, sh::TransposeOp op,
                    ArrayRef<LinearIndex> index) {
  ElementIndex from(index.size());
  for (auto [i, dim] : llvm::enumerate(op.getPermutation()))
    from[dim] = index[i];
  return emitter.emit(op.getOperand(), from);
}

Value emitSlice(ElementEmitter &emitter, sh::SliceOp op,
                ArrayRef<LinearIndex> index) {
  ElementIndex from;
  for (auto [i, start, stride] : llvm::zip_equal(index, op.getStartIndices(),
                                                 op.getStrides()))
    from.push_back(i * stride + start);
  return emitter.emit(op.getOperand(), from);
}

Value emitReverse(ElementEmitter &emitter, sh::ReverseOp op,
                  ArrayRef<LinearIndex> index) {
  ElementIndex from(index);
  for (int64_t dim : op.getDimensions())
    from[dim] = LinearIndex(getShape(op.getOperand())[dim] - 1) - index[dim];
  return emitter.emit(op.getOperand(), from);
}

/// The element of the first input that reaches beyond the index.
Value emitConcatenate(ElementEmitter &emitter, sh::ConcatenateOp op,
                      ArrayRef<LinearIndex> index, unsigned first,
                      int64_t start) {
  Value input = op.getInputs()[first];
  int64_t dim = op.getDimension();
  int64_t end = start + getShape(input)[dim];
  auto own = [&] {
    ElementIndex from(index);
    from[dim] = index[dim] - start;
    return emitter.emit(input, from);
  };
  auto rest = [&] {
    return emitConcatenate(emitter, op, index, first + 1, end);
  };
  if (first + 1 == op.getInputs().size())
    return own();
  if (std::optional<bool> below = emitter.isBelow(index[dim], end))
    return *below ? own() : rest();
  OpBuilder &builder = emitter.getBuilder();
  Value condition = arith::CmpIOp::create(
      builder, emitter.getLoc(), arith::CmpIPredicate::slt,
      emitter.materialize(index[dim]), emitter.constantIndex(end));
  Type type = getComputeType(getElementTypeOrSelf(op));
  return emitter.emitIf(
      condition, type, [&] { return SmallVector<Value>{own()}; },
      [&] { return SmallVector<Value>{rest()}; })[0];
}

Value emitPad(ElementEmitter &emitter, sh::PadOp op,
              ArrayRef<LinearIndex> index) {
  ElementIndex from;
  InsideTest test(emitter);
  for (auto [i, low, interior, size] :
       llvm::zip_equal(index, op.getEdgePaddingLow(), op.getInteriorPadding(),
                       getShape(op.getOperand()))) {
    from.push_back(test.requireElement(i - low, size, interior + 1));
    if (test.isOutside())
      return emitter.emit(op.getPaddingValue(), {});
  }
  if (!test.getCondition())
    return emitter.emit(op.getOperand(), from);
  Type type = getComputeType(getElementTypeOrSelf(op));
  return emitter.emitIf(
      test.getCondition(), type,
      [&] { return SmallVector<Value>{emitter.emit(op.getOperand(), from)}; },
      [&] {
        return SmallVector<Value>{emitter.emit(op.getPaddingValue(), {})};
      })[0];
}

Value emitIota(ElementEmitter &emitter, sh::IotaOp op,
               ArrayRef<LinearIndex> index) {
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLoc();
  Type elementType = getElementTypeOrSelf(op);
  Value value = emitter.materialize(index[op.getIotaDimension()]);
  if (!isa<FloatType>(elementType))
    return arith::IndexCastOp::create(builder, loc, getComputeType(elementType),
                                      value);
  Type integer = elementType.isF64() ? builder.getI64Type() : builder.getI32Type();
  value = arith::IndexCastOp::create(builder, loc, integer, value);
  return emitConvert(builder, loc, value, integer, elementType);
}

/// Same bits in another type: element by element, or joined or split along a
/// last dim, low bits first.
Value emitBitcast(ElementEmitter &emitter, sh::BitcastConvertOp op,
                  ArrayRef<LinearIndex> index) {
  OpBuilder &builder = emitter.getBuilder();
  ScalarBuilder b(builder, emitter.getLoc());
  Type from = getElementTypeOrSelf(op.getOperand());
  Type to = getElementTypeOrSelf(op);
  unsigned width = from.getIntOrFloatBitWidth();
  unsigned newWidth = to.getIntOrFloatBitWidth();
  auto bitsAt = [&](ArrayRef<LinearIndex> at) {
    return toBits(builder, b.loc, emitter.emit(op.getOperand(), at), from);
  };
  Value bits;
  if (width == newWidth) {
    bits = bitsAt(index);
  } else if (width < newWidth) {
    Type integer = builder.getIntegerType(newWidth);
    ElementIndex at(index);
    at.push_back(LinearIndex(0));
    for (unsigned part = 0; part < newWidth / width; ++part) {
      at.back() = LinearIndex(part);
      Value piece = b.shli(b.extui(bitsAt(at), integer), part * width);
      bits = bits ? b.ori(bits, piece) : piece;
    }
  } else {
    Value whole = bitsAt(index.drop_back());
    Type integer = builder.getIntegerType(newWidth);
    Value part = arith::IndexCastOp::create(builder, b.loc, whole.getType(),
                                            emitter.materialize(index.back()));
    Value amount = b.muli(part, b.constant(whole.getType(), newWidth));
    bits = b.trunci(b.make<arith::ShRUIOp>(whole, amount), integer);
  }
  return fromBits(builder, b.loc, bits, to);
}

} // namespace

Value tsp::emitShapeOp(ElementEmitter &emitter, Operation *op,
                       ArrayRef<LinearIndex> index) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](sh::BroadcastInDimOp broadcast) {
        return emitBroadcast(emitter, broadcast, index);
      })
      .Case([&](sh::TransposeOp transpose) {
        return emitTranspose(emitter, transpose, index);
      })
      .Case([&](sh::ReshapeOp reshape) {
        return emitter.emitFlat(reshape.getOperand(),
                                linearize(index, getShape(reshape)));
      })
      .Case([&](sh::SliceOp slice) { return emitSlice(emitter, slice, index); })
      .Case([&](sh::ReverseOp reverse) {
        return emitReverse(emitter, reverse, index);
      })
      .Case([&](sh::ConcatenateOp concatenate) {
        return emitConcatenate(emitter, concatenate, index, 0, 0);
      })
      .Case([&](sh::PadOp pad) { return emitPad(emitter, pad, index); })
      .Case([&](sh::IotaOp iota) { return emitIota(emitter, iota, index); })
      .Case([&](sh::BitcastConvertOp bitcast) {
        return emitBitcast(emitter, bitcast, index);
      })
      .Default([](Operation *) { return Value(); });
}
