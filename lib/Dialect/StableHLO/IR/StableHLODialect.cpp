//===- StableHLODialect.cpp - the stablehlo input dialect -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.cpp.inc"

namespace {
/// Every op may be inlined: regions are values' business only.
struct StableHLOInliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Operation *, bool) const final { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void StableHLODialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "tsp/Dialect/StableHLO/IR/ElementwiseOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tsp/Dialect/StableHLO/IR/ShapeOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tsp/Dialect/StableHLO/IR/ReductionOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tsp/Dialect/StableHLO/IR/ControlFlowOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tsp/Dialect/StableHLO/IR/CollectiveOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tsp/Dialect/StableHLO/IR/RefusedOps.cpp.inc"
      >();
  addInterfaces<StableHLOInliner>();
}

Operation *StableHLODialect::materializeConstant(OpBuilder &builder,
                                                 Attribute value, Type type,
                                                 Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}

bool stablehlo::isElementwise(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() || isa<SelectOp, ClampOp>(op);
}

Operation *stablehlo::getSimpleReducer(Region &body) {
  if (!body.hasOneBlock() || body.getNumArguments() != 2)
    return nullptr;
  Block &block = body.front();
  if (block.empty() || std::distance(block.begin(), block.end()) != 2)
    return nullptr;
  Operation &op = block.front(), &terminator = block.back();
  bool returnsOp = isa<ReturnOp>(terminator) && op.getNumResults() == 1 &&
                   terminator.getNumOperands() == 1 &&
                   terminator.getOperand(0) == op.getResult(0);
  bool takesArguments = op.getNumOperands() == 2 && op.getNumRegions() == 0 &&
                        op.getOperand(0) == block.getArgument(0) &&
                        op.getOperand(1) == block.getArgument(1);
  return returnsOp && takesArguments ? &op : nullptr;
}
