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

#define GET_TYPEDEF_CLASSES
#include "tsp/Dialect/TSP/IR/TspTypes.cpp.inc"

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> axes,
                               ArrayRef<int64_t> sizes) {
  if (axes.size() != sizes.size())
    return emitError() << "expected a size for each of " << axes.size()
                       << " mesh axes, found " << sizes.size();
  llvm::SmallDenseSet<StringAttr> seen;
  for (auto [axis, size] : llvm::zip(axes, sizes)) {
    if (size < 1)
      return emitError() << "expected mesh axis " << axis
                         << " to have a size of at least 1, found " << size;
    if (!seen.insert(axis).second)
      return emitError() << "mesh axis " << axis << " is given twice";
  }
  return success();
}

int64_t MeshAttr::getAxisIndex(StringRef axis) const {
  for (auto [i, name] : llvm::enumerate(getAxes()))
    if (name.getValue() == axis)
      return i;
  return -1;
}

int64_t MeshAttr::getAxisSize(StringRef axis) const {
  int64_t index = getAxisIndex(axis);
  return index < 0 ? 0 : getSizes()[index];
}

int64_t MeshAttr::getNumRanks() const {
  int64_t ranks = 1;
  for (int64_t size : getSizes())
    ranks *= size;
  return ranks;
}

void TspDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "tsp/Dialect/TSP/IR/TspTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tsp/Dialect/TSP/IR/TspAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tsp/Dialect/TSP/IR/TspOps.cpp.inc"
      >();
}
