//===- Verification.cpp - checks that many verifiers share ----------------===//
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

LogicalResult stablehlo::expectType(Operation *op, const Twine &what,
                                    Type expected, Type found) {
  if (expected == found)
    return success();
  auto lhs = dyn_cast<RankedTensorType>(expected);
  auto rhs = dyn_cast<RankedTensorType>(found);
  if (lhs && rhs && lhs.getElementType() == rhs.getElementType() &&
      succeeded(verifyCompatibleShape(lhs, rhs)))
    return success();
  return op->emitOpError("expected ")
         << what << " of type " << expected << ", found " << found;
}

LogicalResult stablehlo::expectTensor(Operation *op, const Twine &what,
                                      ArrayRef<int64_t> shape, Type elementType,
                                      Type found) {
  return expectType(op, what, RankedTensorType::get(shape, elementType), found);
}

LogicalResult stablehlo::expectCount(Operation *op, int64_t expected,
                                     StringRef what, int64_t found) {
  if (expected == found)
    return success();
  return op->emitOpError("expected ")
         << expected << " " << what << ", found " << found;
}

LogicalResult stablehlo::verifyDim(Operation *op, StringRef name, int64_t dim,
                                   int64_t rank) {
  if (dim >= 0 && dim < rank)
    return success();
  return op->emitOpError("expected ")
         << name << " to be at least 0 and less than " << rank << ", found " << dim;
}

LogicalResult stablehlo::verifyDims(Operation *op, StringRef name,
                                    ArrayRef<int64_t> dims, int64_t rank,
                                    bool sorted) {
  llvm::SmallSet<int64_t, 8> seen;
  for (int64_t dim : dims) {
    if (failed(verifyDim(op, name, dim, rank)))
      return failure();
    if (!seen.insert(dim).second)
      return op->emitOpError("dim ") << dim << " is twice in " << name;
  }
  if (sorted && !llvm::is_sorted(dims))
    return op->emitOpError("expected ")
           << name << " in ascending order, found [" << dims << "]";
  return success();
}

LogicalResult stablehlo::expectSameSize(Operation *op, const Twine &lhs,
                                        int64_t lhsSize, const Twine &rhs,
                                        int64_t rhsSize) {
  if (lhsSize == rhsSize || ShapedType::isDynamic(lhsSize) ||
      ShapedType::isDynamic(rhsSize))
    return success();
  return op->emitOpError("expected ")
         << lhs << " and " << rhs << " to have one size, found " << lhsSize
         << " and " << rhsSize;
}

LogicalResult stablehlo::verifyRegionTypes(Operation *op, const Twine &name,
                                           Region &region, TypeRange arguments,
                                           TypeRange results) {
  auto expectTypes = [&](StringRef what, TypeRange expected,
                         TypeRange found) -> LogicalResult {
    if (expected.size() != found.size())
      return op->emitOpError("expected ")
             << name << " to have " << expected.size() << " " << what
             << ", found " << found.size();
    for (auto [index, lhs, rhs] : llvm::enumerate(expected, found))
      if (failed(expectType(op, Twine(what.drop_back()) + " " + Twine(index) +
                                    " of " + name,
                            lhs, rhs)))
        return failure();
    return success();
  };
  auto returned = dyn_cast<ReturnOp>(region.front().back());
  if (!returned)
    return op->emitOpError("expected ") << name << " to end in stablehlo.return";
  return success(
      succeeded(expectTypes("arguments", arguments, region.getArgumentTypes())) &&
      succeeded(expectTypes("results", results, returned.getOperandTypes())));
}

LogicalResult stablehlo::verifyBody(Operation *op, Region &body,
                                    ArrayRef<Type> arguments,
                                    ArrayRef<Type> results) {
  auto scalars = [](ArrayRef<Type> elements) {
    return llvm::map_to_vector(elements, [](Type element) -> Type {
      return RankedTensorType::get({}, element);
    });
  };
  return verifyRegionTypes(op, "the body", body, scalars(arguments),
                           scalars(results));
}
