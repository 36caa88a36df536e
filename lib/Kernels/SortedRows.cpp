//===- SortedRows.cpp - what sort and top_k sort by -----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SortedRows.h"

#include "Emit.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tsp;
namespace sh = tsp::stablehlo;

SortedRows::SortedRows(Operation *op) : op(op) {
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  shape.assign(type.getShape().begin(), type.getShape().end());
  dim = shape.size() - 1;
  if (auto sort = dyn_cast<sh::SortOp>(op)) {
    dim = sort.getDimension();
    if (dim < 0)
      dim += shape.size();
    for (Value input : sort.getInputs())
      types.push_back(getElementTypeOrSelf(input));
  } else {
    for (Value result : op->getResults())
      types.push_back(getElementTypeOrSelf(result));
  }
  size = shape.empty() ? 1 : shape[dim];
  for (auto [i, extent] : llvm::enumerate(shape))
    numRows *= int64_t(i) == dim ? 1 : extent;
}

int64_t SortedRows::getNumKept() const {
  auto topK = dyn_cast<chlo::TopKOp>(op);
  return topK ? topK.getK() : size;
}

SortedRowCode::SortedRowCode(ElementEmitter &emitter, const SortedRows &rows,
                             ArrayRef<Value> outputs, const LinearIndex &row)
    : emitter(emitter), builder(emitter.getBuilder()), rows(rows),
      outputs(outputs) {
  SmallVector<int64_t> rowShape(rows.shape);
  if (!rowShape.empty())
    rowShape[rows.dim] = 1;
  rowIndex = emitter.delinearize(row, rowShape);
}

ElementIndex SortedRowCode::at(const LinearIndex &i) const {
  ElementIndex index(rowIndex);
  if (!index.empty())
    index[rows.dim] = i;
  return index;
}

SmallVector<Value> SortedRowCode::emitInputs(const LinearIndex &i) {
  Values values{emitter.emit(rows.op->getOperand(0), at(i))};
  if (isa<chlo::TopKOp>(rows.op)) {
    values.push_back(arith::IndexCastOp::create(
        builder, loc(), getComputeType(rows.types[1]), emitter.materialize(i)));
    return values;
  }
  for (Value input : rows.op->getOperands().drop_front())
    values.push_back(emitter.emit(input, at(i)));
  return values;
}

Value SortedRowCode::emitIsBefore(ValueRange a, ValueRange b) {
  if (auto sort = dyn_cast<sh::SortOp>(rows.op)) {
    Values arguments;
    for (auto [x, y] : llvm::zip_equal(a, b)) {
      arguments.push_back(x);
      arguments.push_back(y);
    }
    return emitter.emitBody(sort.getComparator(), arguments,
                            /*exact=*/false)[0];
  }
  Type type = rows.types.front();
  auto predicate = type.isUnsignedInteger() || type.isInteger(1)
                       ? arith::CmpIPredicate::ugt
                       : arith::CmpIPredicate::sgt;
  return arith::CmpIOp::create(builder, loc(), predicate,
                               toOrder(a.front(), type),
                               toOrder(b.front(), type));
}

Value SortedRowCode::toOrder(Value value, Type type) {
  return isa<FloatType>(type) ? toTotalOrder(builder, loc(), value) : value;
}

SmallVector<Value> SortedRowCode::loadAll(ArrayRef<Value> buffers,
                                          const LinearIndex &place) {
  Values values;
  for (auto [buffer, type] : llvm::zip_equal(buffers, rows.types))
    values.push_back(emitter.load(buffer, type, place));
  return values;
}

void SortedRowCode::storeAll(ValueRange values, ArrayRef<Value> buffers,
                             const LinearIndex &place) {
  for (auto [value, buffer, type] :
       llvm::zip_equal(values, buffers, rows.types))
    emitter.store(value, buffer, type, place);
}

void SortedRowCode::storeResult(ValueRange values, const LinearIndex &i) {
  SmallVector<int64_t> shape(rows.shape);
  if (!shape.empty())
    shape[rows.dim] = rows.getNumKept();
  storeAll(values, outputs, linearize(at(i), shape));
}
