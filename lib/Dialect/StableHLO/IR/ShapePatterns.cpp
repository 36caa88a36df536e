//===- ShapePatterns.cpp - simpler ways to move elements ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

//===----------------------------------------------------------------------===//
// reshape, transpose, broadcast_in_dim
//===----------------------------------------------------------------------===//

/// Only the last shape counts.
LogicalResult ReshapeOp::canonicalize(ReshapeOp op, PatternRewriter &rewriter) {
  auto inner = op.getOperand().getDefiningOp<ReshapeOp>();
  if (!inner)
    return failure();
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner.getOperand());
  return success();
}

/// Whether dims of more than one element keep their order: no element moves.
static bool movesOnlyUnitDims(RankedTensorType type, ArrayRef<int64_t> permutation) {
  int64_t last = -1;
  for (int64_t dim : permutation) {
    if (type.getDimSize(dim) == 1)
      continue;
    if (dim < last)
      return false;
    last = dim;
  }
  return true;
}

LogicalResult TransposeOp::canonicalize(TransposeOp op, PatternRewriter &rewriter) {
  if (auto inner = op.getOperand().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> permutation;
    for (int64_t dim : op.getPermutation())
      permutation.push_back(inner.getPermutation()[dim]);
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner.getOperand(),
                                             permutation);
    return success();
  }
  RankedTensorType type = op.getOperand().getType();
  if (!type.hasStaticShape() || !movesOnlyUnitDims(type, op.getPermutation()))
    return failure();
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getOperand());
  return success();
}

/// The dims of `to` that hold the dims of `from` when a reshape just puts in
/// dims of size 1, or nothing.
static std::optional<SmallVector<int64_t>> getAddedUnitDims(RankedTensorType from,
                                                            RankedTensorType to) {
  SmallVector<int64_t> dims;
  int64_t next = 0;
  for (int64_t size : from.getShape()) {
    while (next < to.getRank() && to.getDimSize(next) == 1 && size != 1)
      ++next;
    if (next == to.getRank() || to.getDimSize(next) != size)
      return std::nullopt;
    dims.push_back(next++);
  }
  for (; next < to.getRank(); ++next)
    if (to.getDimSize(next) != 1)
      return std::nullopt;
  return dims;
}

LogicalResult BroadcastInDimOp::canonicalize(BroadcastInDimOp op,
                                             PatternRewriter &rewriter) {
  RankedTensorType from = op.getOperand().getType(), to = op.getType();
  if (!from.hasStaticShape() || !to.hasStaticShape())
    return failure();
  ArrayRef<int64_t> dims = op.getBroadcastDimensions();

  // A broadcast of a broadcast, or of a reshape that puts in dims of size 1.
  Value source;
  std::optional<SmallVector<int64_t>> sourceDims;
  if (auto inner = op.getOperand().getDefiningOp<BroadcastInDimOp>()) {
    source = inner.getOperand();
    sourceDims = SmallVector<int64_t>(inner.getBroadcastDimensions());
  } else if (auto inner = op.getOperand().getDefiningOp<ReshapeOp>()) {
    source = inner.getOperand();
    sourceDims = getAddedUnitDims(inner.getOperand().getType(), from);
  }
  if (sourceDims) {
    SmallVector<int64_t> composed;
    for (int64_t dim : *sourceDims)
      composed.push_back(dims[dim]);
    rewriter.replaceOpWithNewOp<BroadcastInDimOp>(op, to, source, composed);
    return success();
  }

  // Nothing is repeated: a reshape, if the order stays too.
  if (from.getRank() == 0 ? to.getNumElements() != 1
                          : from.getNumElements() != to.getNumElements())
    return failure();
  if (!llvm::is_sorted(dims))
    return failure();
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, to, op.getOperand());
  return success();
}

//===----------------------------------------------------------------------===//
// concatenate, slice, dynamic_slice
//===----------------------------------------------------------------------===//

/// Inputs without elements add nothing; an input that is itself joined along
/// the same dim gives its inputs.
LogicalResult ConcatenateOp::canonicalize(ConcatenateOp op,
                                          PatternRewriter &rewriter) {
  SmallVector<Value> inputs;
  int64_t dim = op.getDimension();
  for (Value input : op.getInputs()) {
    auto inner = input.getDefiningOp<ConcatenateOp>();
    if (inner && (int64_t)inner.getDimension() == dim && input.hasOneUse())
      llvm::append_range(inputs, inner.getInputs());
    else if (cast<RankedTensorType>(input.getType()).getDimSize(dim) != 0)
      inputs.push_back(input);
  }
  if (inputs.empty() || ValueRange(inputs) == op.getInputs())
    return failure();
  rewriter.replaceOpWithNewOp<ConcatenateOp>(op, op.getType(), inputs, dim);
  return success();
}

/// A slice of one input of a concatenation, or null.
static Value sliceOfInput(SliceOp op, ConcatenateOp concat,
                          PatternRewriter &rewriter) {
  int64_t dim = concat.getDimension(), offset = 0;
  for (Value input : concat.getInputs()) {
    int64_t size = cast<RankedTensorType>(input.getType()).getDimSize(dim);
    if (ShapedType::isDynamic(size))
      return {};
    int64_t start = op.getStartIndices()[dim] - offset;
    int64_t limit = op.getLimitIndices()[dim] - offset;
    offset += size;
    if (start < 0 || limit > size)
      continue;
    SmallVector<int64_t> starts(op.getStartIndices()), limits(op.getLimitIndices());
    starts[dim] = start;
    limits[dim] = limit;
    return SliceOp::create(rewriter, op.getLoc(), op.getType(), input, starts, limits,
                           op.getStrides());
  }
  return {};
}

LogicalResult SliceOp::canonicalize(SliceOp op, PatternRewriter &rewriter) {
  if (auto concat = op.getOperand().getDefiningOp<ConcatenateOp>()) {
    Value slice = sliceOfInput(op, concat, rewriter);
    if (!slice)
      return failure();
    rewriter.replaceOp(op, slice);
    return success();
  }
  auto inner = op.getOperand().getDefiningOp<SliceOp>();
  if (!inner)
    return failure();
  SmallVector<int64_t> starts, limits, strides;
  for (auto [start, limit, stride, innerStart, innerStride] :
       llvm::zip(op.getStartIndices(), op.getLimitIndices(), op.getStrides(),
                 inner.getStartIndices(), inner.getStrides())) {
    int64_t count = limit == start ? 0 : (limit - start - 1) / stride + 1;
    starts.push_back(innerStart + start * innerStride);
    strides.push_back(stride * innerStride);
    // One past the last element that is taken.
    limits.push_back(count == 0 ? starts.back()
                                : starts.back() + (count - 1) * strides.back() + 1);
  }
  rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), inner.getOperand(), starts,
                                       limits, strides);
  return success();
}

/// A start that is known at compile time is clamped there.
LogicalResult DynamicSliceOp::canonicalize(DynamicSliceOp op,
                                           PatternRewriter &rewriter) {
  RankedTensorType type = op.getOperand().getType();
  if (!type.hasStaticShape())
    return failure();
  SmallVector<int64_t> starts, limits;
  for (auto [dim, start] : llvm::enumerate(op.getStartIndices())) {
    int64_t size = op.getSliceSizes()[dim], last = type.getDimSize(dim) - size;
    DenseIntElementsAttr constant;
    int64_t value = 0;
    // Where only one start is possible it need not be known.
    if (last != 0) {
      if (!matchPattern(start, m_Constant(&constant)))
        return failure();
      APInt number = constant.getSplatValue<APInt>();
      bool isUnsigned = constant.getElementType().isUnsignedInteger();
      bool isNegative = !isUnsigned && number.isNegative();
      value = isNegative ? 0 : int64_t(number.getLimitedValue(last));
    }
    starts.push_back(value);
    limits.push_back(value + size);
  }
  rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), op.getOperand(), starts,
                                       limits, SmallVector<int64_t>(starts.size(), 1));
  return success();
}
