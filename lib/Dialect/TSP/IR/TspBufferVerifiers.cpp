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
    return emitOpError("(buffer_copy_c1) expected buffers of equal element "
                       "type and count, found ")
           << from << " and " << to;
  return success();
}

template <typename OpTy> static LogicalResult verifyTransfer(OpTy op) {
  auto from = cast<MemRefType>(op.getSource().getType()),
       to = cast<MemRefType>(op.getTarget().getType());
  if (from.getElementType() != to.getElementType() ||
      from.getRank() != to.getRank())
    return op.emitOpError("(buffer_transfer_c1) expected buffers of equal "
                          "element type and number of dims, found ")
           << from << " and " << to;
  return success();
}

LogicalResult BufferAllGatherOp::verify() { return verifyTransfer(*this); }
LogicalResult BufferReduceScatterOp::verify() { return verifyTransfer(*this); }
LogicalResult BufferAllReduceOp::verify() { return verifyTransfer(*this); }
LogicalResult BufferAllToAllOp::verify() { return verifyTransfer(*this); }
LogicalResult BufferBroadcastOp::verify() { return verifyTransfer(*this); }
LogicalResult BufferSendRecvOp::verify() { return verifyTransfer(*this); }
