//===- Localize.cpp - the program of one rank -----------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Localize.h"
#include "FoldCombines.h"
#include "LocalOps.h"
#include "Reshard.h"
#include "tsp/Dialect/Sdy/IR/SdyDialect.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace tsp;

static bool isParameter(Value value) {
  auto arg = dyn_cast<BlockArgument>(value);
  auto func =
      arg ? dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp()) : nullptr;
  auto kind =
      func ? func.getArgAttrOfType<StringAttr>(arg.getArgNumber(), "tsp.kind")
           : nullptr;
  return kind && kind.getValue() == "parameter";
}

void Localizer::define(Value value, Value local, const Placement &placement,
                       Scope &scope, bool partial) {
  RankedTensorType global = typeOf(value);
  Location loc = value.getLoc();
  OpBuilder &b = scope.builder;
  for (auto [d, dim] : llvm::enumerate(placement.dims)) {
    int64_t size = global.getDimSize(d);
    if (!poison || !dim.isSharded() || dim.chunk * ranksOf(dim, mesh) == size)
      continue;
    RankedTensorType type = typeOf(local);
    Type element = type.getElementType();
    // As a double only NaN and powers of two are exact in every type.
    double bad = isa<FloatType>(element)
                     ? std::numeric_limits<double>::quiet_NaN()
                 : element.isUnsignedInteger() || element.isInteger(1)
                     ? 1
                     : -std::ldexp(1.0, element.getIntOrFloatBitWidth() - 1);
    local = select(
        b, loc,
        isBelow(b, loc, type.getShape(), d, piecesOf(b, loc, dim, mesh), size),
        local, splat(b, loc, type, bad));
  }
  scope.values[value] = {local, placement, partial};
}

LogicalResult Localizer::run(func::FuncOp global, func::FuncOp local) {
  Block *entry = local.addEntryBlock();
  Scope scope(nullptr, local.getContext(), entry);
  for (auto [from, to] :
       llvm::zip(global.getArguments(), local.getArguments())) {
    to.setLoc(from.getLoc());
    // Parameters are loaded with zeros as padding, which is relied on.
    if (isParameter(from))
      scope.values[from] = {to, plan.placement(from)};
    else
      define(from, to, plan.placement(from), scope);
  }
  return emitBlock(global.getBody().front(), scope);
}

const Localizer::Placed *Localizer::lookup(Value value,
                                           const Scope &scope) const {
  for (const Scope *s = &scope; s; s = s->parent)
    if (auto it = s->values.find(value); it != s->values.end())
      return &it->second;
  return nullptr;
}

/// Whether elementwise ops make the value of what is the same all along `dim`
/// and of indices (a one-hot row): a part of it is made, and never the whole.
static bool isMadeAlong(Value value, int64_t dim) {
  Operation *def = value.getDefiningOp();
  if (!def || Plan::isRematerialized(value))
    return def;
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(def)) {
    auto dims = broadcast.getBroadcastDimensions();
    auto at = llvm::find(dims, dim);
    return at == dims.end() ||
           typeOf(broadcast.getOperand()).getDimSize(at - dims.begin()) == 1;
  }
  return stablehlo::isElementwise(def) &&
         llvm::all_of(def->getOperands(), [&](Value operand) {
           return typeOf(operand).getRank() == 0 || isMadeAlong(operand, dim);
         });
}

Value Localizer::get(Value value, const Placement &want, Scope &scope,
                     Operation *user) {
  std::vector<int64_t> key;
  for (const DimShard &dim : want.dims) {
    key.insert(key.end(),
               {dim.chunk, dim.fold, dim.steps, dim.units, dim.tail});
    for (const AxisSplit &split : dim.axes)
      key.insert(key.end(), {split.axis, int64_t(split.layout)});
  }
  Value &known = scope.moved[{value.getAsOpaquePointer(), key}];
  if (known)
    return known;
  Location loc = value.getLoc();
  auto own = scope.values.find(value);
  if (own != scope.values.end() && own->second.placement == want &&
      !own->second.partial)
    return known = own->second.value;
  if (Plan::isRematerialized(value)) {
    // Positions of attention are the same for every part; anything else is
    // fused into its user.
    if (scope.fold >= 0 && isa<SdpaOp>(user) && want.foldedDim() < 0)
      return known = get(value, want, *scope.parent, user);
    return known = materialize(value, want, scope, user);
  }
  const Placed *placed = lookup(value, scope);
  if (!placed || placed->partial) {
    user->emitOpError(
            "needs a value before the fold that makes it has ended; this "
            "dataflow cannot be folded: use strategy tp, or mark the weight as "
            "an input so that it is not folded")
            .attachNote(loc)
        << "the value";
    return nullptr;
  }
  // A broadcast is cheaper made than moved.
  if (auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>();
      broadcast && placed->placement != want &&
      lookup(broadcast.getOperand(), scope))
    return known = materialize(value, want, scope, user);
  if (own != scope.values.end())
    return known = reshard(scope.builder, loc, own->second.value, typeOf(value),
                           own->second.placement, want, mesh, scope.part);
  // From outside: a fold's part is streamed in, the rest is moved outside.
  int d = want.foldedDim();
  if (d < 0)
    return known = get(value, want, *scope.parent, user);
  if (isMadeAlong(value, d))
    return known = materialize(value, want, scope, user);
  Placement outside = want;
  bool streamed = placed->placement.dims[d].isOnly(want.dims[d].fold);
  outside.dims[d] = streamed ? placed->placement.dims[d] : DimShard();
  Value whole = get(value, outside, *scope.parent, user);
  if (!whole)
    return nullptr;
  if (streamed)
    return known = addPart(whole, d, typeOf(value).getDimSize(d), want.dims[d],
                           scope);
  int64_t total = typeOf(value).getDimSize(d);
  return known = sliceAt(
             scope.builder, loc, whole, d,
             partOffset(scope.builder, loc, scope.part, want.dims[d], total),
             localSize(want.dims[d], total));
}

Value Localizer::materialize(Value value, const Placement &want, Scope &scope,
                             Operation *user) {
  Operation *op = value.getDefiningOp();
  // Indices in blocks are cut from the whole: blocks may be many.
  Placement whole = want;
  for (DimShard &dim : whole.dims)
    if (dim.hasBlocks())
      dim = DimShard();
  if (isa<stablehlo::IotaOp>(op) && whole != want)
    return reshard(scope.builder, value.getLoc(),
                   get(value, whole, scope, user), typeOf(value), whole, want,
                   mesh, scope.part);
  auto rules = cast<ShardingRuleOpInterface>(op);
  ShardingRule rule = rules.getShardingRule();
  Assignment assignment(rule.factors.size());
  for (auto [dim, factors] : llvm::zip(want.dims, rule.results[0]))
    if (int f = rule.majorFactor(factors); f >= 0)
      assignment[f] = dim;
  SmallVector<Value> operands;
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands)) {
    operands.push_back(
        get(operand, placementOf(rule, dims, assignment), scope, user));
    if (!operands.back())
      return nullptr;
  }
  LocalContext context{
      scope.builder, mesh,
      rule,          assignment,
      operands,      {localType(typeOf(value), want)},
      scope.part,    SmallVector<bool>(operands.size(), false)};
  auto results = rules.localize(context);
  return failed(results) ? nullptr : results->front();
}

Value Localizer::addPart(Value shard, int64_t dim, int64_t total,
                         const DimShard &folded, Scope &scope) {
  SmallVector<int64_t> shape(typeOf(shard).getShape());
  shape[dim] = localSize(folded, total);
  scope.parts.push_back(shard);
  scope.partDims.push_back(dim);
  scope.partSizes.push_back(shape[dim]);
  scope.partStarts.push_back(firstOfParts(folded, total));
  scope.partTotals.push_back(total);
  return scope.builder.getBlock()->addArgument(
      RankedTensorType::get(shape, typeOf(shard).getElementType()),
      shard.getLoc());
}

OpPlan Localizer::planIn(const Scope &scope, Operation *op) const {
  OpPlan opPlan = plan.op(op);
  auto adapt = [&](DimShard &shard) { shard.tail |= shard.fold >= 0; };
  if (!scope.tail)
    return opPlan;
  llvm::for_each(opPlan.assignment, adapt);
  for (auto *list : {&opPlan.operands, &opPlan.results})
    for (Placement &placement : *list)
      llvm::for_each(placement.dims, adapt);
  return opPlan;
}

FailureOr<SmallVector<Value>> Localizer::getAll(ValueRange values,
                                                ArrayRef<Placement> want,
                                                Scope &scope, Operation *user) {
  SmallVector<Value> all;
  for (auto [value, placement] : llvm::zip(values, want)) {
    all.push_back(get(value, placement, scope, user));
    if (!all.back())
      return failure();
  }
  return all;
}

LogicalResult Localizer::emitOp(Operation *op, Scope &scope) {
  if (isa<stablehlo::WhileOp>(op))
    return emitWhile(op, scope);
  if (isa<stablehlo::CaseOp>(op))
    return emitCase(op, scope);
  if (auto ret = dyn_cast<func::ReturnOp>(op))
    return emitReturn(ret, scope);
  const OpPlan opPlan = planIn(scope, op);
  if (int64_t size = scatterAtOnce(op, opPlan, scope))
    return emitScatterInSteps(op, opPlan, size, scope);
  FailureOr<SmallVector<Value>> operands =
      getAll(op->getOperands(), opPlan.operands, scope, op);
  if (failed(operands))
    return failure();
  if (auto manual = dyn_cast<sdy::ManualComputationOp>(op)) {
    // Its body is the program of one rank already.
    IRMapping mapping;
    Block &body = manual.getBody().front();
    mapping.map(body.getArguments(), *operands);
    for (Operation &inner : body.without_terminator())
      scope.builder.clone(inner, mapping);
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      scope.values[op->getResult(i)] = {mapping.lookup(value),
                                        opPlan.results[i]};
    return success();
  }
  if (isa<PlaceOp>(op)) {
    scope.values[op->getResult(0)] = {(*operands)[0], opPlan.results[0]};
    return success();
  }
  SmallVector<RankedTensorType> types;
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    Placement placement = opPlan.results[i];
    // What reduce-scatters will cut is still whole along their axes.
    if (i == 0)
      for (const PartialResult &partial : opPlan.partial)
        if (partial.scatterDim >= 0)
          placement.dims[partial.scatterDim] = prefixOf(
              placement.dims[partial.scatterDim],
              placement.dims[partial.scatterDim].axes.size() - 1, mesh);
    types.push_back(localType(typeOf(result), placement));
  }
  FailureOr<SmallVector<Value>> local =
      emitCombined(op, opPlan, *operands, types, scope);
  if (failed(local))
    return failure();
  for (auto [result, value, placement] :
       llvm::zip(op->getResults(), *local, opPlan.results))
    define(result, value, placement, scope, opPlan.isFoldPartial());
  return success();
}

FailureOr<SmallVector<Value>>
Localizer::emitCombined(Operation *op, const OpPlan &opPlan,
                        ArrayRef<Value> operands,
                        ArrayRef<RankedTensorType> types, Scope &scope) {
  SmallVector<bool> zeroPadded;
  for (Value operand : op->getOperands())
    zeroPadded.push_back(isParameter(operand));
  LocalContext context{
      scope.builder,     mesh,     opPlan.rule,
      opPlan.assignment, operands, llvm::to_vector(types),
      scope.part,        zeroPadded};
  auto rules = dyn_cast<ShardingRuleOpInterface>(op);
  FailureOr<SmallVector<Value>> results =
      rules ? rules.localize(context) : localizeByClone(op, context);
  if (failed(results))
    return failure();
  SmallVector<Value> local(*results);
  for (const PartialResult &partial : opPlan.partial) {
    StringAttr axis = mesh.getAxes()[partial.axis];
    if (partial.scatterDim < 0) {
      local = combineOverAxis(scope.builder, op->getLoc(), local,
                              opPlan.rule.combine, axis,
                              mesh.getSizes()[partial.axis]);
      continue;
    }
    // Major axes are scattered first.
    int64_t d = partial.scatterDim;
    DimShard shard = opPlan.results[0].dims[d];
    shard = prefixOf(shard, shard.levelOf(partial.axis) + 1, mesh);
    RankedTensorType type = typeOf(local[0]);
    AxisSplit split = shard.axes.back();
    SmallVector<int64_t> shape(type.getShape());
    shape[d] = shard.chunk;
    local[0] = ReduceScatterOp::create(
        scope.builder, op->getLoc(), type.clone(shape), local[0], axis, d,
        type.getDimSize(d),
        unitOf(type.getDimSize(d), shard.chunk, split, mesh), split.layout,
        opPlan.rule.combine, CodecAttr());
  }
  return local;
}

LogicalResult Localizer::emitBlock(Block &block, Scope &scope) {
  DenseMap<int, SmallVector<Operation *>> folds;
  for (Operation &op : block)
    if (int fold = plan.foldOf(&op); fold >= 0)
      folds[fold].push_back(&op);

  // Operands first; all members of a fold are written at once.
  DenseSet<Operation *> done, open;
  std::function<LogicalResult(Operation *)> visit =
      [&](Operation *op) -> LogicalResult {
    op = block.findAncestorOpInBlock(*op);
    if (!op || done.contains(op))
      return success();
    int fold = plan.foldOf(op);
    SmallVector<Operation *> members =
        fold >= 0 ? folds[fold] : SmallVector<Operation *>{op};
    if (!open.insert(members.front()).second)
      return op->emitOpError(
          "takes part in a fold that needs its own result; this dataflow "
          "cannot be folded: use strategy tp, or mark the weight as an "
          "input so that it is not folded");
    for (Operation *member : members) {
      SetVector<Value> needed(member->operand_begin(), member->operand_end());
      for (Region &region : member->getRegions())
        getUsedValuesDefinedAbove(region, needed);
      for (Value value : needed)
        if (Operation *def = value.getDefiningOp();
            def && !llvm::is_contained(members, def) && failed(visit(def)))
          return failure();
    }
    done.insert(members.begin(), members.end());
    if (fold >= 0)
      return emitFold(members, scope);
    if (op->getNumResults() == 1 && Plan::isRematerialized(op->getResult(0)))
      return success();
    return emitOp(op, scope);
  };
  for (Operation &op : block) {
    // A region's terminator is written by the op that holds it.
    if (isa<stablehlo::ReturnOp>(op))
      continue;
    if (failed(visit(&op)))
      return failure();
  }
  return success();
}

FailureOr<FoldOp>
Localizer::emitSteps(ArrayRef<Operation *> members, Scope &scope, bool tail,
                     SmallVectorImpl<std::pair<Value, Placement>> &defined) {
  int fold = plan.foldOf(members.front());
  DimShard shard = plan.foldedShard(fold);
  shard.tail = tail;
  bool isAll = equalParts(shard) == shard.steps;
  Location loc = members.front()->getLoc();
  MLIRContext *context = loc.getContext();

  // The body is written first, before the fold's operands are all known.
  Region region;
  Block *body = &region.emplaceBlock();
  Scope inner(&scope, context, body);
  inner.fold = fold;
  inner.tail = tail;
  inner.part = body->addArgument(scalarI32Type(inner.builder), loc);
  for (Operation *member : members)
    if (failed(emitOp(member, inner)))
      return failure();

  SmallVector<Value> yielded;
  SmallVector<Attribute> combines;
  SmallVector<Type> types;
  auto isUsedOutside = [&](Value result) {
    return llvm::any_of(result.getUsers(), [&](Operation *user) {
      return !llvm::is_contained(members, user);
    });
  };
  for (Operation *member : members)
    for (Value result : member->getResults()) {
      // Value and index of an argmax are merged together.
      if (!isUsedOutside(result) &&
          !(plan.op(member).isFoldPartial() &&
            llvm::any_of(member->getResults(), isUsedOutside)))
        continue;
      const Placed &placed = inner.values[result];
      Placement outside = placed.placement;
      RankedTensorType type = typeOf(placed.value);
      Type element = type.getElementType();
      int d = outside.foldedDim();
      if (placed.partial) {
        CombineKind kind = plan.op(member).rule.combine;
        combines.push_back(CombineKindAttr::get(context, kind));
        // Sums of 16 bits are rounded once, when all steps have been summed.
        if (!isAll && kind == CombineKind::Sum && isa<FloatType>(element) &&
            element.getIntOrFloatBitWidth() <= 16)
          type = type.clone(Float32Type::get(context));
      } else {
        outside.dims[d] = DimShard();
        combines.push_back(ConcatAttr::get(context, d));
        SmallVector<int64_t> shape(type.getShape());
        shape[d] *= equalParts(shard);
        type = type.clone(shape);
      }
      yielded.push_back(placed.value);
      defined.push_back({result, outside});
      types.push_back(type);
    }
  YieldOp::create(inner.builder, loc, yielded);

  OpBuilder &b = scope.builder;
  auto op = FoldOp::create(
      b, loc, types, inner.parts, mesh.getAxes()[shard.fold], equalParts(shard),
      inner.partDims, inner.partSizes, inner.partStarts, inner.partTotals,
      b.getArrayAttr(combines), ScheduleAttr(), 1);
  op.getBody().takeBody(region);
  return op;
}

FailureOr<SmallVector<Value>> Localizer::mergeSteps(Scope &scope, FoldOp larger,
                                                    FoldOp smaller) {
  SmallVector<std::unique_ptr<FoldCombine>> combines;
  if (failed(makeFoldCombines(smaller, combines)))
    return failure();
  OpBuilder &b = scope.builder;
  Location loc = larger.getLoc();
  SmallVector<Value> merged;
  for (auto &combine : combines) {
    unsigned first = combine->results.front(), count = combine->results.size();
    ValueRange before = larger.getResults().slice(first, count);
    ValueRange after = smaller.getResults().slice(first, count);
    if (auto concat = dyn_cast<ConcatAttr>(larger.getCombines()[first]))
      merged.push_back(
          concatenate(b, loc, {before[0], after[0]}, concat.getDim()));
    else
      combine->step(b, loc, Value(), after, before, merged);
  }
  return merged;
}

LogicalResult Localizer::emitFold(ArrayRef<Operation *> members, Scope &scope) {
  SmallVector<std::pair<Value, Placement>> defined, same;
  FailureOr<FoldOp> fold = emitSteps(members, scope, /*tail=*/false, defined);
  if (failed(fold))
    return failure();
  SmallVector<Value> values((*fold).getResults());
  const DimShard &shard = plan.foldedShard(plan.foldOf(members.front()));
  if (equalParts(shard) != shard.steps) {
    FailureOr<FoldOp> rest = emitSteps(members, scope, /*tail=*/true, same);
    if (failed(rest))
      return failure();
    auto merged = mergeSteps(scope, *fold, *rest);
    if (failed(merged))
      return failure();
    values = *merged;
  }
  for (auto [result, value] : llvm::zip(defined, values)) {
    RankedTensorType type = localType(typeOf(result.first), result.second);
    if (value.getType() != type)
      value = stablehlo::ConvertOp::create(scope.builder, value.getLoc(), type,
                                           value);
    scope.values[result.first] = {value, result.second};
  }
  return success();
}

LogicalResult Localizer::emitRegion(Region &from, Region &to, Scope &parent,
                                    ArrayRef<Placement> arguments,
                                    ArrayRef<Placement> results) {
  Block *block = &to.emplaceBlock();
  Scope inner(&parent, mesh.getContext(), block);
  for (auto [arg, placement] : llvm::zip(from.getArguments(), arguments))
    inner.values[arg] = {
        block->addArgument(localType(typeOf(arg), placement), arg.getLoc()),
        placement};
  if (failed(emitBlock(from.front(), inner)))
    return failure();
  Operation *terminator = from.front().getTerminator();
  FailureOr<SmallVector<Value>> values =
      getAll(terminator->getOperands(), results, inner, terminator);
  if (failed(values))
    return failure();
  stablehlo::ReturnOp::create(inner.builder, terminator->getLoc(), *values);
  return success();
}

LogicalResult Localizer::emitWhile(Operation *op, Scope &scope) {
  auto loop = cast<stablehlo::WhileOp>(op);
  const OpPlan &opPlan = plan.op(op);
  FailureOr<SmallVector<Value>> operands =
      getAll(op->getOperands(), opPlan.operands, scope, op);
  if (failed(operands))
    return failure();
  OperationState state(op->getLoc(), stablehlo::WhileOp::getOperationName());
  state.addOperands(*operands);
  state.addTypes(ValueRange(*operands).getTypes());
  state.addRegion();
  state.addRegion();
  // The loop stands before what its regions hoist: written last, so that
  // whatever they need from outside comes first.
  Region cond, body;
  Placement scalar(0);
  if (failed(
          emitRegion(loop.getCond(), cond, scope, opPlan.operands, scalar)) ||
      failed(emitRegion(loop.getBody(), body, scope, opPlan.operands,
                        opPlan.operands)))
    return failure();
  Operation *local = scope.builder.create(state);
  local->getRegion(0).takeBody(cond);
  local->getRegion(1).takeBody(body);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    scope.values[result] = {local->getResult(i), opPlan.results[i]};
  return success();
}

LogicalResult Localizer::emitCase(Operation *op, Scope &scope) {
  const OpPlan &opPlan = plan.op(op);
  Value index = get(op->getOperand(0), Placement(0), scope, op);
  if (!index)
    return failure();
  OperationState state(op->getLoc(), stablehlo::CaseOp::getOperationName());
  state.addOperands(index);
  for (auto [result, placement] : llvm::zip(op->getResults(), opPlan.results))
    state.addTypes(localType(typeOf(result), placement));
  for (Region &branch : op->getRegions())
    if (failed(
            emitRegion(branch, *state.addRegion(), scope, {}, opPlan.results)))
      return failure();
  Operation *local = scope.builder.create(state);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    scope.values[result] = {local->getResult(i), opPlan.results[i]};
  return success();
}

LogicalResult Localizer::emitReturn(func::ReturnOp op, Scope &scope) {
  FailureOr<SmallVector<Value>> values =
      getAll(op.getOperands(), plan.op(op).operands, scope, op);
  if (failed(values))
    return failure();
  func::ReturnOp::create(scope.builder, op.getLoc(), *values);
  return success();
}
