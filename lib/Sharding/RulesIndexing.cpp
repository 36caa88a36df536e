//===- RulesIndexing.cpp - rules of ops that index ------------------------===//
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

/// `index` clamped to [0, max], as i32.
static Value clampedI32(OpBuilder &builder, Location loc, Value index,
                        int64_t max) {
  auto type =
      RankedTensorType::get(typeOf(index).getShape(), builder.getI32Type());
  if (index.getType() != type)
    index = ConvertOp::create(builder, loc, type, index);
  return ClampOp::create(builder, loc, type, splat(builder, loc, type, 0),
                         index, splat(builder, loc, type, max));
}

namespace {

/// Looking up rows of a sharded table: every rank gives the rows that it holds
/// and zeros for the others; the sum over ranks is the result.
struct GatherRule : RuleModel<GatherRule, GatherOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto gather = cast<GatherOp>(op);
    auto dims = gather.getDimensionNumbers();
    RankedTensorType operand = typeOf(gather.getOperand());
    RankedTensorType indices = typeOf(gather.getStartIndices());
    RankedTensorType result = typeOf(gather.getResult());
    ShardingRule rule;
    ShardingRule::ValueFactors in(operand.getRank()), at(indices.getRank()),
        out(result.getRank());

    SmallVector<int64_t> batchDims;
    for (int64_t d = 0; d < result.getRank(); ++d)
      if (!llvm::is_contained(dims.getOffsetDims(), d))
        batchDims.push_back(d);
    size_t batch = 0;
    for (int64_t d = 0; d < indices.getRank(); ++d) {
      if (d == dims.getIndexVectorDim()) {
        at[d] = {rule.addFactor(indices.getDimSize(d), FactorKind::Whole)};
        continue;
      }
      at[d] = out[batchDims[batch++]] = {
          rule.addFactor(indices.getDimSize(d), FactorKind::Parallel)};
    }
    for (auto [d, i] : llvm::zip(dims.getOperandBatchingDims(),
                                 dims.getStartIndicesBatchingDims()))
      in[d] = at[i];
    size_t offset = 0;
    for (int64_t d = 0; d < operand.getRank(); ++d) {
      if (!in[d].empty())
        continue;
      if (llvm::is_contained(dims.getCollapsedSliceDims(), d)) {
        in[d] = {rule.addFactor(operand.getDimSize(d),
                                llvm::is_contained(dims.getStartIndexMap(), d)
                                    ? FactorKind::Reduce
                                    : FactorKind::Whole)};
        continue;
      }
      int64_t o = dims.getOffsetDims()[offset++];
      if (gather.getSliceSizes()[d] == operand.getDimSize(d)) {
        in[d] = out[o] = {
            rule.addFactor(operand.getDimSize(d), FactorKind::Parallel)};
      } else {
        in[d] = {rule.addFactor(operand.getDimSize(d), FactorKind::Whole)};
        out[o] = {rule.addFactor(result.getDimSize(o), FactorKind::Whole)};
      }
    }
    rule.operands = {in, at};
    rule.results = {out};
    return rule;
  }

  FailureOr<SmallVector<Value>> localize(Operation *op,
                                         LocalContext &context) const {
    auto gather = cast<GatherOp>(op);
    OpBuilder &b = context.builder;
    Location loc = op->getLoc();
    auto dims = gather.getDimensionNumbers();
    SmallVector<Value> operands(context.operands);
    Value found;
    for (auto [component, d] : llvm::enumerate(dims.getStartIndexMap())) {
      int f = context.rule.majorFactor(context.rule.operands[0][d]);
      Pieces pieces = context.piecesOf(loc, f);
      if (pieces.isWhole())
        continue;
      int64_t size = context.rule.factors[f].size;
      ArrayRef<int64_t> shape = typeOf(operands[1]).getShape();
      Value index =
          localIndex(b, loc, clampedI32(b, loc, operands[1], size - 1), pieces);
      int64_t vectorDim = dims.getIndexVectorDim();
      Value component_ = index;
      if (vectorDim < (int64_t)shape.size() && shape[vectorDim] > 1) {
        Value isComponent = inRange(b, loc, shape, vectorDim, Pieces(),
                                    component, component + 1);
        auto type = RankedTensorType::get(shape, b.getI32Type());
        Value rest = ConvertOp::create(b, loc, type, operands[1]);
        operands[1] = select(b, loc, isComponent, index, rest);
        component_ = sliceAt(b, loc, index, vectorDim,
                             constantI32(b, loc, component), 1);
      } else {
        operands[1] = index;
      }
      // Which rows of the result this rank holds: the shape of the batch dims.
      int64_t held = typeOf(operands[0]).getDimSize(d);
      SmallVector<int64_t> batch;
      for (auto [i, n] : llvm::enumerate(typeOf(component_).getShape()))
        if ((int64_t)i != vectorDim)
          batch.push_back(n);
      Value flat = reshape(b, loc, component_, batch);
      auto type = typeOf(flat);
      Value inside = AndOp::create(
          b, loc, RankedTensorType::get(batch, b.getI1Type()),
          CompareOp::create(b, loc, flat, splat(b, loc, type, 0),
                            ComparisonDirection::GE),
          CompareOp::create(b, loc, flat, splat(b, loc, type, held),
                            ComparisonDirection::LT));
      found = found ? AndOp::create(b, loc, inside.getType(), found, inside)
                          .getResult()
                    : inside;
    }
    LocalContext moved = context.with(operands);
    auto results = localizeByClone(op, moved);
    auto local = cast<GatherOp>((*results)[0].getDefiningOp());
    SmallVector<int64_t> sizes(local.getSliceSizes());
    for (auto [d, size] : llvm::enumerate(sizes))
      if (size == typeOf(gather.getOperand()).getDimSize(d))
        size = typeOf(operands[0]).getDimSize(d);
    local.setSliceSizes(sizes);
    if (!found)
      return results;
    RankedTensorType type = context.resultTypes[0];
    SmallVector<int64_t> batchDims;
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (!llvm::is_contained(dims.getOffsetDims(), d))
        batchDims.push_back(d);
    (*results)[0] =
        select(b, loc, broadcast(b, loc, found, type.getShape(), batchDims),
               (*results)[0], splat(b, loc, type, 0));
    return results;
  }
};

/// Dims of the update windows that are whole in the input are parallel;
/// everything that indices touch is whole.
struct ScatterRule : RuleModel<ScatterRule, ScatterOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto scatter = cast<ScatterOp>(op);
    auto dims = scatter.getScatterDimensionNumbers();
    RankedTensorType input = typeOf(scatter.getInputs()[0]);
    RankedTensorType updates = typeOf(scatter.getUpdates()[0]);
    ShardingRule rule;
    ShardingRule::ValueFactors in(input.getRank()), up(updates.getRank());
    size_t window = 0;
    for (int64_t d = 0; d < input.getRank(); ++d) {
      if (llvm::is_contained(dims.getInsertedWindowDims(), d) ||
          llvm::is_contained(dims.getInputBatchingDims(), d)) {
        in[d] = {rule.addFactor(input.getDimSize(d), FactorKind::Whole)};
        continue;
      }
      int64_t u = dims.getUpdateWindowDims()[window++];
      bool full = updates.getDimSize(u) == input.getDimSize(d) &&
                  !llvm::is_contained(dims.getScatterDimsToOperandDims(), d);
      in[d] = {rule.addFactor(input.getDimSize(d),
                              full ? FactorKind::Parallel : FactorKind::Whole)};
      up[u] = full ? in[d]
                   : ShardingRule::DimFactors{rule.addFactor(
                         updates.getDimSize(u), FactorKind::Whole)};
    }
    for (auto [u, factors] : llvm::enumerate(up))
      if (factors.empty())
        factors = {rule.addFactor(updates.getDimSize(u), FactorKind::Whole)};
    rule.operands.assign(scatter.getInputs().size(), in);
    rule.operands.push_back(ShardingRule::ValueFactors(
        typeOf(scatter.getScatterIndices()).getRank()));
    rule.operands.append(scatter.getUpdates().size(), up);
    rule.results.assign(scatter.getInputs().size(), in);
    return rule;
  }
};

struct DynamicSliceRule : RuleModel<DynamicSliceRule, DynamicSliceOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto slice = cast<DynamicSliceOp>(op);
    RankedTensorType in = typeOf(slice.getOperand());
    ShardingRule rule;
    ShardingRule::ValueFactors operand, result;
    for (auto [size, part] : llvm::zip(in.getShape(), slice.getSliceSizes())) {
      bool full = size == part;
      operand.push_back({rule.addFactor(size, full ? FactorKind::Parallel
                                                   : FactorKind::Whole)});
      result.push_back(full ? operand.back()
                            : ShardingRule::DimFactors{
                                  rule.addFactor(part, FactorKind::Whole)});
    }
    rule.operands.push_back(operand);
    rule.operands.append(in.getRank(), {});
    rule.results.push_back(result);
    return rule;
  }
  FailureOr<SmallVector<Value>> localize(Operation *op,
                                         LocalContext &context) const {
    auto results = localizeByClone(op, context);
    cast<DynamicSliceOp>((*results)[0].getDefiningOp())
        .setSliceSizes(context.resultTypes[0].getShape());
    return results;
  }
};

/// An update of one sharded dim: the rank that holds the place writes it.
struct DynamicUpdateSliceRule
    : RuleModel<DynamicUpdateSliceRule, DynamicUpdateSliceOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto update = cast<DynamicUpdateSliceOp>(op);
    RankedTensorType in = typeOf(update.getOperand()),
                     part = typeOf(update.getUpdate());
    int64_t special = -1;
    for (int64_t d = 0; d < in.getRank(); ++d)
      if (in.getDimSize(d) != part.getDimSize(d) &&
          (special < 0 || in.getDimSize(d) > in.getDimSize(special)))
        special = d;
    ShardingRule rule;
    ShardingRule::ValueFactors operand, updateDims;
    for (int64_t d = 0; d < in.getRank(); ++d) {
      bool full = in.getDimSize(d) == part.getDimSize(d);
      operand.push_back({rule.addFactor(in.getDimSize(d),
                                        full           ? FactorKind::Parallel
                                        : d == special ? FactorKind::Special
                                                       : FactorKind::Whole)});
      updateDims.push_back(full ? operand.back()
                                : ShardingRule::DimFactors{rule.addFactor(
                                      part.getDimSize(d), FactorKind::Whole)});
    }
    rule.operands = {operand, updateDims};
    rule.operands.append(in.getRank(), {});
    rule.results = {operand};
    return rule;
  }

  FailureOr<SmallVector<Value>> localize(Operation *op,
                                         LocalContext &context) const {
    OpBuilder &b = context.builder;
    Location loc = op->getLoc();
    int64_t dim = -1;
    for (auto [d, factors] : llvm::enumerate(context.rule.results[0]))
      for (int f : factors)
        if (context.rule.factors[f].kind == FactorKind::Special &&
            !context.assignment[f].isWhole())
          dim = d;
    if (dim < 0)
      return localizeByClone(op, context);
    SmallVector<Value> operands(context.operands);
    Value &old = operands[0], &part = operands[1];
    int f = context.rule.results[0][dim][0];
    int64_t total = context.rule.factors[f].size,
            n = typeOf(part).getDimSize(dim);
    int64_t chunk = typeOf(old).getDimSize(dim);
    Pieces pieces = context.piecesOf(loc, f);
    Value start = clampedI32(b, loc, operands[2 + dim], total - n);
    auto startsInI32 = [&] {
      auto i32 = scalarI32Type(b);
      return llvm::map_to_vector(ArrayRef(operands).drop_front(2),
                                 [&](Value start) -> Value {
                                   if (start.getType() == i32)
                                     return start;
                                   return ConvertOp::create(b, loc, i32, start);
                                 });
    };
    if (n == 1) {
      // One element: the rank rewrites it, or what is there when it is not its.
      Value place = localIndex(b, loc, start, pieces);
      Value at =
          ClampOp::create(b, loc, scalarI32Type(b), constantI32(b, loc, 0),
                          place, constantI32(b, loc, chunk - 1));
      SmallVector<Value> starts = startsInI32();
      starts[dim] = at;
      Value present = DynamicSliceOp::create(
          b, loc, part.getType(), old, starts,
          b.getDenseI64ArrayAttr(typeOf(part).getShape()));
      Value held =
          CompareOp::create(b, loc, at, place, ComparisonDirection::EQ);
      part =
          select(b, loc, broadcastScalar(b, loc, held, typeOf(part).getShape()),
                 part, present);
      llvm::copy(starts, operands.begin() + 2);
    } else {
      // The pieces' windows of the update, which is padded so that any overlap
      // can be cut out.
      for (Value &offset : pieces.offsets)
        offset = subtract(b, loc, offset, start);
      Pieces windows = pieces;
      for (Value &offset : windows.offsets)
        offset = add(b, loc, offset, constantI32(b, loc, pieces.size));
      Value padded = padWithZeros(b, loc, part, dim, pieces.size, pieces.size);
      Value window = slicePieces(b, loc, padded, dim, windows);
      SmallVector<int64_t> shape(typeOf(window).getShape());
      Value present = old;
      if (shape != typeOf(old).getShape()) {
        SmallVector<Value> starts = startsInI32();
        starts[dim] = constantI32(b, loc, 0);
        present = DynamicSliceOp::create(b, loc, window.getType(), old, starts,
                                         b.getDenseI64ArrayAttr(shape));
      }
      part = select(b, loc, inRange(b, loc, shape, dim, pieces, 0, n), window,
                    present);
      auto type = typeOf(operands[2 + dim]);
      operands[2 + dim] = splat(b, loc, type, 0);
    }
    LocalContext moved = context.with(operands);
    return localizeByClone(op, moved);
  }
};

} // namespace

void tsp::registerIndexingRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, StableHLODialect *) {
    GatherOp::attachInterface<GatherRule>(*context);
    ScatterOp::attachInterface<ScatterRule>(*context);
    DynamicSliceOp::attachInterface<DynamicSliceRule>(*context);
    DynamicUpdateSliceOp::attachInterface<DynamicUpdateSliceRule>(*context);
  });
}
