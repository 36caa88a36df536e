//===- Scatter.cpp - updates to places given by a tensor ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScatterCode.h"
#include "WholeOps.h"
#include "tsp/Support/TensorTypes.h"

using namespace mlir;
using namespace tsp;
namespace sh = tsp::stablehlo;

ScatterCode::ScatterCode(ElementEmitter &emitter, sh::ScatterOp op,
                         ArrayRef<Value> outputs)
    : emitter(emitter), op(op), dims(op.getScatterDimensionNumbers()),
      outputs(outputs), updateShape(getShape(op.getUpdates().front())),
      shape(getShape(op.getInputs().front())), fixed(updateShape.size()) {
  for (int64_t dim = 0, e = updateShape.size(); dim < e; ++dim)
    (llvm::is_contained(dims.getUpdateWindowDims(), dim) ? windowDims
                                                         : scatterDims)
        .push_back(dim);
  unsigned next = 0;
  for (int64_t dim = 0, e = shape.size(); dim < e; ++dim) {
    bool isInserted = llvm::is_contained(dims.getInsertedWindowDims(), dim) ||
                      llvm::is_contained(dims.getInputBatchingDims(), dim);
    windowDimOf.push_back(isInserted ? -1 : windowDims[next++]);
  }
}

bool ScatterCode::isFree(int64_t dim) const {
  return windowDimOf[dim] >= 0 &&
         !llvm::is_contained(dims.getScatterDimsToOperandDims(), dim);
}

void ScatterCode::restrict(int64_t dim, const LinearIndex &index) {
  assert(isFree(dim) && "its index is that of the updates");
  fixed[windowDimOf[dim]] = index;
}

void ScatterCode::emit() {
  // A window may be smaller than the dim that it lies along.
  Value condition;
  for (auto [index, size] : llvm::zip_equal(fixed, updateShape))
    if (index && emitter.isBelow(*index, size) != true)
      condition = emitIsInside(condition, *index, size);
  emitter.emitWhen(condition, [&] {
    SmallVector<int64_t> extents;
    for (int64_t dim : scatterDims)
      extents.push_back(updateShape[dim]);
    emitLoopsOver(emitter, extents, {}, {},
                  [&](ArrayRef<LinearIndex> batch, ValueRange) {
                    emitWindow(batch);
                    return SmallVector<Value>();
                  });
  });
}

/// A component of the start index, unclamped.
LinearIndex ScatterCode::emitStart(ArrayRef<LinearIndex> batch,
                                   unsigned component) {
  Value indices = op.getScatterIndices();
  ElementIndex at(batch);
  int64_t vectorDim = dims.getIndexVectorDim();
  if (vectorDim < int64_t(getShape(indices).size()))
    at.insert(at.begin() + vectorDim, LinearIndex(component));
  Value value = emitter.emit(indices, at);
  OpBuilder &builder = emitter.getBuilder();
  Type index = builder.getIndexType();
  value =
      getElementTypeOrSelf(indices).isUnsignedInteger()
          ? arith::IndexCastUIOp::create(builder, emitter.getLoc(), index,
                                         value)
                .getResult()
          : arith::IndexCastOp::create(builder, emitter.getLoc(), index, value)
                .getResult();
  // The range is not known before it has been tested.
  int64_t bound = int64_t(1) << 32;
  return emitter.makeSymbol(value, -bound, bound);
}

Value ScatterCode::emitIsInside(Value condition, const LinearIndex &index,
                                int64_t size) {
  OpBuilder &builder = emitter.getBuilder();
  // Unsigned, a negative index is a large one.
  Value test = arith::CmpIOp::create(
      builder, emitter.getLoc(), arith::CmpIPredicate::ult,
      emitter.materialize(index), emitter.constantIndex(size));
  return condition
             ? arith::AndIOp::create(builder, emitter.getLoc(), condition, test)
                   .getResult()
             : test;
}

void ScatterCode::emitWindow(ArrayRef<LinearIndex> batch) {
  ElementIndex start(shape.size());
  for (auto [component, dim] :
       llvm::enumerate(dims.getScatterDimsToOperandDims()))
    start[dim] = emitStart(batch, component);
  int64_t vectorDim = dims.getIndexVectorDim();
  for (auto [dim, indicesDim] : llvm::zip_equal(
           dims.getInputBatchingDims(), dims.getScatterIndicesBatchingDims()))
    start[dim] = batch[indicesDim > vectorDim ? indicesDim - 1 : indicesDim];

  // An update whose window does not lie inside is dropped as a whole.
  Value condition;
  for (int64_t dim : dims.getScatterDimsToOperandDims()) {
    int64_t window = windowDimOf[dim] < 0 ? 1 : updateShape[windowDimOf[dim]];
    condition = emitIsInside(condition, start[dim], shape[dim] - window + 1);
  }
  emitter.emitWhen(condition, [&] {
    SmallVector<int64_t> extents;
    for (int64_t dim : windowDims)
      extents.push_back(fixed[dim] ? 1 : updateShape[dim]);
    emitLoopsOver(emitter, extents, {}, {},
                  [&](ArrayRef<LinearIndex> window, ValueRange) {
                    emitElement(batch, window, start);
                    return SmallVector<Value>();
                  });
  });
}

void ScatterCode::emitElement(ArrayRef<LinearIndex> batch,
                              ArrayRef<LinearIndex> window,
                              ArrayRef<LinearIndex> start) {
  ElementIndex updateIndex(updateShape.size());
  for (auto [dim, i] : llvm::zip_equal(scatterDims, batch))
    updateIndex[dim] = i;
  for (auto [dim, i] : llvm::zip_equal(windowDims, window))
    updateIndex[dim] = fixed[dim].value_or(i);
  ElementIndex index(start);
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    if (windowDimOf[dim] >= 0)
      index[dim] = index[dim] + updateIndex[windowDimOf[dim]];
  emitter.emitWhen(isWanted ? isWanted(index) : Value(),
                   [&] { emitUpdate(updateIndex, index); });
}

void ScatterCode::emitUpdate(ArrayRef<LinearIndex> updateIndex,
                             ArrayRef<LinearIndex> index) {
  LinearIndex place = linearize(index, shape);
  SmallVector<Value> arguments;
  for (auto [input, output] : llvm::zip_equal(op.getInputs(), outputs))
    arguments.push_back(
        emitter.load(output, getElementTypeOrSelf(input), place));
  for (Value update : op.getUpdates())
    arguments.push_back(emitter.emit(update, updateIndex));
  SmallVector<Value> results =
      emitter.emitBody(op.getUpdateComputation(), arguments, /*exact=*/false);
  for (auto [input, output, result] :
       llvm::zip_equal(op.getInputs(), outputs, results))
    emitter.store(result, output, getElementTypeOrSelf(input), place);
}

void tsp::emitScatter(ElementEmitter &emitter, Operation *op,
                      ArrayRef<Value> outputs, Value inPlace, Value begin,
                      Value end) {
  auto scatter = cast<sh::ScatterOp>(op);
  emitter.emitLoop(begin, end, 0, 0, {}, [&](LinearIndex, ValueRange) {
    for (auto pair : llvm::zip_equal(scatter.getInputs(), outputs)) {
      Value input = std::get<0>(pair), output = std::get<1>(pair);
      if (input == inPlace)
        continue;
      auto type = cast<RankedTensorType>(input.getType());
      emitter.emitLoop(0, type.getNumElements(), {},
                       [&](LinearIndex place, ValueRange) {
                         emitter.store(emitter.emitFlat(input, place), output,
                                       type.getElementType(), place);
                         return SmallVector<Value>();
                       });
    }
    ScatterCode(emitter, scatter, outputs).emit();
    return SmallVector<Value>();
  });
}
