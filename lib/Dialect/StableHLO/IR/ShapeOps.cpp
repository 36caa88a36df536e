//===- ShapeOps.cpp - StableHLO ops that move elements --------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AssemblyDirectives.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

#define GET_OP_CLASSES
#include "tsp/Dialect/StableHLO/IR/ShapeOps.cpp.inc"

void ConstantOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  bool isFloat = isa<FloatType>(getType().getElementType());
  setName(getOutput(), isFloat ? "cst" : "c");
}

void ConstantOp::build(OpBuilder &builder, OperationState &state,
                       ElementsAttr value) {
  build(builder, state, value.getType(), value);
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }
