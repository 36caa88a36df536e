//===- ShapeVerifiers.cpp - shapes of ops that move elements --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

LogicalResult IotaOp::verify() {
  return verifyDim(*this, "iota_dimension", getIotaDimension(),
                   getType().getRank());
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  if (from.getElementType() != to.getElementType())
    return expectTensor(*this, "result", to.getShape(), from.getElementType(), to);
  if (!from.hasStaticShape() || !to.hasStaticShape())
    return success();
  auto count = [](RankedTensorType type) {
    if (llvm::is_contained(type.getShape(), 0))
      return Wide(0);
    Wide product = 1;
    // Products beyond any real tensor stay where they are.
    for (int64_t size : type.getShape())
      product = product > (Wide(1) << 62) ? product : product * size;
    return product;
  };
  if (count(from) == count(to))
    return success();
  return emitOpError("expected as many elements in the result as in the "
                     "operand, found ")
         << from << " and " << to;
}

LogicalResult TransposeOp::verify() {
  RankedTensorType type = getOperand().getType();
  if (failed(expectCount(*this, type.getRank(), "dims in permutation",
                         getPermutation().size())) ||
      failed(verifyDims(*this, "permutation", getPermutation(), type.getRank())))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim : getPermutation())
    shape.push_back(type.getDimSize(dim));
  return expectTensor(*this, "result", shape, type.getElementType(), getType());
}

LogicalResult BroadcastInDimOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  ArrayRef<int64_t> dims = getBroadcastDimensions();
  if (failed(expectCount(*this, from.getRank(), "dims in broadcast_dimensions",
                         dims.size())) ||
      failed(verifyDims(*this, "broadcast_dimensions", dims, to.getRank())))
    return failure();
  if (from.getElementType() != to.getElementType())
    return expectTensor(*this, "result", to.getShape(), from.getElementType(), to);
  for (auto [index, dim] : llvm::enumerate(dims))
    if (from.getDimSize(index) != 1 &&
        failed(expectSameSize(*this, "dim " + Twine(index) + " of the operand",
                              from.getDimSize(index),
                              "dim " + Twine(dim) + " of the result",
                              to.getDimSize(dim))))
      return failure();
  return success();
}

LogicalResult ConcatenateOp::verify() {
  if (getInputs().empty())
    return emitOpError("expected at least 1 input, found 0");
  auto first = cast<RankedTensorType>(getInputs().front().getType());
  int64_t dim = getDimension();
  if (failed(verifyDim(*this, "dimension", dim, first.getRank())))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  Wide size = 0;
  bool isDynamic = false;
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    auto type = cast<RankedTensorType>(input.getType());
    if (type.getRank() == first.getRank()) {
      isDynamic |= type.isDynamicDim(dim);
      size += type.getDimSize(dim);
      shape[dim] = type.getDimSize(dim);
    }
    if (failed(expectTensor(*this, "input " + Twine(index), shape,
                            first.getElementType(), type)))
      return failure();
  }
  if (size > std::numeric_limits<int64_t>::max())
    return emitOpError("the result is too large");
  shape[dim] = isDynamic ? ShapedType::kDynamic : int64_t(size);
  return expectTensor(*this, "result", shape, first.getElementType(), getType());
}

LogicalResult SliceOp::verify() {
  RankedTensorType type = getOperand().getType();
  for (auto [name, list] :
       {std::pair(StringRef("start_indices"), getStartIndices()),
        std::pair(StringRef("limit_indices"), getLimitIndices()),
        std::pair(StringRef("strides"), getStrides())})
    if ((int64_t)list.size() != type.getRank())
      return emitOpError("expected ")
             << type.getRank() << " numbers in " << name << ", found "
             << list.size();
  SmallVector<int64_t> shape;
  for (auto [dim, start, limit, stride] :
       llvm::enumerate(getStartIndices(), getLimitIndices(), getStrides())) {
    int64_t size = type.getDimSize(dim);
    if (start < 0 || start > limit ||
        (!ShapedType::isDynamic(size) && limit > size) || stride < 1)
      return emitOpError("expected 0 <= start <= limit <= ")
             << size << " and a stride of at least 1 in dim " << dim << ", found "
             << start << ":" << limit << ":" << stride;
    shape.push_back((limit - start) / stride + ((limit - start) % stride != 0));
  }
  return expectTensor(*this, "result", shape, type.getElementType(), getType());
}

LogicalResult PadOp::verify() {
  RankedTensorType type = getOperand().getType();
  if (failed(expectTensor(*this, "padding_value", {}, type.getElementType(),
                          getPaddingValue().getType())))
    return failure();
  for (auto [name, list] :
       {std::pair(StringRef("low"), getEdgePaddingLow()),
        std::pair(StringRef("high"), getEdgePaddingHigh()),
        std::pair(StringRef("interior"), getInteriorPadding())})
    if ((int64_t)list.size() != type.getRank())
      return emitOpError("expected ")
             << type.getRank() << " numbers in " << name << ", found "
             << list.size();
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t size = type.getDimSize(dim), interior = getInteriorPadding()[dim];
    if (interior < 0)
      return emitOpError("expected interior padding of at least 0 in dim ")
             << dim << ", found " << interior;
    if (ShapedType::isDynamic(size)) {
      shape.push_back(size);
      continue;
    }
    Wide padded = Wide(size) + Wide(std::max<int64_t>(size - 1, 0)) * interior +
                  getEdgePaddingLow()[dim] + getEdgePaddingHigh()[dim];
    if (padded < 0 || padded > std::numeric_limits<int64_t>::max())
      return emitOpError("dim ") << dim << " of size " << size
                                 << " has a size out of range after padding";
    shape.push_back(int64_t(padded));
  }
  return expectTensor(*this, "result", shape, type.getElementType(), getType());
}

LogicalResult ReverseOp::verify() {
  return verifyDims(*this, "dimensions", getDimensions(), getType().getRank());
}

/// One start a dim, all of one type.
static LogicalResult verifyStarts(Operation *op, ValueRange starts, int64_t rank) {
  if (failed(expectCount(op, rank, "start indices", starts.size())))
    return failure();
  for (auto [index, start] : llvm::enumerate(starts))
    if (failed(expectType(op, "start index " + Twine(index),
                          starts.front().getType(), start.getType())))
      return failure();
  return success();
}

LogicalResult DynamicSliceOp::verify() {
  RankedTensorType type = getOperand().getType();
  ArrayRef<int64_t> sizes = getSliceSizes();
  if (failed(verifyStarts(*this, getStartIndices(), type.getRank())) ||
      failed(expectCount(*this, type.getRank(), "slice sizes", sizes.size())))
    return failure();
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (size < 0 || (!type.isDynamicDim(dim) && size > type.getDimSize(dim)))
      return emitOpError("expected a slice size of 0 to ")
             << type.getDimSize(dim) << " in dim " << dim << ", found " << size;
  return expectTensor(*this, "result", sizes, type.getElementType(), getType());
}

LogicalResult DynamicUpdateSliceOp::verify() {
  RankedTensorType type = getOperand().getType(), update = getUpdate().getType();
  if (failed(verifyStarts(*this, getStartIndices(), type.getRank())) ||
      failed(expectCount(*this, type.getRank(), "dims of the update",
                         update.getRank())))
    return failure();
  if (update.getElementType() != type.getElementType())
    return expectTensor(*this, "update", update.getShape(), type.getElementType(),
                        update);
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!type.isDynamicDim(dim) && !update.isDynamicDim(dim) &&
        update.getDimSize(dim) > type.getDimSize(dim))
      return emitOpError("expected an update of at most ")
             << type.getDimSize(dim) << " elements in dim " << dim << ", found "
             << update.getDimSize(dim);
  return success();
}

LogicalResult GetDimensionSizeOp::verify() {
  return verifyDim(*this, "dimension", getDimension(),
                   getOperand().getType().getRank());
}
