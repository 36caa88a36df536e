//===- ScratchPlan.cpp - temporaries in a piece of memory -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScratchPlan.h"

#include "tsp/Kernels/Kernels.h"

using namespace mlir;
using namespace tsp;

int64_t ScratchPlan::getBytes(int64_t count, Type elementType) {
  unsigned bits = getStorageType(elementType).getIntOrFloatBitWidth();
  return llvm::alignTo(count * llvm::divideCeil(bits, 8), 64);
}

Value ScratchPlan::allocate(ElementEmitter &emitter, int64_t count,
                            Type elementType) {
  OpBuilder &builder = emitter.getBuilder();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(scratch);
  Value offset = emitter.constantIndex(bytes);
  bytes += getBytes(count, elementType);
  peak = std::max(peak, bytes);
  auto type = MemRefType::get(
      {count}, getStorageType(elementType), MemRefLayoutAttrInterface(),
      cast<MemRefType>(scratch.getType()).getMemorySpace());
  return memref::ViewOp::create(builder, emitter.getLoc(), type, scratch,
                                offset, ValueRange{});
}
