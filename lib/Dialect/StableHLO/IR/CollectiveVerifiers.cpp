//===- CollectiveVerifiers.cpp - groups and shapes of collectives ---------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

/// Rows of different devices; -1 fills up rows of groups that are smaller.
static LogicalResult verifyGroups(Operation *op, DenseIntElementsAttr groups) {
  if (groups.getType().getRank() != 2)
    return op->emitOpError("expected replica_groups of 2 dims, found ")
           << groups.getType();
  llvm::SmallSet<int64_t, 16> seen;
  for (int64_t device : groups.getValues<int64_t>()) {
    if (device < -1)
      return op->emitOpError("expected devices in replica_groups to be at least 0, "
                             "found ")
             << device;
    if (device >= 0 && !seen.insert(device).second)
      return op->emitOpError("device ") << device << " is twice in replica_groups";
  }
  return success();
}

static int64_t getGroupSize(DenseIntElementsAttr groups) {
  return groups.getType().getDimSize(1);
}

/// The computation combines two elements of the operand into one.
static LogicalResult verifyComputation(Operation *op, ValueRange operands,
                                       Region &body) {
  if (operands.empty())
    return op->emitOpError("expected at least 1 operand, found 0");
  Type element = cast<RankedTensorType>(operands.front().getType()).getElementType();
  for (auto [index, operand] : llvm::enumerate(operands)) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (failed(expectTensor(op, "operand " + Twine(index), type.getShape(), element,
                            type)))
      return failure();
  }
  return verifyBody(op, body, {element, element}, element);
}

/// One result an operand, with dim `dim` multiplied and divided.
static LogicalResult verifyScaled(Operation *op, ValueRange operands, int64_t dim,
                                  int64_t times, int64_t parts) {
  if (failed(expectCount(op, operands.size(), "results", op->getNumResults())))
    return failure();
  for (auto [index, operand, result] : llvm::enumerate(operands, op->getResults())) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (failed(verifyDim(op, "the dim", dim, type.getRank())))
      return failure();
    SmallVector<int64_t> shape(type.getShape());
    if (!ShapedType::isDynamic(shape[dim])) {
      Wide scaled = Wide(shape[dim]) * times;
      if (parts < 1 || scaled % parts != 0 ||
          scaled / parts > std::numeric_limits<int64_t>::max())
        return op->emitOpError("dim ")
               << dim << " of size " << shape[dim]
               << " does not divide into groups of " << parts;
      shape[dim] = int64_t(scaled / parts);
    }
    if (failed(expectTensor(op, "result " + Twine(index), shape,
                            type.getElementType(), result.getType())))
      return failure();
  }
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (failed(verifyGroups(*this, getReplicaGroups())) ||
      failed(expectCount(*this, getOperands().size(), "results", getNumResults())))
    return failure();
  for (auto [index, operand, result] :
       llvm::enumerate(getOperandTypes(), getResultTypes()))
    if (failed(expectType(*this, "result " + Twine(index), operand, result)))
      return failure();
  return success();
}

LogicalResult AllReduceOp::verifyRegions() {
  return verifyComputation(*this, getOperands(), getComputation());
}

LogicalResult AllGatherOp::verify() {
  if (failed(verifyGroups(*this, getReplicaGroups())))
    return failure();
  return verifyScaled(*this, getOperands(), getAllGatherDim(),
                      getGroupSize(getReplicaGroups()), 1);
}

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyGroups(*this, getReplicaGroups())))
    return failure();
  return verifyScaled(*this, getOperand(), getScatterDimension(), 1,
                      getGroupSize(getReplicaGroups()));
}

LogicalResult ReduceScatterOp::verifyRegions() {
  return verifyComputation(*this, getOperand(), getComputation());
}

LogicalResult AllToAllOp::verify() {
  if (failed(verifyGroups(*this, getReplicaGroups())) ||
      failed(expectCount(*this, getOperands().size(), "results", getNumResults())))
    return failure();
  int64_t count = getSplitCount(), split = getSplitDimension(),
          concat = getConcatDimension();
  if (count != getGroupSize(getReplicaGroups()))
    return emitOpError("expected split_count to be the size of a group, ")
           << getGroupSize(getReplicaGroups()) << ", found " << count;
  for (auto [index, operand, result] : llvm::enumerate(getOperands(), getResults())) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (failed(verifyDim(*this, "split_dimension", split, type.getRank())) ||
        failed(verifyDim(*this, "concat_dimension", concat, type.getRank())))
      return failure();
    SmallVector<int64_t> shape(type.getShape());
    if (count < 1 || (!type.isDynamicDim(split) && shape[split] % count != 0))
      return emitOpError("dim ") << split << " of size " << shape[split]
                                 << " does not divide into " << count << " parts";
    if (!type.isDynamicDim(split))
      shape[split] /= count;
    if (!type.isDynamicDim(concat))
      shape[concat] *= count;
    if (failed(expectTensor(*this, "result " + Twine(index), shape,
                            type.getElementType(), result.getType())))
      return failure();
  }
  return success();
}

LogicalResult CollectivePermuteOp::verify() {
  DenseIntElementsAttr pairs = getSourceTargetPairs();
  if (pairs.getType().getRank() != 2 || pairs.getType().getDimSize(1) != 2)
    return emitOpError("expected source_target_pairs of type tensor<Nx2xi64>, found ")
           << pairs.getType();
  llvm::SmallSet<int64_t, 16> seen[2];
  for (auto [index, device] : llvm::enumerate(pairs.getValues<int64_t>())) {
    StringRef role = index % 2 ? "target" : "source";
    if (device < 0)
      return emitOpError("expected devices to be at least 0, found ") << device;
    if (!seen[index % 2].insert(device).second)
      return emitOpError("device ") << device << " is twice a " << role;
  }
  return success();
}

LogicalResult CollectiveBroadcastOp::verify() {
  return verifyGroups(*this, getReplicaGroups());
}
