//===- ControlFlowVerifiers.cpp - types of regions and calls --------------===//
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

/// Values that go out as they came in.
static LogicalResult verifySameTypes(Operation *op) {
  if (failed(expectCount(op, op->getNumOperands(), "results", op->getNumResults())))
    return failure();
  for (auto [index, operand, result] :
       llvm::enumerate(op->getOperandTypes(), op->getResultTypes()))
    if (failed(expectType(op, "result " + Twine(index), operand, result)))
      return failure();
  return success();
}

LogicalResult OptimizationBarrierOp::verify() { return verifySameTypes(*this); }

LogicalResult WhileOp::verify() { return verifySameTypes(*this); }

LogicalResult WhileOp::verifyRegions() {
  Type condition = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  return success(
      succeeded(verifyRegionTypes(*this, "the condition", getCond(),
                                  getOperandTypes(), condition)) &&
      succeeded(verifyRegionTypes(*this, "the body", getBody(), getOperandTypes(),
                                  getOperandTypes())));
}

LogicalResult CaseOp::verify() {
  if (getBranches().empty())
    return emitOpError("expected at least 1 branch, found 0");
  return success();
}

LogicalResult CaseOp::verifyRegions() {
  for (auto [index, branch] : llvm::enumerate(getBranches()))
    if (failed(verifyRegionTypes(*this, "branch " + Twine(index), branch, {},
                                 getResultTypes())))
      return failure();
  return success();
}

LogicalResult IfOp::verifyRegions() {
  return success(succeeded(verifyRegionTypes(*this, "the true branch",
                                             getTrueBranch(), {}, getResultTypes())) &&
                 succeeded(verifyRegionTypes(*this, "the false branch",
                                             getFalseBranch(), {},
                                             getResultTypes())));
}

LogicalResult RngBitGeneratorOp::verify() {
  RankedTensorType state = getInitialState().getType();
  if (failed(expectType(*this, "output_state", state, getOutputState().getType())))
    return failure();
  bool isThreefry = getRngAlgorithm() == RngAlgorithm::THREE_FRY;
  bool isPair = state.getRank() == 1 && state.getElementType().isUnsignedInteger(64) &&
                (state.getDimSize(0) == 2 ||
                 (state.getDimSize(0) == 3 && !isThreefry));
  if (isPair || ShapedType::isDynamicShape(state.getShape()))
    return success();
  return emitOpError("expected an initial_state of type tensor<2xui64>, found ")
         << state;
}
