//===- WholeOps.cpp - ops that are computed as a whole --------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WholeOps.h"

using namespace mlir;
using namespace tsp;

bool tsp::isWholeOp(Operation *op) { return false; }

int64_t tsp::getWholeOpGrid(Operation *op) { return 1; }

void tsp::emitWholeOp(ElementEmitter &emitter, ScratchPlan &scratch,
                      Operation *op, ArrayRef<Value> outputs, Value inPlace,
                      Value begin, Value end) {}
