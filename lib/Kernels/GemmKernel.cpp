//===- GemmKernel.cpp - kernels that are a matrix product -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmKernel.h"
#include "GemmPrologue.h"
#include "Reductions.h"
#include "WholeOps.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace tsp;

/// The element types that generators round sums to.
static bool canRound(Type type) {
  return type.isF64() || type.isF32() || type.isF16() || type.isBF16();
}

/// Whether a kernel may have values of this type on the way from sums of type
/// `compute` to its result.
static bool canFollow(Type type, Type compute) {
  return canRound(type) || type == compute;
}

namespace {

/// What happens to a product on its way to the kernel's result: element types
/// it is rounded to, and where its dims end up.
struct ResultChain {
  SmallVector<Type> types;
  SmallVector<StridedDim> dims; ///< of the dot in the result's buffer
};

/// Follows the result of a kernel up to its dot_general.
std::optional<ResultChain>
followResult(Value result, stablehlo::DotGeneralOp dot, Type compute) {
  auto type = cast<RankedTensorType>(result.getType());
  ResultChain chain{{}, rowMajorDims(type.getShape())};
  while (result.getDefiningOp() != dot) {
    Operation *op = result.getDefiningOp();
    if (!isa_and_nonnull<stablehlo::ConvertOp, stablehlo::TransposeOp,
                         stablehlo::ReshapeOp>(op))
      return std::nullopt;
    Value operand = op->getOperand(0);
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(operand.getType()).getShape();
    if (isa<stablehlo::ConvertOp>(op)) {
      chain.types.push_back(getElementTypeOrSelf(result.getType()));
    } else if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
      SmallVector<StridedDim> dims(shape.size());
      for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
        dims[dim] = chain.dims[i];
      chain.dims = dims;
    } else {
      auto dims = reshapeDims(chain.dims, shape);
      if (!dims)
        return std::nullopt;
      chain.dims = *dims;
    }
    result = operand;
  }
  chain.types.push_back(getElementTypeOrSelf(result.getType()));
  std::reverse(chain.types.begin(), chain.types.end());
  if (!llvm::all_of(chain.types,
                    [&](Type type) { return canFollow(type, compute); }))
    return std::nullopt;
  return chain;
}

/// Walks from results up to a dot_general.
class EpilogueCheck {
public:
  explicit EpilogueCheck(stablehlo::DotGeneralOp dot) : dot(dot) {}

  bool holds(Value value) {
    auto [it, isNew] = known.try_emplace(value, true);
    if (isNew)
      known[value] = compute(value);
    return known[value];
  }

private:
  bool compute(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op == dot)
      return true;
    if (isReduction(op) || isWholeOp(op))
      return false;
    bool reads = llvm::any_of(op->getOperands(),
                              [&](Value operand) { return needsDot(operand); });
    if (reads && !stablehlo::isElementwise(op))
      return false;
    for (Value operand : op->getOperands()) {
      if (!holds(operand))
        return false;
      if (needsDot(operand) &&
          cast<RankedTensorType>(operand.getType()).getShape() !=
              dot.getType().getShape())
        return false;
    }
    return true;
  }

  bool needsDot(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op == dot)
      return op == dot;
    auto [it, isNew] = needs.try_emplace(value, false);
    if (isNew) {
      bool result = llvm::any_of(
          op->getOperands(), [&](Value operand) { return needsDot(operand); });
      needs[value] = result;
    }
    return needs[value];
  }

  stablehlo::DotGeneralOp dot;
  DenseMap<Value, bool> known, needs;
};
} // namespace

/// Whether each element of each result is computed from the element of `dot` at
/// the same place and from what is in memory.
static bool isEpilogue(ValueRange results, stablehlo::DotGeneralOp dot,
                       Type compute) {
  EpilogueCheck check(dot);
  return canFollow(dot.getType().getElementType(), compute) &&
         llvm::all_of(results, [&](Value result) {
           return cast<RankedTensorType>(result.getType()).getShape() ==
                      dot.getType().getShape() &&
                  check.holds(result);
         });
}

std::optional<GemmKernel> tsp::matchGemmKernel(func::FuncOp function,
                                               bool takesBytes) {
  if (!llvm::hasSingleElement(function.getBody()))
    return std::nullopt;
  Block &body = function.getBody().front();
  auto dots = body.getOps<stablehlo::DotGeneralOp>();
  if (!llvm::hasSingleElement(dots))
    return std::nullopt;
  GemmKernel kernel;
  kernel.dot = *dots.begin();
  for (Type type :
       {kernel.dot.getLhs().getType(), kernel.dot.getRhs().getType(),
        kernel.dot.getResult().getType()}) {
    auto ranked = cast<RankedTensorType>(type);
    if (!ranked.hasStaticShape() || ranked.getNumElements() == 0)
      return std::nullopt;
  }
  Type compute = dotComputeType(kernel.dot);
  if (!compute && takesBytes && isProductOfBytes(kernel.dot))
    compute = IntegerType::get(function.getContext(), 32);
  if (!compute)
    return std::nullopt;

  ValueRange results = body.getTerminator()->getOperands();
  SmallVector<StridedDim> dims = rowMajorDims(kernel.dot.getType().getShape());
  std::optional<ResultChain> chain;
  if (results.size() == 1)
    chain = followResult(results.front(), kernel.dot, compute);
  if (chain) {
    dims = chain->dims;
    kernel.roundings = chain->types;
  } else if (!isEpilogue(results, kernel.dot, compute)) {
    return std::nullopt;
  }
  kernel.product = takeApart(kernel.dot, compute, dims);
  kernel.a = dyn_cast<BlockArgument>(kernel.product.baseA);
  kernel.b = dyn_cast<BlockArgument>(kernel.product.baseB);
  if (!isPrologue(kernel.product.baseA) || !isPrologue(kernel.product.baseB))
    return std::nullopt;
  return kernel;
}
