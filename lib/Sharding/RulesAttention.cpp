//===- RulesAttention.cpp - rule of the attention core --------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalOps.h"
#include "Rules.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::stablehlo;

namespace {

// Numbers of the factors of tsp.sdpa.
enum { Batch, Queries, KvHeads, Group, Keys, HeadSize, ValueSize };

/// Partial attentions over shards of the keys, merged by log-sum-exp over the
/// ranks of `shard`: with m = max over ranks of lse and w = exp(lse - m),
/// o = sum w o / sum w, lse = m + log sum w. Rows that see no key on any rank
/// get w = 1, which gives the mean of equal shards' means (and NaN or 0 of
/// `nan` and `zero` rows).
SmallVector<Value> mergePartials(OpBuilder &b, Location loc, Value o, Value lse,
                                 const DimShard &shard, MeshAttr mesh) {
  RankedTensorType full = typeOf(o), type = typeOf(lse);
  auto reduce = [&](Value value, CombineKind kind) -> Value {
    for (const AxisSplit &split : shard.axes)
      value = tsp::AllReduceOp::create(b, loc, value.getType(), value,
                                       mesh.getAxes()[split.axis], kind,
                                       CodecAttr());
    return value;
  };
  Value m = reduce(lse, CombineKind::Max);
  Value finite = CompareOp::create(
      b, loc, m, splat(b, loc, type, -std::numeric_limits<double>::infinity()),
      ComparisonDirection::GT);
  Value shift = subtract(b, loc, lse, m);
  Value zero = splat(b, loc, type, 0);
  Value w = ExpOp::create(b, loc, type, select(b, loc, finite, shift, zero));
  Value total = reduce(w, CombineKind::Sum);
  auto wide = RankedTensorType::get(full.getShape(), type.getElementType());
  SmallVector<int64_t> lead{0, 1, 2};
  Value weighted = o;
  if (full != wide)
    weighted = ConvertOp::create(b, loc, wide, o);
  weighted = MulOp::create(b, loc, wide, weighted,
                           broadcast(b, loc, w, full.getShape(), lead));
  // 0 times the NaN of a rank whose part of a row is empty must stay 0.
  Value absent = broadcast(
      b, loc,
      AndOp::create(
          b, loc, RankedTensorType::get(type.getShape(), b.getI1Type()), finite,
          CompareOp::create(b, loc, w, zero, ComparisonDirection::EQ)),
      full.getShape(), lead);
  weighted = select(b, loc, absent, splat(b, loc, wide, 0), weighted);
  Value sum = reduce(weighted, CombineKind::Sum);
  Value out = DivOp::create(b, loc, wide, sum,
                            broadcast(b, loc, total, full.getShape(), lead));
  if (full != wide)
    out = ConvertOp::create(b, loc, full, out);
  Value logTotal = LogOp::create(b, loc, type, total);
  Value lseOut = select(b, loc, finite, add(b, loc, m, logTotal), m);
  return {out, lseOut};
}

struct SdpaRule : RuleModel<SdpaRule, SdpaOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto sdpa = cast<SdpaOp>(op);
    RankedTensorType q = typeOf(sdpa.getQ()), k = typeOf(sdpa.getK()),
                     v = typeOf(sdpa.getV());
    ShardingRule rule;
    int64_t sizes[] = {q.getDimSize(0), q.getDimSize(1),
                       k.getDimSize(2), q.getDimSize(2) / k.getDimSize(2),
                       k.getDimSize(1), q.getDimSize(3),
                       v.getDimSize(3)};
    FactorKind kinds[] = {FactorKind::Parallel, FactorKind::Parallel,
                          FactorKind::Parallel, FactorKind::Whole,
                          FactorKind::Special,  FactorKind::Whole,
                          FactorKind::Whole};
    // Query heads of one key head stay together, unless there is but one.
    if (sizes[KvHeads] == 1)
      kinds[Group] = FactorKind::Parallel;
    for (auto [size, kind] : llvm::zip(sizes, kinds))
      rule.addFactor(size, kind);
    rule.factors[Keys].evenOnly = true;
    auto like = [&](Value operand, ArrayRef<ShardingRule::DimFactors> dims) {
      if (!operand)
        return;
      ShardingRule::ValueFactors factors;
      RankedTensorType type = typeOf(operand);
      for (auto [size, dim] :
           llvm::zip(type.getShape(), dims.take_back(type.getRank())))
        factors.push_back(size == 1 ? ShardingRule::DimFactors{} : dim);
      rule.operands.push_back(factors);
    };
    like(sdpa.getQ(), {{Batch}, {Queries}, {KvHeads, Group}, {HeadSize}});
    like(sdpa.getK(), {{Batch}, {Keys}, {KvHeads}, {HeadSize}});
    like(sdpa.getV(), {{Batch}, {Keys}, {KvHeads}, {ValueSize}});
    for (Value scores : {sdpa.getBias(), sdpa.getMask()})
      like(scores, {{Batch}, {KvHeads, Group}, {Queries}, {Keys}});
    like(sdpa.getQPositions(), {{Batch}, {Queries}});
    like(sdpa.getKvPositions(), {{Batch}, {Keys}});
    like(sdpa.getQSegments(), {{Batch}, {Queries}});
    like(sdpa.getKvSegments(), {{Batch}, {Keys}});
    rule.results = {{{Batch}, {Queries}, {KvHeads, Group}, {ValueSize}},
                    {{Batch}, {Queries}, {KvHeads, Group}}};
    return rule;
  }

  FailureOr<SmallVector<Value>> localize(Operation *op,
                                         LocalContext &context) const {
    auto results = localizeByClone(op, context);
    const DimShard &keys = context.assignment[Keys];
    if (keys.isWhole())
      return results;
    return mergePartials(context.builder, op->getLoc(), (*results)[0],
                         (*results)[1], keys, context.mesh);
  }
};

} // namespace

void tsp::registerAttentionRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TspDialect *) {
    SdpaOp::attachInterface<SdpaRule>(*context);
  });
}
