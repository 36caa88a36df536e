//===- Partials.cpp - partial results of ranks become whole ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalOps.h"
#include "Localize.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

/// The pairs of all ranks, reduced once more by the op that gave them.
static SmallVector<Value> mergeArgMax(OpBuilder &b, Location loc,
                                      ReduceOp partial, StringAttr axis,
                                      int64_t ranks) {
  SmallVector<Value> operands;
  for (Value value : partial->getResults()) {
    SmallVector<int64_t> shape{1};
    llvm::append_range(shape, typeOf(value).getShape());
    Value own = reshape(b, loc, value, shape);
    shape[0] = ranks;
    operands.push_back(tsp::AllGatherOp::create(
        b, loc, RankedTensorType::get(shape, typeOf(value).getElementType()),
        own, axis,
        /*dim=*/0, ranks, /*unit=*/1, Layout::Contiguous, CodecAttr()));
  }
  llvm::append_range(operands, partial.getInitValues());
  auto merged = cast<ReduceOp>(b.clone(*partial));
  merged->setOperands(operands);
  merged.setDimensions({0});
  return SmallVector<Value>(merged->getResults());
}

SmallVector<Value> tsp::combineOverAxis(OpBuilder &b, Location loc,
                                        ValueRange partials,
                                        CombineKind combine, StringAttr axis,
                                        int64_t ranks) {
  switch (combine) {
  case CombineKind::ArgMax:
    return mergeArgMax(b, loc, partials[0].getDefiningOp<ReduceOp>(), axis,
                       ranks);
  case CombineKind::Lse:
    break; // written by the op's localize, which needs the maximum of all first
  case CombineKind::Sum:
  case CombineKind::Max:
  case CombineKind::Min:
    return llvm::map_to_vector(partials, [&](Value partial) -> Value {
      return tsp::AllReduceOp::create(b, loc, partial.getType(), partial, axis,
                                      combine, CodecAttr());
    });
  }
  llvm_unreachable("no partial results of ranks have this combine");
}
