//===- ReductionVerifiers.cpp - shapes of ops that combine elements -------===//
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

static Type getElement(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// One precision an operand.
static LogicalResult verifyPrecision(Operation *op, std::optional<ArrayAttr> config) {
  if (!config || config->empty())
    return success();
  return expectCount(op, 2, "precisions", config->size());
}

LogicalResult DotGeneralOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  DotDimensionNumbersAttr dims = getDotDimensionNumbers();
  ArrayRef<int64_t> lhsBatch = dims.getLhsBatchingDimensions(),
                    rhsBatch = dims.getRhsBatchingDimensions(),
                    lhsContract = dims.getLhsContractingDimensions(),
                    rhsContract = dims.getRhsContractingDimensions();
  SmallVector<int64_t> lhsUsed(lhsBatch), rhsUsed(rhsBatch);
  llvm::append_range(lhsUsed, lhsContract);
  llvm::append_range(rhsUsed, rhsContract);
  if (failed(verifyDims(*this, "batching and contracting dims of lhs", lhsUsed,
                        lhs.getRank())) ||
      failed(verifyDims(*this, "batching and contracting dims of rhs", rhsUsed,
                        rhs.getRank())) ||
      failed(expectCount(*this, lhsBatch.size(), "batching dims of rhs",
                         rhsBatch.size())) ||
      failed(expectCount(*this, lhsContract.size(), "contracting dims of rhs",
                         rhsContract.size())) ||
      failed(verifyPrecision(*this, getPrecisionConfig())))
    return failure();
  for (auto [left, right] : llvm::zip(lhsUsed, rhsUsed))
    if (failed(expectSameSize(*this, "dim " + Twine(left) + " of lhs",
                              lhs.getDimSize(left),
                              "dim " + Twine(right) + " of rhs",
                              rhs.getDimSize(right))))
      return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim : lhsBatch)
    shape.push_back(lhs.getDimSize(dim));
  for (auto [type, used] : {std::pair(lhs, &lhsUsed), std::pair(rhs, &rhsUsed)})
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (!llvm::is_contained(*used, dim))
        shape.push_back(type.getDimSize(dim));
  return expectTensor(*this, "result", shape, getType().getElementType(), getType());
}

LogicalResult DotOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  if (lhs.getRank() < 1 || lhs.getRank() > 2 || rhs.getRank() < 1 ||
      rhs.getRank() > 2)
    return emitOpError("expected vectors and matrices, found ")
           << lhs << " and " << rhs;
  if (failed(verifyPrecision(*this, getPrecisionConfig())) ||
      failed(expectSameSize(*this, "the last dim of lhs", lhs.getShape().back(),
                            "the first dim of rhs", rhs.getShape().front())))
    return failure();
  SmallVector<int64_t> shape(lhs.getShape().drop_back());
  llvm::append_range(shape, rhs.getShape().drop_front());
  return expectTensor(*this, "result", shape, getType().getElementType(), getType());
}

//===----------------------------------------------------------------------===//
// reduce, reduce_window
//===----------------------------------------------------------------------===//

/// Inputs of one shape, an init value of rank 0 and a result for each.
static LogicalResult verifyReduced(Operation *op, ValueRange inputs,
                                   ValueRange inits, ArrayRef<int64_t> shape) {
  auto first = cast<RankedTensorType>(inputs.front().getType());
  for (auto [index, input, init] : llvm::enumerate(inputs, inits)) {
    if (failed(expectTensor(op, "input " + Twine(index), first.getShape(),
                            getElement(input), input.getType())) ||
        failed(expectTensor(op, "init value " + Twine(index), {}, getElement(input),
                            init.getType())))
      return failure();
  }
  if (failed(expectCount(op, inputs.size(), "results", op->getNumResults())))
    return failure();
  for (auto [index, input, result] : llvm::enumerate(inputs, op->getResults()))
    if (failed(expectTensor(op, "result " + Twine(index), shape, getElement(input),
                            result.getType())))
      return failure();
  return success();
}

/// The body takes an accumulator for each input, then an element of each.
static LogicalResult verifyReducer(Operation *op, ValueRange inputs, Region &body) {
  SmallVector<Type> elements = llvm::map_to_vector(inputs, getElement);
  SmallVector<Type> arguments(elements);
  llvm::append_range(arguments, elements);
  return verifyBody(op, body, arguments, elements);
}

LogicalResult ReduceOp::verify() {
  if (getInputs().empty())
    return emitOpError("expected at least 1 input, found 0");
  auto type = cast<RankedTensorType>(getInputs().front().getType());
  if (failed(verifyDims(*this, "dimensions", getDimensions(), type.getRank())))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(getDimensions(), dim))
      shape.push_back(type.getDimSize(dim));
  return verifyReduced(*this, getInputs(), getInitValues(), shape);
}

LogicalResult ReduceOp::verifyRegions() {
  return verifyReducer(*this, getInputs(), getBody());
}

/// The size of a dim of `size` elements spread by `dilation`.
static Wide getDilated(int64_t size, int64_t dilation) {
  return size == 0 ? Wide(0) : Wide(size - 1) * dilation + 1;
}

LogicalResult ReduceWindowOp::verify() {
  if (getInputs().empty())
    return emitOpError("expected at least 1 input, found 0");
  auto type = cast<RankedTensorType>(getInputs().front().getType());
  int64_t rank = type.getRank();
  SmallVector<int64_t> ones(rank, 1);
  ArrayRef<int64_t> window = getWindowDimensions();
  ArrayRef<int64_t> strides = getWindowStrides().value_or(ones);
  ArrayRef<int64_t> baseDilations = getBaseDilations().value_or(ones);
  ArrayRef<int64_t> windowDilations = getWindowDilations().value_or(ones);
  for (auto [name, list] :
       {std::pair(StringRef("window_dimensions"), window),
        std::pair(StringRef("window_strides"), strides),
        std::pair(StringRef("base_dilations"), baseDilations),
        std::pair(StringRef("window_dilations"), windowDilations)}) {
    if ((int64_t)list.size() != rank)
      return emitOpError("expected ")
             << rank << " numbers in " << name << ", found " << list.size();
    for (int64_t number : list)
      if (number < 1)
        return emitOpError("expected numbers of at least 1 in ")
               << name << ", found " << number;
  }
  SmallVector<int64_t> padding(2 * rank, 0);
  if (std::optional<DenseIntElementsAttr> attr = getPadding()) {
    if (attr->getType().getShape() != ArrayRef<int64_t>({rank, 2}))
      return emitOpError("expected padding of type tensor<")
             << rank << "x2xi64>, found " << attr->getType();
    padding = llvm::to_vector(attr->getValues<int64_t>());
  }
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t size = type.getDimSize(dim);
    if (ShapedType::isDynamic(size)) {
      shape.push_back(size);
      continue;
    }
    Wide padded = getDilated(size, baseDilations[dim]) + padding[2 * dim] +
                  padding[2 * dim + 1];
    Wide span = getDilated(window[dim], windowDilations[dim]);
    Wide count = padded < span ? Wide(0) : (padded - span) / strides[dim] + 1;
    if (padded < 0 || count > std::numeric_limits<int64_t>::max())
      return emitOpError("dim ") << dim << " of size " << size
                                 << " has a size out of range after padding";
    shape.push_back(int64_t(count));
  }
  return verifyReduced(*this, getInputs(), getInitValues(), shape);
}

LogicalResult ReduceWindowOp::verifyRegions() {
  return verifyReducer(*this, getInputs(), getBody());
}

//===----------------------------------------------------------------------===//
// sort, top_k
//===----------------------------------------------------------------------===//

LogicalResult SortOp::verify() {
  if (getInputs().empty())
    return emitOpError("expected at least 1 input, found 0");
  if (failed(expectCount(*this, getInputs().size(), "results", getNumResults())))
    return failure();
  auto first = cast<RankedTensorType>(getInputs().front().getType());
  int64_t rank = first.getRank(), dim = getDimension();
  if (dim < -rank || dim >= rank)
    return emitOpError("expected dimension to be ")
           << -rank << " to " << rank - 1 << ", found " << dim;
  for (auto [index, input, result] : llvm::enumerate(getInputs(), getResults()))
    if (failed(expectTensor(*this, "input " + Twine(index), first.getShape(),
                            getElement(input), input.getType())) ||
        failed(expectType(*this, "result " + Twine(index), input.getType(),
                          result.getType())))
      return failure();
  return success();
}

LogicalResult SortOp::verifyRegions() {
  SmallVector<Type> arguments;
  for (Value input : getInputs())
    arguments.append(2, getElement(input));
  return verifyBody(*this, getComparator(), arguments,
                    IntegerType::get(getContext(), 1));
}

LogicalResult chlo::TopKOp::verify() {
  RankedTensorType type = getOperand().getType();
  int64_t k = getK();
  if (type.getRank() < 1)
    return emitOpError("expected an operand of at least 1 dim, found ") << type;
  if (k < 0 || (!type.isDynamicDim(type.getRank() - 1) &&
                k > type.getShape().back()))
    return emitOpError("expected k to be 0 to ")
           << type.getShape().back() << ", found " << k;
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = k;
  if (failed(expectTensor(*this, "values", shape, type.getElementType(),
                          getValues().getType())))
    return failure();
  return expectTensor(*this, "indices", shape, IntegerType::get(getContext(), 32),
                      getIndices().getType());
}
