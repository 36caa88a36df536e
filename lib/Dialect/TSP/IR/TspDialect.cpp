//===- TspDialect.cpp - the tsp dialect -----------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/TSP/IR/TspDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tsp;

#include "tsp/Dialect/TSP/IR/TspDialect.cpp.inc"
#include "tsp/Dialect/TSP/IR/TspEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "tsp/Dialect/TSP/IR/TspAttrs.cpp.inc"

void TspDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tsp/Dialect/TSP/IR/TspAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tsp/Dialect/TSP/IR/TspOps.cpp.inc"
      >();
}
