//===- ShardingRule.cpp - factors, placements and local forms -------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Sharding/ShardingRule.h"
#include "LocalOps.h"
#include "Rules.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tsp;

#include "tsp/Sharding/ShardingRuleInterface.cpp.inc"

int64_t ShardingRule::minorSize(const DimFactors &dim) const {
  int major = majorFactor(dim);
  int64_t size = 1;
  bool after = false;
  for (int f : dim) {
    if (after)
      size *= factors[f].size;
    after |= f == major;
  }
  return size;
}

Placement tsp::placementOf(const ShardingRule &rule,
                           const ShardingRule::ValueFactors &value,
                           const Assignment &assignment) {
  Placement placement(value.size());
  for (auto [dim, shard] : llvm::zip(value, placement.dims)) {
    int major = rule.majorFactor(dim);
    if (major < 0)
      continue;
    shard = assignment[major];
    shard.chunk *= rule.minorSize(dim);
  }
  return placement;
}

Pieces LocalContext::piecesOf(Location loc, int f, int64_t scale) {
  if (f < 0 || assignment[f].isWhole())
    return {};
  DimShard shard = assignment[f];
  if (shard.fold >= 0) {
    int64_t total = rule.factors[f].size * scale;
    return {localSize(shard, total),
            {partOffset(builder, loc, part, shard, total)}};
  }
  shard.chunk *= scale;
  return tsp::piecesOf(builder, loc, shard, mesh);
}

FailureOr<SmallVector<Value>> tsp::localizeByClone(Operation *op,
                                                   LocalContext &context) {
  // One value may have different placements as different operands.
  Operation *local = context.builder.clone(*op);
  local->setOperands(context.operands);
  for (auto [result, type] :
       llvm::zip(local->getResults(), context.resultTypes))
    result.setType(type);
  return SmallVector<Value>(local->getResults());
}

void tsp::registerShardingRules(DialectRegistry &registry) {
  registerElementwiseRules(registry);
  registerShapeRules(registry);
  registerReductionRules(registry);
  registerIndexingRules(registry);
  registerAttentionRules(registry);
}
