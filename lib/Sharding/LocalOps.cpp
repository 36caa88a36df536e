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

Value tsp::partOffset(OpBuilder &builder, Location loc, Value part,
                      const DimShard &shard, int64_t total) {
  Value offset = multiplyI32(builder, loc, part, localSize(shard, total));
  int64_t first = firstOfParts(shard, total);
  return first ? add(builder, loc, offset, constantI32(builder, loc, first))
               : offset;
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

Value tsp::concatenate(OpBuilder &builder, Location loc, ValueRange values,
                       int64_t dim) {
  if (values.size() == 1)
    return values.front();
  SmallVector<int64_t> shape(typeOf(values.front()).getShape());
  for (Value value : values.drop_front())
    shape[dim] += typeOf(value).getDimSize(dim);
  return stablehlo::ConcatenateOp::create(
      builder, loc,
      RankedTensorType::get(shape, typeOf(values.front()).getElementType()),
      values, builder.getI64IntegerAttr(dim));
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

static Value compareTo(OpBuilder &builder, Location loc, Value index,
                       int64_t limit,
                       stablehlo::ComparisonDirection direction) {
  Value bound = splat(builder, loc, typeOf(index), limit);
  return stablehlo::CompareOp::create(builder, loc, index, bound, direction);
}

/// Where low <= index < high.
static Value isWithin(OpBuilder &builder, Location loc, Value index,
                      int64_t low, int64_t high) {
  Value below =
      compareTo(builder, loc, index, high, stablehlo::ComparisonDirection::LT);
  Value above =
      compareTo(builder, loc, index, low, stablehlo::ComparisonDirection::GE);
  return stablehlo::AndOp::create(builder, loc, above.getType(), above, below);
}

/// Index of local element number `known` in the whole dim, taken level by level
/// from the minor axis on: known + rest, where `rest` is null while nothing
/// depends on the rank.
static Value indexOfLocal(OpBuilder &builder, Location loc, int64_t known,
                          const DimShard &shard, MeshAttr mesh) {
  Value rest;
  for (size_t level = shard.axes.size(); level-- > 0;) {
    const AxisSplit &split = shard.axes[level];
    int64_t ranks = mesh.getSizes()[split.axis];
    // Sizes of a block and of a chunk in it.
    int64_t local = prefixOf(shard, level + 1, mesh).chunk / split.blocks,
            chunk = local / split.chunks();
    // Index of the block's first element; `known` and `rest` are then in it.
    int64_t knownBase = 0;
    Value base;
    if (split.blocks > 1 && !rest) {
      knownBase = known / local * local * ranks;
      known %= local;
    } else if (split.blocks > 1) {
      Value index = add(builder, loc, rest, constantI32(builder, loc, known));
      Value block = stablehlo::DivOp::create(builder, loc, index,
                                             constantI32(builder, loc, local));
      base = multiplyI32(builder, loc, block, local * ranks);
      rest = subtract(builder, loc, index,
                      multiplyI32(builder, loc, block, local));
      known = 0;
    }
    Value rank = AxisIndexOp::create(builder, loc, scalarI32Type(builder),
                                     mesh.getAxes()[split.axis]);
    Value shift = multiplyI32(builder, loc, rank, chunk);
    if (split.layout == Layout::Zigzag) {
      // Chunk 0 becomes chunk r, chunk 1 becomes 2D-1-r.
      int64_t most = 2 * (ranks - 1) * chunk;
      auto back = [&](int64_t from) {
        return subtract(builder, loc, constantI32(builder, loc, from), shift);
      };
      if (rest) {
        shift = select(builder, loc,
                       compareTo(builder, loc, rest, chunk - known,
                                 stablehlo::ComparisonDirection::LT),
                       shift, back(most));
      } else if (known >= chunk) {
        shift = back(most + known);
        known = 0;
      }
    }
    rest = rest ? add(builder, loc, rest, shift) : shift;
    rest = base ? add(builder, loc, rest, base) : rest;
    known += knownBase;
  }
  return known == 0 ? rest
                    : add(builder, loc, rest, constantI32(builder, loc, known));
}

Pieces tsp::piecesOf(OpBuilder &builder, Location loc, const DimShard &shard,
                     MeshAttr mesh) {
  Pieces pieces{pieceSizeOf(shard, mesh), {}};
  for (int64_t first = 0; first < shard.chunk; first += pieces.size)
    pieces.offsets.push_back(indexOfLocal(builder, loc, first, shard, mesh));
  return pieces;
}

Value tsp::slicePieces(OpBuilder &builder, Location loc, Value value,
                       int64_t dim, const Pieces &pieces) {
  SmallVector<Value> slices;
  for (Value offset : pieces.offsets)
    slices.push_back(sliceAt(builder, loc, value, dim, offset, pieces.size));
  return concatenate(builder, loc, slices, dim);
}

Value tsp::indexAlong(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape,
                      int64_t dim, const Pieces &pieces) {
  auto type = RankedTensorType::get(shape, builder.getI32Type());
  Value index = stablehlo::IotaOp::create(builder, loc, type,
                                          builder.getI64IntegerAttr(dim));
  // How far the elements of each piece are moved, the last piece's first.
  Value shift;
  for (int64_t i = pieces.offsets.size(); i-- > 0;) {
    Value moved = pieces.offsets[i];
    if (i > 0)
      moved = subtract(builder, loc, moved,
                       constantI32(builder, loc, i * pieces.size));
    moved = broadcastScalar(builder, loc, moved, shape);
    shift = !shift
                ? moved
                : select(builder, loc,
                         compareTo(builder, loc, index, (i + 1) * pieces.size,
                                   stablehlo::ComparisonDirection::LT),
                         moved, shift);
  }
  return shift ? add(builder, loc, index, shift) : index;
}

Value tsp::isBelow(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape,
                   int64_t dim, const Pieces &pieces, int64_t limit) {
  return compareTo(builder, loc, indexAlong(builder, loc, shape, dim, pieces),
                   limit, stablehlo::ComparisonDirection::LT);
}

Value tsp::inRange(OpBuilder &builder, Location loc, ArrayRef<int64_t> shape,
                   int64_t dim, const Pieces &pieces, int64_t low,
                   int64_t high) {
  return isWithin(builder, loc, indexAlong(builder, loc, shape, dim, pieces),
                  low, high);
}

Value tsp::localIndex(OpBuilder &builder, Location loc, Value index,
                      const Pieces &pieces) {
  ArrayRef<int64_t> shape = typeOf(index).getShape();
  auto within = [&](Value offset) {
    return subtract(builder, loc, index,
                    broadcastScalar(builder, loc, offset, shape));
  };
  if (pieces.offsets.size() == 1)
    return within(pieces.offsets[0]);
  Value local = splat(builder, loc, typeOf(index), -1);
  for (auto [i, offset] : llvm::enumerate(pieces.offsets)) {
    Value inPiece = within(offset);
    Value moved = inPiece;
    if (i > 0)
      moved = add(builder, loc, inPiece,
                  splat(builder, loc, typeOf(index), i * pieces.size));
    local =
        select(builder, loc, isWithin(builder, loc, inPiece, 0, pieces.size),
               moved, local);
  }
  return local;
}
