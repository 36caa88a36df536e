//===- Planner.cpp - chooses the placements of all values -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Planner.h"
#include "Reshard.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Sharding/SdyPlacement.h"

using namespace mlir;
using namespace tsp;

static int64_t elementBytes(RankedTensorType type) {
  return llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

Plan Planner::run() {
  for (BlockArgument arg : func.getArguments())
    placements[arg] = seeds.argument(arg.getArgNumber());
  planBlock(func.getBody().front());
  for (auto &[op, plan] : ops)
    plan->fold = foldOf(op);
  return Plan(std::move(placements), std::move(ops));
}

static bool isRematerialized(Value value) {
  return Plan::isRematerialized(value);
}

int Planner::findFold(int fold) const {
  while (folds[fold].parent != fold)
    fold = folds[fold].parent;
  return fold;
}

int Planner::foldOf(Operation *op) const {
  auto it = ops.find(op);
  return it == ops.end() || it->second->fold < 0 ? -1
                                                 : findFold(it->second->fold);
}

Placement Planner::withoutFold(const Placement &placement) const {
  Placement out = placement;
  for (DimShard &dim : out.dims)
    if (dim.fold >= 0)
      dim = DimShard();
  return out;
}

int64_t Planner::bytes(RankedTensorType type,
                       const Placement &placement) const {
  return localType(type, placement).getNumElements() * elementBytes(type);
}

int64_t Planner::reshardBytes(RankedTensorType type, const Placement &from,
                              const Placement &to) const {
  // The parts of a fold are streamed: they cost the same whatever is chosen.
  Placement start = from;
  for (auto [dim, goal] : llvm::zip(start.dims, to.dims))
    if (goal.fold >= 0 && dim.isOnly(goal.fold))
      dim = goal;
  int64_t total = 0;
  for (const ReshardStep &step : planReshard(type, start, to, mesh))
    total += step.bytesReceived(type, mesh);
  return total;
}

int64_t Planner::moveBytes(Value value, const Placement &to) const {
  if (isRematerialized(value))
    return 0;
  auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>();
  if (!broadcast)
    return reshardBytes(typeOf(value), withoutFold(placement(value)), to);
  // Made anew from what it broadcasts.
  Placement operand(typeOf(broadcast.getOperand()).getRank());
  for (auto [i, d] : llvm::enumerate(broadcast.getBroadcastDimensions()))
    if (typeOf(broadcast.getOperand()).getDimSize(i) ==
        typeOf(value).getDimSize(d))
      operand.dims[i] = to.dims[d];
  return moveBytes(broadcast.getOperand(), operand);
}

int64_t Planner::weightPenalty(Value value, int axis,
                               const Placement &to) const {
  if (isRematerialized(value) || !seeds.isWeight(value))
    return 0;
  constexpr int64_t kNever = int64_t(1) << 50;
  for (auto [d, dim] : llvm::enumerate(placement(value).dims))
    if (dim.levelOf(axis) >= 0 && to.dims[d].levelOf(axis) < 0 &&
        to.dims[d].fold != axis)
      switch (seeds.roleOf(value, d)) {
      case Role::Head:
      case Role::Ffn:
      case Role::Vocab:
        return kNever;
      default:
        break;
      }
  return 0;
}

void Planner::planBlock(Block &block) {
  for (Operation &op : block) {
    if (isa<stablehlo::WhileOp>(op))
      planWhile(&op);
    else if (isa<stablehlo::CaseOp>(op))
      planCase(&op);
    else if (op.hasTrait<OpTrait::IsTerminator>())
      planReturn(&op);
    else if (op.getNumResults() == 1 && isRematerialized(op.getResult(0)))
      continue;
    else if (auto place = dyn_cast<PlaceOp>(op))
      planPlace(place);
    else if (auto manual = dyn_cast<sdy::ManualComputationOp>(op))
      planManual(manual);
    else if (isa<ShardingRuleOpInterface>(op))
      planOp(&op);
    else
      planWhole(&op);
    int fold = foldOf(&op);
    llvm::SmallDenseSet<int> needed = neededFolds(&op, fold);
    if (fold >= 0)
      folds[fold].needs.insert(needed.begin(), needed.end());
    if (!needed.empty())
      for (Value result : op.getResults())
        needs[result] = needed;
  }
}

bool Planner::contains(const llvm::SmallDenseSet<int> &set, int fold) const {
  return llvm::any_of(set, [&](int other) { return findFold(other) == fold; });
}

llvm::SmallDenseSet<int> Planner::neededFolds(Operation *op, int fold) const {
  llvm::SmallDenseSet<int> needed;
  std::function<void(Value)> add = [&](Value value) {
    if (auto it = needs.find(value); it != needs.end())
      needed.insert(it->second.begin(), it->second.end());
    Operation *def = value.getDefiningOp();
    if (!def)
      return;
    if (def->getNumResults() == 1 && isRematerialized(value)) {
      llvm::for_each(def->getOperands(), add);
      return;
    }
    int from = foldOf(def);
    if (from >= 0 && (from != fold || ops.find(def)->second->isFoldPartial()))
      needed.insert(from);
  };
  op->walk(
      [&](Operation *inner) { llvm::for_each(inner->getOperands(), add); });
  return needed;
}

void Planner::planWhole(Operation *op) {
  auto plan = std::make_unique<OpPlan>();
  for (Value operand : op->getOperands())
    plan->operands.push_back(Placement(typeOf(operand).getRank()));
  for (Value result : op->getResults()) {
    plan->results.push_back(Placement(typeOf(result).getRank()));
    placements[result] = plan->results.back();
  }
  ops[op] = std::move(plan);
}

void Planner::planPlace(PlaceOp op) {
  auto plan = std::make_unique<OpPlan>();
  plan->operands.push_back(*fromAttr(op.getPlacement(), typeOf(op.getInput()),
                                     mesh, [&] { return op.emitError(); }));
  plan->results = plan->operands;
  placements[op.getResult()] = plan->results[0];
  ops[op] = std::move(plan);
}

void Planner::planManual(sdy::ManualComputationOp op) {
  auto plan = std::make_unique<OpPlan>();
  auto read = [&](sdy::TensorShardingAttr sharding, Value value) {
    return *fromAttr(placementOfSharding(sharding, mesh, op.getLoc()),
                     typeOf(value), mesh, [&] { return op.emitError(); });
  };
  for (auto [operand, sharding] :
       llvm::zip(op->getOperands(), op.getInShardings().getShardings()))
    plan->operands.push_back(read(sharding, operand));
  for (auto [result, sharding] :
       llvm::zip(op->getResults(), op.getOutShardings().getShardings())) {
    plan->results.push_back(read(sharding, result));
    placements[result] = plan->results.back();
  }
  ops[op] = std::move(plan);
}

void Planner::planReturn(Operation *op) {
  // A region's results are settled by the op that holds it.
  if (!isa<func::ReturnOp>(op))
    return;
  auto plan = std::make_unique<OpPlan>();
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    Placement placement = isRematerialized(operand)
                              ? Placement(typeOf(operand).getRank())
                              : withoutFold(placements[operand]);
    if (auto asked =
            func.getResultAttrOfType<PlacementAttr>(i, "tsp.placement"))
      placement = *fromAttr(asked, typeOf(operand), mesh,
                            [&] { return op->emitError(); });
    // The new value of a donated argument lives where the argument does.
    for (BlockArgument arg : func.getArguments()) {
      auto alias =
          func.getArgAttrOfType<IntegerAttr>(arg.getArgNumber(), "tsp.alias");
      if (alias && alias.getInt() == (int64_t)i)
        placement = placements[arg];
    }
    // Outside of the program there are no blocks.
    for (DimShard &dim : placement.dims) {
      const auto *blocks = llvm::find_if(
          dim.axes, [](const AxisSplit &split) { return split.blocks != 1; });
      dim = prefixOf(dim, blocks - dim.axes.begin(), mesh);
    }
    plan->operands.push_back(placement);
  }
  ops[op] = std::move(plan);
}

void Planner::planWhile(Operation *op) {
  auto loop = cast<stablehlo::WhileOp>(op);
  auto plan = std::make_unique<OpPlan>();
  for (auto [i, operand] : llvm::enumerate(loop.getOperand())) {
    Placement placement(typeOf(operand).getRank());
    if (isRematerialized(operand)) {
      // Nothing binds the initial value: as the strategy wants it.
      placement = seeds.wantedPlacement(operand);
    } else {
      placement = withoutFold(placements[operand]);
    }
    for (Value value :
         {Value(loop.getCond().getArgument(i)),
          Value(loop.getBody().getArgument(i)), Value(op->getResult(i))})
      placements[value] = placement;
    plan->operands.push_back(placement);
  }
  plan->results = plan->operands;
  planBlock(loop.getCond().front());
  planBlock(loop.getBody().front());
  ops[op] = std::move(plan);
}

void Planner::planCase(Operation *op) {
  auto plan = std::make_unique<OpPlan>();
  plan->operands.push_back(Placement(0));
  auto branches = cast<stablehlo::CaseOp>(op).getBranches();
  for (Region &region : branches)
    planBlock(region.front());
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    Placement placement(typeOf(result).getRank());
    Value first = branches.front().front().getTerminator()->getOperand(i);
    if (!isRematerialized(first))
      placement = withoutFold(placements[first]);
    plan->results.push_back(placement);
    placements[result] = placement;
  }
  ops[op] = std::move(plan);
}

void Planner::planOp(Operation *op) {
  auto plan = std::make_unique<OpPlan>();
  plan->rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
  plan->assignment.resize(plan->rule.factors.size());
  for (int axis : axesByLevel(op)) {
    chooseFold(op, axis, *plan);
    chooseAxis(op, axis, *plan);
  }
  for (const auto &dims : plan->rule.operands)
    plan->operands.push_back(placementOf(plan->rule, dims, plan->assignment));
  for (const auto &dims : plan->rule.results)
    plan->results.push_back(placementOf(plan->rule, dims, plan->assignment));

  // Partial results are combined at once, where wanted to a shard.
  Placement &first = plan->results[0];
  for (auto [factor, shard] : llvm::zip(plan->rule.factors, plan->assignment)) {
    if (factor.kind != FactorKind::Reduce ||
        plan->rule.combine != CombineKind::Sum)
      continue;
    for (const AxisSplit &split : shard.axes)
      for (auto [d, dim] : llvm::enumerate(first.dims)) {
        DimShard wanted = seeds.wantedShard(op->getResult(0), d);
        size_t level = dim.axes.size();
        if (dim.fold < 0 && !first.usesAxis(split.axis) &&
            wanted.levelOf(split.axis) == (int)level &&
            prefixOf(wanted, level, mesh) == dim)
          dim = prefixOf(wanted, level + 1, mesh);
      }
  }
  plan->findPartial();
  for (auto [result, placement] : llvm::zip(op->getResults(), plan->results))
    placements[result] = placement;
  ops[op] = std::move(plan);
}

SmallVector<int> Planner::axesByLevel(Operation *op) const {
  SmallVector<int> level(mesh.getSizes().size(), 0), axes;
  auto note = [&](const DimShard &shard) {
    for (auto [i, split] : llvm::enumerate(shard.axes))
      level[split.axis] = std::max<int>(level[split.axis], i);
  };
  for (Value operand : op->getOperands())
    if (!isRematerialized(operand))
      llvm::for_each(placement(operand).dims, note);
  for (Value result : op->getResults())
    llvm::for_each(seeds.wantedPlacement(result).dims, note);
  for (auto [axis, size] : llvm::enumerate(mesh.getSizes()))
    if (size > 1)
      axes.push_back(axis);
  llvm::sort(axes, [&](int a, int b) {
    return std::pair(level[a], a) < std::pair(level[b], b);
  });
  return axes;
}

void Planner::chooseFold(Operation *op, int axis, OpPlan &plan) {
  const ShardingRule &rule = plan.rule;
  int factor = -1;
  DimShard shard;
  auto fits = [&](int f, const DimShard &folding) {
    Assignment folded = plan.assignment;
    if (f >= 0)
      folded[f].fold = axis;
    for (const auto &list : {rule.operands, rule.results})
      for (const auto &dims : list)
        if (!isExpressible(rule, dims, folded, mesh))
          return false;
    return f >= 0 && rule.factors[f].size % folding.units == 0 &&
           plan.assignment[f].isWhole() &&
           (rule.factors[f].kind == FactorKind::Parallel ||
            rule.factors[f].kind == FactorKind::Reduce) &&
           (factor < 0 || factor == f);
  };
  // An operand from inside of a fold goes on in it when the op can.
  int fold = -1;
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands)) {
    if (isRematerialized(operand))
      continue;
    const Placement &from = placements[operand];
    int d = from.foldedDim();
    if (d < 0 || from.dims[d].fold != axis)
      continue;
    int f = rule.majorFactor(dims[d]);
    if (!fits(f, from.dims[d]) || (factor >= 0 && shard != from.dims[d]))
      continue;
    // A fold cannot wait for its own end.
    int other = foldOf(operand.getDefiningOp());
    if (contains(neededFolds(op, other), other) ||
        (fold >= 0 && fold != other &&
         (contains(folds[fold].needs, other) ||
          contains(folds[other].needs, fold))))
      continue;
    factor = f;
    shard = from.dims[d];
    if (fold < 0) {
      fold = other;
    } else if (fold != other) {
      folds[other].parent = fold;
      folds[fold].needs.insert(folds[other].needs.begin(),
                               folds[other].needs.end());
    }
  }
  // A contraction of sharded tokens and a weight that the strategy folds over
  // the same axis begins one. So does a lookup, where streaming the table moves
  // no more bytes than anything else: it needs no rows of other ranks' tokens.
  bool isLookup = isa<stablehlo::GatherOp>(op);
  if (factor < 0 && (isLookup || isa<stablehlo::DotGeneralOp>(op))) {
    bool otherUse = false;
    int64_t streamed = 0;
    for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands)) {
      if (isRematerialized(operand))
        continue;
      for (auto [d, dim] : llvm::enumerate(placements[operand].dims)) {
        if (dim.levelOf(axis) < 0)
          continue;
        int f = rule.majorFactor(dims[d]);
        if (!seeds.isWeight(operand)) {
          otherUse |= f >= 0 && rule.factors[f].kind == FactorKind::Parallel;
          continue;
        }
        DimShard folding = seeds.foldedShard(operand, d, axis);
        if (folding.fold >= 0 && fits(f, folding)) {
          factor = f;
          shard = folding;
          Placement whole = placements[operand];
          whole.dims[d] = DimShard();
          streamed = moveBytes(operand, whole);
        }
      }
    }
    if (!otherUse ||
        (isLookup && streamed > findCheapest(op, axis, plan).bytes))
      factor = -1;
  }
  if (factor < 0)
    return;
  plan.assignment[factor] = shard;
  if (fold < 0) {
    fold = folds.size();
    folds.push_back({fold, {}});
  }
  plan.fold = fold;
}

void Planner::chooseAxis(Operation *op, int axis, OpPlan &plan) {
  Choice best = findCheapest(op, axis, plan);
  if (best.factor >= 0)
    plan.assignment[best.factor] = best.shard;
}

Planner::Choice Planner::findCheapest(Operation *op, int axis,
                                      const OpPlan &plan) const {
  const ShardingRule &rule = plan.rule;
  int64_t ranks = mesh.getSizes()[axis];

  SmallVector<Choice> candidates;
  auto offer = [&](int f, const DimShard &full, bool wanted) {
    int level = full.levelOf(axis);
    if (f < 0 || level < 0 || rule.factors[f].kind == FactorKind::Whole ||
        plan.assignment[f] != prefixOf(full, level, mesh))
      return;
    DimShard shard = prefixOf(full, level + 1, mesh);
    // Where elements are looked up by index, blocks would be so many cases.
    FactorKind kind = rule.factors[f].kind;
    if (shard.hasBlocks() &&
        (kind == FactorKind::Special ||
         (kind == FactorKind::Reduce && isa<stablehlo::GatherOp>(op))))
      return;
    if (rule.factors[f].evenOnly &&
        shard.chunk * ranksOf(shard, mesh) != rule.factors[f].size)
      return;
    for (Choice &known : candidates)
      if (known.factor == f && known.shard == shard) {
        known.wanted |= wanted;
        return;
      }
    candidates.push_back({f, shard, wanted, 0});
  };
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands)) {
    if (isRematerialized(operand))
      continue;
    for (auto [d, dim] : llvm::enumerate(placement(operand).dims)) {
      auto parts = assignmentOf(rule, dims[d], dim, mesh);
      if (succeeded(parts))
        for (auto [f, shard] : llvm::zip(dims[d], *parts))
          offer(f, shard, false);
    }
  }
  for (auto [result, dims] : llvm::zip(op->getResults(), rule.results))
    for (auto [d, factors] : llvm::enumerate(dims))
      if (int f = rule.majorFactor(factors); f >= 0)
        offer(f,
              splitOver(seeds.wantedShard(result, d).axes, rule.factors[f].size,
                        mesh),
              true);
  Choice none{-1, DimShard(), false, 0};
  if (candidates.empty())
    return none;
  candidates.push_back(none);

  // An axis shards one dim of a value at most.
  auto isLegal = [&](const Assignment &assignment) {
    for (const auto &list : {rule.operands, rule.results})
      for (const auto &dims : list) {
        if (!isExpressible(rule, dims, assignment, mesh))
          return false;
        Placement placement = placementOf(rule, dims, assignment);
        int uses = 0;
        for (const DimShard &dim : placement.dims)
          uses += dim.levelOf(axis) >= 0;
        if (uses > 1)
          return false;
      }
    return true;
  };
  const Choice *best = nullptr;
  for (Choice &candidate : candidates) {
    Assignment assignment = plan.assignment;
    int64_t &cost = candidate.bytes;
    if (candidate.factor >= 0) {
      assignment[candidate.factor] = candidate.shard;
      if (!isLegal(assignment))
        continue;
      FactorKind kind = rule.factors[candidate.factor].kind;
      bool isSdpa = isa<SdpaOp>(op);
      if (kind == FactorKind::Reduce ||
          (kind == FactorKind::Special && isSdpa)) {
        // In a fold, of all steps: so are operands counted.
        Placement result =
            withoutFold(placementOf(rule, rule.results[0], assignment));
        int64_t factor = 2;
        for (int64_t d = 0; d < (int64_t)result.dims.size(); ++d)
          if (kind == FactorKind::Reduce &&
              seeds.wantedShard(op->getResult(0), d).levelOf(axis) >= 0)
            factor = 1;
        cost += factor * bytes(typeOf(op->getResult(0)), result) * (ranks - 1) /
                ranks;
      }
    }
    for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands))
      cost += moveBytes(operand, placementOf(rule, dims, assignment)) +
              weightPenalty(operand, axis, placementOf(rule, dims, assignment));
    if (!best || cost < best->bytes ||
        (cost == best->bytes && candidate.wanted && !best->wanted))
      best = &candidate;
  }
  return *best;
}
