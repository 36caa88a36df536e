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

static bool isEven(const Factor &factor, const DimShard &shard, MeshAttr mesh) {
  return shard.chunk * ranksOf(shard, mesh) == factor.size;
}

bool tsp::isExpressible(const ShardingRule &rule,
                        const ShardingRule::ValueFactors &value,
                        const Assignment &assignment, MeshAttr mesh) {
  for (const auto &dim : value) {
    // Alone and major: any split. Else even ones, and no fold.
    bool beyondMajor = false, even = true, folded = false;
    for (int f : dim) {
      const DimShard &shard = assignment[f];
      if (shard.isWhole())
        continue;
      beyondMajor |= f != rule.majorFactor(dim);
      folded |= shard.fold >= 0;
      even &= shard.isSharded() && isEven(rule.factors[f], shard, mesh);
    }
    if (beyondMajor && (folded || !even))
      return false;
  }
  return true;
}

Placement tsp::placementOf(const ShardingRule &rule,
                           const ShardingRule::ValueFactors &value,
                           const Assignment &assignment) {
  Placement placement(value.size());
  for (auto [dim, result] : llvm::zip(value, placement.dims)) {
    int64_t local = 1; // of the factors so far
    for (int f : dim) {
      const DimShard &shard = assignment[f];
      if (shard.fold >= 0)
        result = shard;
      for (AxisSplit split : shard.axes) {
        split.blocks *= local;
        result.axes.push_back(split);
      }
      local *= localSize(shard, rule.factors[f].size);
    }
    if (result.isSharded())
      result.chunk = local;
  }
  return placement;
}

FailureOr<Assignment> tsp::assignmentOf(const ShardingRule &rule,
                                        const ShardingRule::DimFactors &dim,
                                        const DimShard &shard, MeshAttr mesh) {
  Assignment assignment(dim.size());
  int major = rule.majorFactor(dim);
  if (shard.isWhole() || major < 0)
    return assignment;
  // Each split is of the factor that its blocks leave to it.
  SmallVector<int64_t> local;
  for (int f : dim)
    local.push_back(rule.factors[f].size);
  bool even = shard.isSharded();
  for (AxisSplit split : shard.axes) {
    size_t i = 0;
    for (; i < dim.size() && split.blocks % local[i] == 0; ++i)
      split.blocks /= local[i];
    int64_t ranks = mesh.getSizes()[split.axis];
    even &= i < dim.size() &&
            local[i] % (ranks * split.blocks * split.chunks()) == 0;
    if (!even)
      break;
    assignment[i].axes.push_back(split);
    assignment[i].chunk = local[i] /= ranks;
  }
  int64_t size = 1;
  for (int64_t n : local)
    size *= n;
  if (even && size == shard.chunk)
    return assignment;
  // Along the major factor, in whole elements of it.
  int64_t minor = rule.minorSize(dim);
  if (shard.hasBlocks() ||
      (shard.isSharded() && shard.chunk / shard.chunks() % minor != 0))
    return failure();
  assignment.assign(dim.size(), DimShard());
  DimShard &own = assignment[llvm::find(dim, major) - dim.begin()];
  own = shard;
  own.chunk /= minor;
  return assignment;
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
