//===- IndexingVerifiers.cpp - dim numbers of gather and scatter ----------===//
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

namespace {
/// The dim numbers that gather and scatter have in common, with the names that
/// each op gives them.
struct IndexDims {
  /// Dims of the slices in the result or updates.
  ArrayRef<int64_t> window;
  StringRef windowName;
  /// Dims of the operand that slices do not have.
  ArrayRef<int64_t> collapsed;
  StringRef collapsedName;
  ArrayRef<int64_t> operandBatch;
  StringRef operandBatchName;
  ArrayRef<int64_t> indicesBatch;
  StringRef indicesBatchName;
  /// The dim of the operand that each element of an index vector counts along.
  ArrayRef<int64_t> indexMap;
  StringRef indexMapName;
  int64_t indexVectorDim;
};
} // namespace

/// Rules on the operand, the indices and their dims.
static LogicalResult verifyIndexDims(Operation *op, const IndexDims &dims,
                                     RankedTensorType operand,
                                     RankedTensorType indices, int64_t rank) {
  int64_t operandRank = operand.getRank(), indicesRank = indices.getRank();
  if (failed(verifyDims(op, dims.windowName, dims.window, rank, true)) ||
      failed(verifyDims(op, dims.collapsedName, dims.collapsed, operandRank, true)) ||
      failed(verifyDims(op, dims.operandBatchName, dims.operandBatch, operandRank,
                        true)) ||
      failed(verifyDims(op, dims.indicesBatchName, dims.indicesBatch, indicesRank)) ||
      failed(verifyDims(op, dims.indexMapName, dims.indexMap, operandRank)))
    return failure();
  for (auto [list, name] : {std::pair(dims.collapsed, dims.collapsedName),
                            std::pair(dims.indexMap, dims.indexMapName)})
    for (int64_t dim : list)
      if (llvm::is_contained(dims.operandBatch, dim))
        return op->emitOpError("dim ") << dim << " is both in " << name << " and in "
                                       << dims.operandBatchName;
  int64_t kept = dims.window.size() + dims.collapsed.size() + dims.operandBatch.size();
  if (kept != operandRank)
    return op->emitOpError("expected ")
           << dims.windowName << ", " << dims.collapsedName << " and "
           << dims.operandBatchName << " to have as many dims as the operand, "
           << operandRank << ", found " << kept;
  if (dims.indexVectorDim < 0 || dims.indexVectorDim > indicesRank)
    return op->emitOpError("expected index_vector_dim to be 0 to ")
           << indicesRank << ", found " << dims.indexVectorDim;
  int64_t vectorSize = dims.indexVectorDim == indicesRank
                           ? 1
                           : indices.getDimSize(dims.indexVectorDim);
  if (!ShapedType::isDynamic(vectorSize) &&
      vectorSize != (int64_t)dims.indexMap.size())
    return op->emitOpError("expected ")
           << vectorSize << " dims in " << dims.indexMapName << ", found "
           << dims.indexMap.size();
  if (llvm::is_contained(dims.indicesBatch, dims.indexVectorDim))
    return op->emitOpError("index_vector_dim ")
           << dims.indexVectorDim << " is also in " << dims.indicesBatchName;
  if (dims.operandBatch.size() != dims.indicesBatch.size())
    return op->emitOpError("expected as many dims in ")
           << dims.operandBatchName << " as in " << dims.indicesBatchName
           << ", found " << dims.operandBatch.size() << " and "
           << dims.indicesBatch.size();
  for (auto [lhs, rhs] : llvm::zip(dims.operandBatch, dims.indicesBatch))
    if (failed(expectSameSize(op, "batching dim " + Twine(lhs) + " of the operand",
                              operand.getDimSize(lhs),
                              "batching dim " + Twine(rhs) + " of the indices",
                              indices.getDimSize(rhs))))
      return failure();
  return success();
}

/// The shape of result or updates: window dims have `windowSizes`, the others
/// the sizes of the indices without the vector dim.
static SmallVector<int64_t> getWindowedShape(const IndexDims &dims,
                                             ArrayRef<int64_t> windowSizes,
                                             RankedTensorType indices) {
  SmallVector<int64_t> batch;
  for (int64_t dim = 0; dim < indices.getRank(); ++dim)
    if (dim != dims.indexVectorDim)
      batch.push_back(indices.getDimSize(dim));
  SmallVector<int64_t> shape;
  const int64_t *nextBatch = batch.begin(), *nextWindow = windowSizes.begin();
  for (size_t dim = 0; dim < batch.size() + windowSizes.size(); ++dim) {
    bool isWindow = llvm::is_contained(dims.window, (int64_t)dim);
    if (isWindow ? nextWindow == windowSizes.end() : nextBatch == batch.end())
      break;
    shape.push_back(isWindow ? *nextWindow++ : *nextBatch++);
  }
  return shape;
}

LogicalResult GatherOp::verify() {
  GatherDimensionNumbersAttr numbers = getDimensionNumbers();
  RankedTensorType operand = getOperand().getType();
  RankedTensorType indices = getStartIndices().getType();
  IndexDims dims{numbers.getOffsetDims(),
                 "offset_dims",
                 numbers.getCollapsedSliceDims(),
                 "collapsed_slice_dims",
                 numbers.getOperandBatchingDims(),
                 "operand_batching_dims",
                 numbers.getStartIndicesBatchingDims(),
                 "start_indices_batching_dims",
                 numbers.getStartIndexMap(),
                 "start_index_map",
                 numbers.getIndexVectorDim()};
  ArrayRef<int64_t> sizes = getSliceSizes();
  if (failed(verifyIndexDims(*this, dims, operand, indices, getType().getRank())) ||
      failed(expectCount(*this, operand.getRank(), "slice sizes", sizes.size())))
    return failure();
  SmallVector<int64_t> windowSizes;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    bool isDropped = llvm::is_contained(dims.collapsed, (int64_t)dim) ||
                     llvm::is_contained(dims.operandBatch, (int64_t)dim);
    int64_t limit = operand.getDimSize(dim);
    if (size < 0 || (isDropped && size > 1) ||
        (!ShapedType::isDynamic(limit) && size > limit))
      return emitOpError("expected a slice size of 0 to ")
             << (isDropped ? std::min<int64_t>(limit, 1) : limit) << " in dim "
             << dim << ", found " << size;
    if (!isDropped)
      windowSizes.push_back(size);
  }
  return expectTensor(*this, "result", getWindowedShape(dims, windowSizes, indices),
                      operand.getElementType(), getType());
}

LogicalResult ScatterOp::verify() {
  ScatterDimensionNumbersAttr numbers = getScatterDimensionNumbers();
  IndexDims dims{numbers.getUpdateWindowDims(),
                 "update_window_dims",
                 numbers.getInsertedWindowDims(),
                 "inserted_window_dims",
                 numbers.getInputBatchingDims(),
                 "input_batching_dims",
                 numbers.getScatterIndicesBatchingDims(),
                 "scatter_indices_batching_dims",
                 numbers.getScatterDimsToOperandDims(),
                 "scatter_dims_to_operand_dims",
                 numbers.getIndexVectorDim()};
  RankedTensorType indices = getScatterIndices().getType();
  if (getInputs().empty())
    return emitOpError("expected at least 1 input, found 0");
  if (failed(expectCount(*this, getInputs().size(), "updates", getUpdates().size())) ||
      failed(expectCount(*this, getInputs().size(), "results", getNumResults())))
    return failure();
  auto first = cast<RankedTensorType>(getInputs().front().getType());
  for (auto [index, input, update, result] :
       llvm::enumerate(getInputs(), getUpdates(), getResults())) {
    auto type = cast<RankedTensorType>(input.getType());
    auto updateType = cast<RankedTensorType>(update.getType());
    if (failed(expectTensor(*this, "input " + Twine(index), first.getShape(),
                            type.getElementType(), type)) ||
        failed(verifyIndexDims(*this, dims, type, indices, updateType.getRank())) ||
        failed(expectType(*this, "result " + Twine(index), type, result.getType())))
      return failure();
    SmallVector<int64_t> windowSizes;
    for (int64_t dim : dims.window)
      windowSizes.push_back(updateType.getDimSize(dim));
    if (failed(expectTensor(*this, "update " + Twine(index),
                            getWindowedShape(dims, windowSizes, indices),
                            type.getElementType(), updateType)))
      return failure();
    // Windows have to fit into the input, whose other dims they do not have.
    const int64_t *size = windowSizes.begin();
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (llvm::is_contained(dims.collapsed, dim) ||
          llvm::is_contained(dims.operandBatch, dim))
        continue;
      if (!type.isDynamicDim(dim) && *size > type.getDimSize(dim))
        return emitOpError("expected an update window of at most ")
               << type.getDimSize(dim) << " elements in dim " << dim
               << " of the input, found " << *size;
      ++size;
    }
  }
  return success();
}

LogicalResult ScatterOp::verifyRegions() {
  SmallVector<Type> elements;
  for (Type type : getInputs().getTypes())
    elements.push_back(cast<RankedTensorType>(type).getElementType());
  SmallVector<Type> arguments(elements);
  llvm::append_range(arguments, elements);
  return verifyBody(*this, getUpdateComputation(), arguments, elements);
}
