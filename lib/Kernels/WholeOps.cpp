//===- WholeOps.cpp - ops that are computed as a whole --------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WholeOps.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;
namespace sh = tsp::stablehlo;

bool tsp::isWholeOp(Operation *op) {
  if (auto window = dyn_cast<sh::ReduceWindowOp>(op))
    return getScan(window).has_value();
  return isa<sh::ScatterOp, sh::SortOp, chlo::TopKOp>(op);
}

int64_t tsp::getWholeOpGrid(Operation *op) {
  if (auto window = dyn_cast<sh::ReduceWindowOp>(op))
    return getScanGrid(*getScan(window));
  if (isa<sh::ScatterOp>(op))
    return 1;
  return getSortGrid(op);
}

void tsp::emitWholeOp(ElementEmitter &emitter, ScratchPlan &scratch,
                      Operation *op, ArrayRef<Value> outputs, Value inPlace,
                      Value begin, Value end) {
  emitter.setLoc(op->getLoc());
  if (auto window = dyn_cast<sh::ReduceWindowOp>(op))
    return emitScan(emitter, scratch, *getScan(window), outputs, begin, end);
  if (isa<sh::ScatterOp>(op))
    return emitScatter(emitter, op, outputs, inPlace, begin, end);
  emitSort(emitter, scratch, op, outputs, begin, end);
}
