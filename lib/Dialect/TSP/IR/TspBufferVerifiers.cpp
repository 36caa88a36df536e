//===- TspBufferVerifiers.cpp - verifiers of the buffer ops ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/TSP/IR/TspDialect.h"

using namespace mlir;
using namespace tsp;

LogicalResult BufferCopyOp::verify() {
  auto from = cast<MemRefType>(getSource().getType()),
       to = cast<MemRefType>(getTarget().getType());
  if (from.getElementType() != to.getElementType() ||
      from.getNumElements() != to.getNumElements())
    return emitOpError(
               "expected buffers of equal element type and count, found ")
           << from << " and " << to;
  return success();
}
