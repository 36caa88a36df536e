//===- ShapeFolds.cpp - moved elements that stay where they are -----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantFolding.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

/// Moving the elements of a splat gives a splat.
static OpFoldResult foldSplat(Operation *op, Attribute operand) {
  Attribute element = getSplatElement(operand);
  return element ? makeSplat(op->getResult(0).getType(), element) : Attribute();
}

static bool isIdentity(ArrayRef<int64_t> dims) {
  for (auto [index, dim] : llvm::enumerate(dims))
    if (dim != (int64_t)index)
      return false;
  return true;
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto inner = getOperand().getDefiningOp<ReshapeOp>();
      inner && inner.getOperand().getType() == getType())
    return inner.getOperand();
  auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getOperand());
  if (dense && getType().hasStaticShape())
    return dense.reshape(getType());
  return {};
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (isIdentity(getPermutation()) && getOperand().getType() == getType())
    return getOperand();
  return foldSplat(*this, adaptor.getOperand());
}

OpFoldResult BroadcastInDimOp::fold(FoldAdaptor adaptor) {
  if (isIdentity(getBroadcastDimensions()) && getOperand().getType() == getType())
    return getOperand();
  return foldSplat(*this, adaptor.getOperand());
}

OpFoldResult ConcatenateOp::fold(FoldAdaptor adaptor) {
  if (getInputs().size() == 1 && getInputs().front().getType() == getType())
    return getInputs().front();
  Attribute first = getSplatElement(adaptor.getInputs().front());
  bool areEqual = first && llvm::all_of(adaptor.getInputs(), [&](Attribute input) {
                    return getSplatElement(input) == first;
                  });
  return areEqual ? makeSplat(getType(), first) : Attribute();
}

/// The slice of a small constant.
static Attribute sliceElements(DenseElementsAttr dense, SliceOp op) {
  RankedTensorType from = op.getOperand().getType(), to = op.getType();
  if (!from.hasStaticShape() || !to.hasStaticShape() ||
      to.getNumElements() > kMaxFoldedElements || to.getNumElements() == 0 ||
      from.getNumElements() > 65536)
    return {};
  auto values = dense.getValues<Attribute>();
  SmallVector<Attribute> elements;
  SmallVector<int64_t> index(to.getRank(), 0);
  for (int64_t count = 0; count < to.getNumElements(); ++count) {
    int64_t offset = 0;
    for (int64_t dim = 0; dim < to.getRank(); ++dim)
      offset = offset * from.getDimSize(dim) + op.getStartIndices()[dim] +
               index[dim] * op.getStrides()[dim];
    elements.push_back(*(values.begin() + offset));
    for (int64_t dim = to.getRank() - 1; dim >= 0; --dim) {
      if (++index[dim] < to.getDimSize(dim))
        break;
      index[dim] = 0;
    }
  }
  return DenseElementsAttr::get(to, elements);
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType() && getType().hasStaticShape())
    return getOperand();
  if (OpFoldResult splat = foldSplat(*this, adaptor.getOperand()))
    return splat;
  auto dense = dyn_cast_or_null<DenseElementsAttr>(adaptor.getOperand());
  return dense ? sliceElements(dense, *this) : Attribute();
}

OpFoldResult PadOp::fold(FoldAdaptor adaptor) {
  auto isZero = [](ArrayRef<int64_t> list) {
    return llvm::all_of(list, [](int64_t number) { return number == 0; });
  };
  if (isZero(getEdgePaddingLow()) && isZero(getEdgePaddingHigh()) &&
      isZero(getInteriorPadding()) && getOperand().getType() == getType())
    return getOperand();
  Attribute element = getSplatElement(adaptor.getOperand());
  if (element && element == getSplatElement(adaptor.getPaddingValue()))
    return makeSplat(getType(), element);
  return {};
}

OpFoldResult ReverseOp::fold(FoldAdaptor adaptor) {
  RankedTensorType type = getType();
  if (llvm::all_of(getDimensions(),
                   [&](int64_t dim) { return type.getDimSize(dim) == 1; }))
    return getOperand();
  return foldSplat(*this, adaptor.getOperand());
}

OpFoldResult DynamicSliceOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType() && getType().hasStaticShape())
    return getOperand();
  return foldSplat(*this, adaptor.getOperand());
}

OpFoldResult DynamicUpdateSliceOp::fold(FoldAdaptor) {
  if (getUpdate().getType() == getType() && getType().hasStaticShape())
    return getUpdate();
  return {};
}

OpFoldResult GetDimensionSizeOp::fold(FoldAdaptor) {
  RankedTensorType type = getOperand().getType();
  if (type.isDynamicDim(getDimension()))
    return {};
  return makeSplat(getType(),
                   Builder(getContext())
                       .getI32IntegerAttr(type.getDimSize(getDimension())));
}

OpFoldResult chlo::ConstantLikeOp::fold(FoldAdaptor) {
  return makeSplat(getType(), getValue());
}
