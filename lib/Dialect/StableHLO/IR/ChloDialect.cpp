//===- ChloDialect.cpp - the chlo input dialect ---------------------------===//
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
using namespace tsp::chlo;

#include "tsp/Dialect/StableHLO/IR/ChloDialect.cpp.inc"

#define GET_OP_CLASSES
#include "tsp/Dialect/StableHLO/IR/ChloOps.cpp.inc"

namespace {
struct ChloInliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void CHLODialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "tsp/Dialect/StableHLO/IR/ChloOps.cpp.inc"
      >();
  addInterfaces<ChloInliner>();
}

Operation *CHLODialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return stablehlo::ConstantOp::create(builder, loc, elements);
}
