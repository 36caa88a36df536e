//===- DynamicOps.cpp - ops that find elements at run time ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "InsideTest.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Support/TensorTypes.h"

using namespace mlir;
using namespace tsp;
namespace sh = tsp::stablehlo;

namespace {

Value emitDynamicSlice(ElementEmitter &emitter, sh::DynamicSliceOp op,
                       ArrayRef<LinearIndex> index) {
  ElementIndex from;
  for (auto [i, start, size, sliceSize] :
       llvm::zip_equal(index, op.getStartIndices(), getShape(op.getOperand()),
                       op.getSliceSizes()))
    from.push_back(emitter.emitClampedIndex(start, {}, 0, size - sliceSize) +
                   i);
  return emitter.emit(op.getOperand(), from);
}

/// The update inside its place, the operand elsewhere.
Value emitDynamicUpdate(ElementEmitter &emitter, sh::DynamicUpdateSliceOp op,
                        ArrayRef<LinearIndex> index) {
  ElementIndex from;
  InsideTest test(emitter);
  for (auto [i, start, size, updateSize] :
       llvm::zip_equal(index, op.getStartIndices(), getShape(op.getOperand()),
                       getShape(op.getUpdate()))) {
    LinearIndex local =
        i - emitter.emitClampedIndex(start, {}, 0, size - updateSize);
    auto [lower, upper] = emitter.getRange(local);
    if (lower < 0)
      test.require(arith::CmpIPredicate::sge, local, 0);
    if (upper >= updateSize)
      test.require(arith::CmpIPredicate::slt, local, updateSize);
    from.push_back(local);
  }
  if (!test.getCondition())
    return emitter.emit(op.getUpdate(), from);
  if (Trial *trial = emitter.getTrial())
    trial->choosesByIndex = true;
  Type type = getComputeType(getElementTypeOrSelf(op));
  return emitter.emitIf(
      test.getCondition(), type,
      [&] { return SmallVector<Value>{emitter.emit(op.getUpdate(), from)}; },
      [&] {
        return SmallVector<Value>{emitter.emit(op.getOperand(), index)};
      })[0];
}

Value emitGather(ElementEmitter &emitter, sh::GatherOp op,
                 ArrayRef<LinearIndex> index) {
  sh::GatherDimensionNumbersAttr dims = op.getDimensionNumbers();
  ArrayRef<int64_t> operandShape = getShape(op.getOperand());

  // Dims of the result: those of the slice, and those of the indices.
  ElementIndex batch, offsets;
  for (auto [dim, i] : llvm::enumerate(index))
    (llvm::is_contained(dims.getOffsetDims(), int64_t(dim)) ? offsets : batch)
        .push_back(i);

  ElementIndex from(operandShape.size());
  unsigned next = 0;
  for (int64_t dim = 0, e = operandShape.size(); dim < e; ++dim)
    if (!llvm::is_contained(dims.getCollapsedSliceDims(), dim) &&
        !llvm::is_contained(dims.getOperandBatchingDims(), dim))
      from[dim] = offsets[next++];

  // The batch index with a place for the component of the index vector.
  int64_t vectorDim = dims.getIndexVectorDim();
  int64_t indicesRank = getShape(op.getStartIndices()).size();
  ElementIndex at(batch);
  bool hasVector = vectorDim < indicesRank;
  if (hasVector)
    at.insert(at.begin() + vectorDim, LinearIndex(0));
  for (auto [component, dim] : llvm::enumerate(dims.getStartIndexMap())) {
    if (hasVector)
      at[vectorDim] = LinearIndex(component);
    int64_t greatest = operandShape[dim] - op.getSliceSizes()[dim];
    from[dim] = from[dim] + emitter.emitClampedIndex(op.getStartIndices(), at,
                                                     0, greatest);
  }
  for (auto [dim, indicesDim] :
       llvm::zip_equal(dims.getOperandBatchingDims(),
                       dims.getStartIndicesBatchingDims())) {
    // Batch dims of the result keep the order of the indices' dims.
    int64_t place = hasVector && indicesDim > vectorDim ? indicesDim - 1
                                                        : indicesDim;
    from[dim] = from[dim] + batch[place];
  }
  return emitter.emit(op.getOperand(), from);
}

} // namespace

Value tsp::emitDynamicOp(ElementEmitter &emitter, Operation *op,
                         ArrayRef<LinearIndex> index) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](sh::DynamicSliceOp slice) {
        return emitDynamicSlice(emitter, slice, index);
      })
      .Case([&](sh::DynamicUpdateSliceOp update) {
        return emitDynamicUpdate(emitter, update, index);
      })
      .Case([&](sh::GatherOp gather) {
        return emitGather(emitter, gather, index);
      })
      .Default([](Operation *) { return Value(); });
}

LinearIndex tsp::emitUpdatePlace(ElementEmitter &emitter, Operation *op,
                                 ArrayRef<LinearIndex> index) {
  auto update = cast<sh::DynamicUpdateSliceOp>(op);
  ArrayRef<int64_t> shape = getShape(update.getOperand());
  ElementIndex place;
  for (auto [i, start, size, updateSize] :
       llvm::zip_equal(index, update.getStartIndices(), shape,
                       getShape(update.getUpdate())))
    place.push_back(emitter.emitClampedIndex(start, {}, 0, size - updateSize) +
                    i);
  return linearize(place, shape);
}
