//===- DeviceWholeOps.cpp - ops that a GPU computes as a whole ------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceWholeOps.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;

int64_t tsp::emitDeviceWholeOp(BlockCode &code, Operation *op,
                               ArrayRef<Value> outputs, Value inPlace) {
  code.emitter.setLoc(op->getLoc());
  if (isa<stablehlo::ReduceWindowOp>(op))
    return emitDeviceScan(code, *getScan(op), outputs);
  if (isa<stablehlo::ScatterOp>(op))
    return emitDeviceScatter(code, op, outputs, inPlace);
  return emitDeviceSort(code, op, outputs);
}
