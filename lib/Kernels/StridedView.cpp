//===- StridedView.cpp - tensors as strides over a buffer -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/StridedView.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;

SmallVector<int64_t> tsp::rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  return strides;
}

std::optional<SmallVector<int64_t>>
tsp::reshapeStrides(ArrayRef<int64_t> from, ArrayRef<int64_t> strides,
                    ArrayRef<int64_t> to) {
  SmallVector<int64_t> result(to.size(), 0);
  // Walks both shapes from the last dim, pairing the shortest runs of dims that
  // have the same number of elements. Inside a run the strides must be those of
  // one dim.
  size_t i = from.size(), j = to.size();
  while (true) {
    while (i > 0 && from[i - 1] == 1)
      --i;
    while (j > 0 && to[j - 1] == 1)
      --j;
    if (i == 0 || j == 0)
      break;
    int64_t sizeFrom = from[--i], sizeTo = to[--j];
    int64_t stride = strides[i], next = stride * sizeFrom;
    size_t last = j;
    while (sizeFrom != sizeTo) {
      if (sizeFrom < sizeTo) {
        if (i == 0)
          return std::nullopt;
        --i;
        if (from[i] != 1) {
          if (strides[i] != next)
            return std::nullopt;
          next = strides[i] * from[i];
        }
        sizeFrom *= from[i];
      } else {
        if (j == 0)
          return std::nullopt;
        sizeTo *= to[--j];
      }
    }
    for (size_t d = last + 1; d-- > j;) {
      result[d] = stride;
      stride *= to[d];
    }
  }
  return result;
}

SmallVector<StridedDim> tsp::rowMajorDims(ArrayRef<int64_t> shape) {
  SmallVector<StridedDim> dims;
  for (auto [size, stride] : llvm::zip_equal(shape, rowMajorStrides(shape)))
    dims.push_back({{size, stride}});
  return dims;
}

std::optional<SmallVector<StridedDim>>
tsp::reshapeDims(ArrayRef<StridedDim> from, ArrayRef<int64_t> to) {
  SmallVector<StridedPart> parts;
  for (const StridedDim &dim : from)
    llvm::append_range(parts, dim);
  SmallVector<StridedDim> result(to.size());
  for (size_t j = to.size(); j-- > 0;) {
    StridedDim reversed;
    for (int64_t missing = to[j]; missing > 1;) {
      StridedPart part = parts.pop_back_val();
      if (missing % part.size == 0) {
        if (part.size > 1)
          reversed.push_back(part);
        missing /= part.size;
      } else if (part.size % missing == 0) {
        reversed.push_back({missing, part.stride});
        parts.push_back({part.size / missing, part.stride * missing});
        missing = 1;
      } else {
        return std::nullopt;
      }
    }
    result[j].assign(reversed.rbegin(), reversed.rend());
  }
  return result;
}

/// Whether every value of `from` is a value of `to`.
static bool isWidening(Type from, Type to) {
  auto source = dyn_cast<FloatType>(from), target = dyn_cast<FloatType>(to);
  if (!source || !target || !(target.isF32() || target.isF64()))
    return false;
  return source.getWidth() < target.getWidth() || source == target;
}

StridedView tsp::viewThrough(Value tensor, bool throughWidening) {
  auto type = cast<RankedTensorType>(tensor.getType());
  StridedView view{tensor, 0, rowMajorStrides(type.getShape())};
  Operation *op = tensor.getDefiningOp();
  if (!op || op->getNumOperands() != 1 || op->getNumResults() != 1)
    return view;
  Value operand = op->getOperand(0);
  auto source = dyn_cast<RankedTensorType>(operand.getType());
  if (!source || !source.hasStaticShape())
    return view;

  if (auto convert = dyn_cast<stablehlo::ConvertOp>(op)) {
    if (throughWidening &&
        isWidening(source.getElementType(), type.getElementType()))
      return viewThrough(operand, throughWidening);
    return view;
  }
  if (!isa<stablehlo::TransposeOp, stablehlo::BroadcastInDimOp,
           stablehlo::SliceOp, stablehlo::ReshapeOp>(op))
    return view;

  StridedView inner = viewThrough(operand, throughWidening);
  StridedView result{inner.base, inner.offset,
                     SmallVector<int64_t>(type.getRank(), 0)};
  if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
    for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
      result.strides[i] = inner.strides[dim];
  } else if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
    for (auto [i, dim] : llvm::enumerate(broadcast.getBroadcastDimensions()))
      if (source.getDimSize(i) != 1)
        result.strides[dim] = inner.strides[i];
  } else if (auto slice = dyn_cast<stablehlo::SliceOp>(op)) {
    for (int64_t i = 0; i < type.getRank(); ++i) {
      result.offset += slice.getStartIndices()[i] * inner.strides[i];
      result.strides[i] = slice.getStrides()[i] * inner.strides[i];
    }
  } else {
    auto strides =
        reshapeStrides(source.getShape(), inner.strides, type.getShape());
    if (!strides)
      return view;
    result.strides = *strides;
  }
  return result;
}
