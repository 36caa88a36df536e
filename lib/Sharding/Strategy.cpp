//===- Strategy.cpp - strategies are seeds --------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Sharding/Strategy.h"
#include "tsp/Dialect/StableHLO/IR/ArgMax.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tsp;

StringRef tsp::roleName(Role role) {
  switch (role) {
  case Role::None:
    return "none";
  case Role::Batch:
    return "batch";
  case Role::Token:
    return "token";
  case Role::Head:
    return "head";
  case Role::Ffn:
    return "ffn";
  case Role::Vocab:
    return "vocab";
  }
  llvm_unreachable("all roles have a name");
}

FailureOr<SmallVector<StrategyItem>>
tsp::parseStrategy(StringRef text, MeshAttr mesh,
                   function_ref<InFlightDiagnostic()> emitError) {
  SmallVector<StrategyItem> items;
  SmallVector<StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  llvm::SmallDenseSet<int> used;
  for (StringRef part : parts) {
    auto [head, axisName] = part.trim().split('@');
    auto [name, rest] = head.split('(');
    if (head == "none")
      continue;
    StrategyItem item{};
    if (name == "tp")
      item.kind = StrategyItem::TP;
    else if (name == "tsp")
      item.kind = StrategyItem::TSP;
    else if (name == "sp_gather")
      item.kind = StrategyItem::SpGather;
    else if (name == "data")
      item.kind = StrategyItem::Data;
    else
      return emitError()
             << "unknown strategy '" << name
             << "'; known are none, tp, tsp, sp_gather and data, each with "
                "@AXIS, joined by commas (data@d,tsp@t)";
    if (name != head) {
      StringRef text = rest;
      std::optional<Layout> layout;
      if (text.consume_back(")"))
        layout = symbolizeLayout(text);
      if (!layout)
        return emitError() << "strategy '" << part << "' has the layout '("
                           << rest << "'; known are (contiguous) and (zigzag)";
      if (item.kind != StrategyItem::TSP && item.kind != StrategyItem::SpGather)
        return emitError() << "strategy '" << name
                           << "' shards no tokens, so it takes no layout; tsp "
                              "and sp_gather do";
      item.layout = *layout;
    }
    if (axisName.empty()) {
      SmallVector<int> large;
      for (auto [i, size] : llvm::enumerate(mesh.getSizes()))
        if (size > 1)
          large.push_back(i);
      if (large.empty())
        continue; // one rank: nothing to shard
      if (large.size() > 1)
        return emitError() << "strategy '" << name
                           << "' needs an axis, as the mesh has "
                           << large.size() << " of a size over 1; write "
                           << name << "@"
                           << mesh.getAxes()[large[0]].getValue();
      item.axis = large[0];
    } else {
      item.axis = mesh.getAxisIndex(axisName);
      if (item.axis < 0) {
        InFlightDiagnostic diag = emitError();
        diag << "strategy '" << part << "' names axis '" << axisName
             << "', which the mesh lacks; its axes are";
        for (StringAttr axis : mesh.getAxes())
          diag << " " << axis.getValue();
        return diag;
      }
    }
    if (!used.insert(item.axis).second)
      return emitError() << "mesh axis " << mesh.getAxes()[item.axis]
                         << " is used by two strategies";
    for (const StrategyItem &other : items)
      if (other.kind == item.kind &&
          (item.kind == StrategyItem::TP || item.kind == StrategyItem::TSP))
        return emitError() << "strategy '" << name << "' is given for axes "
                           << mesh.getAxes()[other.axis] << " and "
                           << mesh.getAxes()[item.axis]
                           << "; weights are sharded over one axis only: give "
                              "the mesh one axis of "
                           << mesh.getSizes()[other.axis] *
                                  mesh.getSizes()[item.axis]
                           << " ranks, or use sp_gather for one of them";
    if (mesh.getSizes()[item.axis] > 1)
      items.push_back(item);
  }
  return items;
}

int64_t tsp::stepsOf(int64_t units, int64_t ranks) {
  for (int64_t steps = std::min(units, ranks);
       steps <= std::min(units, 4 * ranks); ++steps)
    if (units % steps == 0)
      return steps;
  return std::min(units, ranks);
}

Seeds::Seeds(func::FuncOp func, MeshAttr mesh, ArrayRef<StrategyItem> items)
    : mesh(mesh), classes(func) {
  findWeights(func);
  findRoles(func);
  placeArguments(func, items);
}

LogicalResult Seeds::readArguments(func::FuncOp func) {
  for (BlockArgument arg : func.getArguments()) {
    auto attr = func.getArgAttrOfType<PlacementAttr>(arg.getArgNumber(),
                                                     "tsp.placement");
    if (!attr)
      continue;
    auto placement = fromAttr(
        attr, cast<RankedTensorType>(arg.getType()), mesh,
        [&] { return mlir::emitError(arg.getLoc()); },
        /*isOutside=*/true);
    if (failed(placement))
      return failure();
    for (auto [d, dim] : llvm::enumerate(placement->dims))
      if (isWeight(arg) && isFoldable(arg, d, foldAxis) &&
          dim.levelOf(foldAxis) >= 0 && !dim.isOnly(foldAxis))
        return mlir::emitError(arg.getLoc())
               << "dim " << d << " (" << roleName(roleOf(arg, d)) << ", "
               << typeOf(arg).getDimSize(d) << " elements) is placed as "
               << attr << ", but the strategy folds it over axis "
               << mesh.getAxes()[foldAxis]
               << ", which must be the only one of the dim, in contiguous "
                  "chunks; leave its placement to the strategy";
    arguments[arg.getArgNumber()] = *placement;
  }
  return success();
}

DimShard Seeds::wantedShard(Value value, int64_t dim) {
  Role role = roleOf(value, dim);
  ArrayRef<AxisSplit> axes;
  if (role == Role::Token)
    axes = tokenAxes;
  else if (role == Role::Batch)
    axes = batchAxes;
  // Fewer elements than ranks: whole, as in decoding.
  int64_t size = typeOf(value).getDimSize(dim);
  DimShard shard = splitOver(axes, size, mesh);
  return size >= ranksOf(shard, mesh) ? shard : DimShard();
}

Placement Seeds::wantedPlacement(Value value) {
  Placement placement(typeOf(value).getRank());
  for (auto [d, dim] : llvm::enumerate(placement.dims)) {
    DimShard wanted = wantedShard(value, d);
    if (llvm::none_of(wanted.axes, [&](const AxisSplit &split) {
          return placement.usesAxis(split.axis);
        }))
      dim = wanted;
  }
  return placement;
}

bool Seeds::isFoldable(Value value, int64_t dim, int axis) {
  Role role = roleOf(value, dim);
  return axis >= 0 && axis == foldAxis &&
         (role == Role::Head || role == Role::Ffn || role == Role::Vocab);
}

DimShard Seeds::foldedShard(Value value, int64_t dim, int axis) {
  DimShard shard;
  if (!isFoldable(value, dim, axis))
    return shard;
  int64_t units = classes.size(classes.majorClass(value, dim));
  shard.fold = axis;
  shard.steps = stepsOf(units, mesh.getSizes()[axis]);
  shard.units = units % shard.steps ? units : shard.steps;
  return shard;
}

Role Seeds::roleOf(Value value, int64_t dim) {
  int cls = classes.majorClass(value, dim);
  return cls < 0 ? Role::None : roles.lookup(cls);
}

void Seeds::findWeights(func::FuncOp func) {
  for (BlockArgument arg : func.getArguments()) {
    auto kind =
        func.getArgAttrOfType<StringAttr>(arg.getArgNumber(), "tsp.kind");
    if (kind && kind.getValue() == "parameter")
      weights.insert(arg);
  }
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    // Weights that a loop carries unchanged.
    if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
      Operation *yield = loop.getBody().front().getTerminator();
      for (auto [i, operand] : llvm::enumerate(loop.getOperand()))
        if (weights.contains(operand) &&
            yield->getOperand(i) == loop.getBody().getArgument(i))
          for (Value other : {Value(loop.getCond().getArgument(i)),
                              Value(loop.getBody().getArgument(i)),
                              Value(loop->getResult(i))})
            weights.insert(other);
      return;
    }
    // What picks a layer's weight (dynamic_slice) may use a counter.
    unsigned operands =
        isa<stablehlo::DynamicSliceOp>(op) ? 1 : op->getNumOperands();
    bool any = false,
         all = op->getNumRegions() == 0 && !isa<stablehlo::GatherOp>(op);
    for (Value operand : op->getOperands().take_front(operands)) {
      bool isWeight = weights.contains(operand);
      any |= isWeight;
      all &= isWeight || matchPattern(operand, m_Constant());
    }
    if (any && all)
      weights.insert(op->getResults().begin(), op->getResults().end());
  });
}

void Seeds::findRoles(func::FuncOp func) {
  llvm::DenseSet<int> introduced, contracted, hidden, heads, vocab, scored,
      tokens, batch;
  // Of each contraction with a weight: a class it brings in, one it sums away.
  SmallVector<std::pair<int, int>> contractions;
  auto note = [&](llvm::DenseSet<int> &set, Value value, int64_t dim) {
    int cls = classes.majorClass(value, dim);
    if (cls >= 0)
      set.insert(cls);
  };
  func.walk([&](Operation *op) {
    if (auto sdpa = dyn_cast<SdpaOp>(op)) {
      note(batch, sdpa.getQ(), 0);
      note(tokens, sdpa.getQ(), 1);
      note(tokens, sdpa.getK(), 1);
      note(heads, sdpa.getK(), 2);
    } else if (auto gather = dyn_cast<stablehlo::GatherOp>(op)) {
      if (!isWeight(gather.getOperand()))
        return;
      ShardingRule rule = cast<ShardingRuleOpInterface>(op).getShardingRule();
      for (auto [d, factors] : llvm::enumerate(rule.operands[0]))
        for (int f : factors)
          note(rule.factors[f].kind == FactorKind::Reduce ? vocab : hidden,
               gather.getOperand(), d);
    } else if (auto lse = dyn_cast<LogSumExpOp>(op)) {
      note(scored, lse.getInput(), lse.getDim());
    } else if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op)) {
      bool isArgMax = stablehlo::isArgMaxReducer(reduce.getBody());
      for (int64_t d : reduce.getDimensions())
        note(isArgMax ? scored : hidden, reduce.getInputs()[0], d);
    } else if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op)) {
      if (isWeight(dot.getLhs()) == isWeight(dot.getRhs()))
        return;
      auto dims = dot.getDotDimensionNumbers();
      bool left = isWeight(dot.getLhs());
      Value weight = left ? dot.getLhs() : dot.getRhs();
      ArrayRef<int64_t> sum = left ? dims.getLhsContractingDimensions()
                                   : dims.getRhsContractingDimensions();
      ArrayRef<int64_t> same = left ? dims.getLhsBatchingDimensions()
                                    : dims.getRhsBatchingDimensions();
      for (int64_t d = 0;
           d < cast<RankedTensorType>(weight.getType()).getRank(); ++d) {
        if (llvm::is_contained(sum, d)) {
          note(contracted, weight, d);
          continue;
        }
        if (llvm::is_contained(same, d))
          continue;
        note(introduced, weight, d);
        for (int64_t s : sum)
          contractions.push_back(
              {classes.majorClass(weight, d), classes.majorClass(weight, s)});
      }
    }
  });
  // Inputs: what a weight contracts is hidden; of the rest the last dim is the
  // tokens and the first the batch, unless attention has told.
  for (BlockArgument arg : func.getArguments()) {
    if (isWeight(arg))
      continue;
    auto type = cast<RankedTensorType>(arg.getType());
    SmallVector<int> free;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      int cls = classes.majorClass(arg, d);
      if (cls >= 0 && contracted.contains(cls))
        hidden.insert(cls);
      else if (cls >= 0)
        free.push_back(cls);
    }
    if (!tokens.empty() || free.empty())
      continue;
    roles.try_emplace(free.back(), Role::Token);
    if (free.size() > 1)
      roles.try_emplace(free.front(), Role::Batch);
  }
  // What a row-parallel contraction brings in is hidden again.
  for (auto [in, out] : contractions)
    if (introduced.contains(out) && !hidden.contains(out))
      hidden.insert(in);
  for (int cls : batch)
    roles[cls] = Role::Batch;
  for (int cls : tokens)
    roles[cls] = Role::Token;
  for (int cls : heads)
    roles.try_emplace(cls, Role::Head);
  for (int cls : vocab)
    roles.try_emplace(cls, Role::Vocab);
  // What a weight brings in and a loss or an argmax runs along.
  for (int cls : scored)
    if (introduced.contains(cls))
      roles.try_emplace(cls, Role::Vocab);
  for (int cls : introduced) {
    if (hidden.contains(cls))
      continue;
    roles.try_emplace(cls, contracted.contains(cls) ? Role::Ffn : Role::Vocab);
  }
}

void Seeds::placeArguments(func::FuncOp func, ArrayRef<StrategyItem> items) {
  int unitAxis = -1;
  for (const StrategyItem &item : items) {
    if (item.kind == StrategyItem::TP)
      unitAxis = item.axis;
    else if (item.kind == StrategyItem::TSP)
      foldAxis = item.axis;
    if (item.kind == StrategyItem::Data)
      batchAxes.push_back({item.axis});
    else if (item.kind != StrategyItem::TP)
      tokenAxes.push_back({item.axis, item.layout});
  }
  for (BlockArgument arg : func.getArguments()) {
    auto type = cast<RankedTensorType>(arg.getType());
    Placement placement(type.getRank());
    if (!isWeight(arg)) {
      arguments.push_back(wantedPlacement(arg));
      continue;
    }
    int axis = foldAxis >= 0 ? foldAxis : unitAxis;
    if (axis >= 0) {
      int64_t ranks = mesh.getSizes()[axis], chosen = -1;
      for (int64_t d = 0; d < type.getRank() && chosen < 0; ++d) {
        Role role = roleOf(arg, d);
        if (role == Role::Head || role == Role::Ffn || role == Role::Vocab)
          chosen = d;
      }
      int64_t unit = 1;
      if (chosen >= 0 && axis == unitAxis)
        unit = type.getDimSize(chosen) /
               classes.size(classes.majorClass(arg, chosen));
      // Under tsp a matrix without a role is stored sharded all the same and
      // gathered where it is used.
      if (chosen < 0 && axis == foldAxis && type.getRank() >= 2) {
        chosen =
            std::max_element(type.getShape().begin(), type.getShape().end()) -
            type.getShape().begin();
        if (type.getDimSize(chosen) < ranks)
          chosen = -1;
      }
      if (chosen >= 0)
        placement.dims[chosen] =
            splitOver(AxisSplit{axis}, type.getDimSize(chosen), mesh, unit);
    }
    arguments.push_back(placement);
  }
}
