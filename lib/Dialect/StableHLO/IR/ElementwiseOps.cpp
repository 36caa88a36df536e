//===- ElementwiseOps.cpp - elementwise ops of StableHLO ------------------===//
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
#include "tsp/Dialect/StableHLO/IR/ElementwiseOps.cpp.inc"

void CompareOp::build(OpBuilder &builder, OperationState &state, Value lhs,
                      Value rhs, ComparisonDirection direction) {
  auto type = cast<RankedTensorType>(lhs.getType());
  Type element = type.getElementType();
  ComparisonType order = isa<FloatType>(element) ? ComparisonType::FLOAT
                         : element.isUnsignedInteger() || element.isInteger(1)
                             ? ComparisonType::UNSIGNED
                             : ComparisonType::SIGNED;
  MLIRContext *ctx = builder.getContext();
  build(builder, state, type.clone(builder.getI1Type()), lhs, rhs,
        ComparisonDirectionAttr::get(ctx, direction),
        ComparisonTypeAttr::get(ctx, order));
}
