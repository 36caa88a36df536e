//===- LocalOps.cpp - expressions the partitioner writes ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalOps.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;

RankedTensorType tsp::scalarI32Type(OpBuilder &builder) {
  return RankedTensorType::get({}, builder.getI32Type());
}

Value tsp::constantI32(OpBuilder &builder, Location loc, int64_t value) {
  return splat(builder, loc, scalarI32Type(builder), value);
}

Value tsp::multiplyI32(OpBuilder &builder, Location loc, Value a,
                       int64_t factor) {
  if (factor == 1)
    return a;
  return stablehlo::MulOp::create(builder, loc, a.getType(), a,
                                  constantI32(builder, loc, factor));
}

Value tsp::add(OpBuilder &builder, Location loc, Value a, Value b) {
  return stablehlo::AddOp::create(builder, loc, a.getType(), a, b);
}

Value tsp::subtract(OpBuilder &builder, Location loc, Value a, Value b) {
  return stablehlo::SubtractOp::create(builder, loc, a.getType(), a, b);
}

Value tsp::splat(OpBuilder &builder, Location loc, RankedTensorType type,
                 double value) {
  Attribute element;
  if (isa<FloatType>(type.getElementType()))
    element = builder.getFloatAttr(type.getElementType(), value);
  else
    element = builder.getIntegerAttr(type.getElementType(), (int64_t)value);
  return stablehlo::ConstantOp::create(builder, loc,
                                       SplatElementsAttr::get(type, element));
}

Value tsp::broadcastScalar(OpBuilder &builder, Location loc, Value scalar,
                           ArrayRef<int64_t> shape) {
  return broadcast(builder, loc, scalar, shape, {});
}

Value tsp::broadcast(OpBuilder &builder, Location loc, Value value,
                     ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  auto type = RankedTensorType::get(shape, typeOf(value).getElementType());
  return stablehlo::BroadcastInDimOp::create(
      builder, loc, type, value, builder.getDenseI64ArrayAttr(dims));
}

Value tsp::reshape(OpBuilder &builder, Location loc, Value value,
                   ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, typeOf(value).getElementType());
  if (type == value.getType())
    return value;
  return stablehlo::ReshapeOp::create(builder, loc, type, value);
}

Value tsp::select(OpBuilder &builder, Location loc, Value pred, Value onTrue,
                  Value onFalse) {
  return stablehlo::SelectOp::create(builder, loc, onTrue.getType(), pred,
                                     onTrue, onFalse);
}

Value tsp::sliceAt(OpBuilder &builder, Location loc, Value value, int64_t dim,
                   Value offset, int64_t size) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  Value zero = constantI32(builder, loc, 0);
  SmallVector<Value> starts(type.getRank(), zero);
  starts[dim] = offset;
  return stablehlo::DynamicSliceOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), value,
      starts, builder.getDenseI64ArrayAttr(shape));
}

Value tsp::padWithZeros(OpBuilder &builder, Location loc, Value value,
                        int64_t dim, int64_t low, int64_t high) {
  if (low == 0 && high == 0)
    return value;
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> shape(type.getShape()), lows(type.getRank(), 0),
      highs(type.getRank(), 0), interior(type.getRank(), 0);
  shape[dim] += low + high;
  lows[dim] = low;
  highs[dim] = high;
  Value zero =
      splat(builder, loc, RankedTensorType::get({}, type.getElementType()), 0);
  return stablehlo::PadOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), value,
      zero, builder.getDenseI64ArrayAttr(lows),
      builder.getDenseI64ArrayAttr(highs),
      builder.getDenseI64ArrayAttr(interior));
}

Value tsp::indexAlong(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape,
                      int64_t dim, Value offset) {
  auto type = RankedTensorType::get(shape, builder.getI32Type());
  Value index = stablehlo::IotaOp::create(builder, loc, type,
                                          builder.getI64IntegerAttr(dim));
  return offset ? add(builder, loc, index,
                      broadcastScalar(builder, loc, offset, shape))
                : index;
}

static Value compareIndex(OpBuilder &builder, Location loc, Value index,
                          int64_t limit,
                          stablehlo::ComparisonDirection direction) {
  Value bound = splat(builder, loc, typeOf(index), limit);
  return stablehlo::CompareOp::create(builder, loc, index, bound, direction);
}

Value tsp::isBelow(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape,
                   int64_t dim, Value offset, int64_t limit) {
  return compareIndex(builder, loc,
                      indexAlong(builder, loc, shape, dim, offset), limit,
                      stablehlo::ComparisonDirection::LT);
}

Value tsp::inRange(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape,
                   int64_t dim, Value offset, int64_t low, int64_t high) {
  Value index = indexAlong(builder, loc, shape, dim, offset);
  Value below = compareIndex(builder, loc, index, high,
                             stablehlo::ComparisonDirection::LT);
  Value above = compareIndex(builder, loc, index, low,
                             stablehlo::ComparisonDirection::GE);
  return stablehlo::AndOp::create(builder, loc, above.getType(), above, below);
}
