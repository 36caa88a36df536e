//===- ScatterInSteps.cpp - partial results for other ranks ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rank looks up the rows that it has for the tokens of all ranks, and each
// gets its own tokens' sums: at once that is a result as large as that of one
// rank alone. In steps, each on a slice of every rank's tokens, the same bytes
// move and no more than about one rank's share is there.
//
//   ids [B, S/D] -> all_gather [B, S] -> rows [B, S, h] -> reduce_scatter
//
//   for g in 0..D:
//     ids [B, S/D][g] -> all_gather [B, S/D] -> rows [B, S/D, h] ->
//     reduce_scatter [B, S/D/D, h] -> slice g of [B, S/D, h]
//
//===----------------------------------------------------------------------===//

#include "LocalOps.h"
#include "Localize.h"

using namespace mlir;
using namespace tsp;

/// Results up to this many bytes are made at once.
static constexpr int64_t kSmallResult = int64_t(1) << 20;

/// The dim of an operand that is made of `factor` alone, or -1; none if the
/// factor is but a part of a dim.
static std::optional<int64_t> dimOfFactor(const ShardingRule::ValueFactors &dims,
                                          int factor) {
  int64_t found = -1;
  for (auto [d, dim] : llvm::enumerate(dims)) {
    if (!llvm::is_contained(dim, factor))
      continue;
    if (dim.size() != 1)
      return std::nullopt;
    found = d;
  }
  return found;
}

int64_t Localizer::scatterAtOnce(Operation *op, const OpPlan &opPlan,
                                 const Scope &scope) const {
  if (scope.fold >= 0 || opPlan.partial.size() != 1 ||
      opPlan.partial[0].scatterDim < 0 || op->getNumResults() != 1)
    return 0;
  int64_t d = opPlan.partial[0].scatterDim;
  const ShardingRule::DimFactors &factors = opPlan.rule.results[0][d];
  const DimShard &shard = opPlan.results[0].dims[d];
  AxisSplit split = shard.axes.back();
  if (factors.size() != 1 || split.blocks != 1)
    return 0;
  // What has the factor must lie as the result will, to be gathered by slices.
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    std::optional<int64_t> dim =
        dimOfFactor(opPlan.rule.operands[i], factors[0]);
    if (dim == -1)
      continue;
    const Placed *placed = lookup(operand, scope);
    if (!dim || !placed || placed->partial)
      return 0;
    Placement held = opPlan.operands[i];
    held.dims[*dim] = shard;
    if (placed->placement != held)
      return 0;
  }
  RankedTensorType local =
      localType(typeOf(op->getResult(0)), opPlan.results[0]);
  int64_t bytes = local.getNumElements() *
                  llvm::divideCeil(local.getElementTypeBitWidth(), 8);
  int64_t ranks = mesh.getSizes()[split.axis];
  if (bytes * ranks <= kSmallResult)
    return 0;
  int64_t units = shard.chunk / split.chunks();
  int64_t most = std::max(bytes, kSmallResult) / (bytes / units * ranks);
  most = std::clamp<int64_t>(most, 1, units);
  if (most == units)
    return 0;
  // Steps of one size, unless that makes many of them.
  int64_t even = most;
  while (units % even != 0)
    --even;
  return (4 * even >= most ? even : most) * split.chunks();
}

LogicalResult Localizer::emitScatterInSteps(Operation *op, const OpPlan &opPlan,
                                            int64_t size, Scope &scope) {
  int64_t d = opPlan.partial[0].scatterDim;
  int factor = opPlan.rule.results[0][d][0];
  const DimShard &shard = opPlan.results[0].dims[d];
  AxisSplit split = shard.axes.back();
  StringAttr axis = mesh.getAxes()[split.axis];
  Location loc = op->getLoc();
  RankedTensorType type =
      localType(typeOf(op->getResult(0)), opPlan.results[0]);
  auto resized = [](RankedTensorType type, int64_t dim, int64_t size) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = size;
    return type.clone(shape);
  };

  // The results of `size` local elements from `offset` on.
  auto emitStep = [&](Scope &inner, Value offset,
                      int64_t size) -> FailureOr<Value> {
    OpBuilder &b = inner.builder;
    int64_t total = size * mesh.getSizes()[split.axis];
    SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      Placement held = opPlan.operands[i];
      int64_t dim = *dimOfFactor(opPlan.rule.operands[i], factor);
      if (dim >= 0)
        held.dims[dim] = shard;
      Value value = get(operand, held, scope, op);
      if (!value)
        return failure();
      if (dim >= 0) {
        value = sliceAt(b, loc, value, dim, offset, size);
        value = AllGatherOp::create(
            b, loc, resized(typeOf(value), dim, total), value, axis, dim,
            total, /*unit=*/1, split.layout, CodecAttr());
      }
      operands.push_back(value);
    }
    OpPlan ofStep = opPlan;
    ofStep.results[0].dims[d].chunk = size;
    auto local = emitCombined(op, ofStep, operands, resized(type, d, total),
                              inner);
    if (failed(local))
      return failure();
    return local->front();
  };

  Region region;
  Block *body = &region.emplaceBlock();
  Scope inner(&scope, op->getContext(), body);
  OpBuilder &b = scope.builder;
  Value step = body->addArgument(scalarI32Type(b), loc);
  FailureOr<Value> slice =
      emitStep(inner, multiplyI32(inner.builder, loc, step, size), size);
  if (failed(slice))
    return failure();
  YieldOp::create(inner.builder, loc, *slice);
  int64_t steps = shard.chunk / size, rest = shard.chunk % size;
  ArrayRef<int64_t> noParts;
  auto fold = FoldOp::create(
      b, loc, resized(type, d, steps * size), ValueRange(), axis, steps,
      noParts, noParts, noParts, noParts,
      b.getArrayAttr(ConcatAttr::get(op->getContext(), d)), ScheduleAttr(), 1);
  fold.getBody().takeBody(region);
  SmallVector<Value> slices{fold.getResult(0)};
  if (rest > 0) {
    slice = emitStep(scope, constantI32(b, loc, steps * size), rest);
    if (failed(slice))
      return failure();
    slices.push_back(*slice);
  }
  define(op->getResult(0), concatenate(b, loc, slices, d), opPlan.results[0],
         scope);
  return success();
}
