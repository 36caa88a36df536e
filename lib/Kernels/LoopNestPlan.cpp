//===- LoopNestPlan.cpp - which loops write results -----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopNest.h"

using namespace mlir;
using namespace tsp;

namespace {

/// Work that a unit of the grid should hold: of Trial::cost 100 are about a
/// nanosecond. Small nests still get some units, for some threads.
constexpr int64_t kGreatestUnit = 2000000;
constexpr int64_t kLeastUnit = 300000;
constexpr int64_t kWantedUnits = 16;
/// The greatest block of an innermost loop, and both blocks of a transpose.
constexpr int64_t kGreatestBlock = 65536;
constexpr int64_t kTile = 32;
/// Blocks with accumulators stay in the first cache.
constexpr int64_t kAccumulatorBlock = 512;
/// A nest that would fall apart into more pieces chooses at run time.
constexpr unsigned kGreatestNumSplits = 8;

/// Adds the points at which the symbol's loop has to be divided.
void addPoints(SmallVectorImpl<int64_t> &points, const Trial &trial,
               const LinearIndex &symbol) {
  if (std::optional<SymbolId> id = symbol.getSingleSymbol())
    if (auto it = trial.splits.find(*id); it != trial.splits.end())
      points.append(it->second.begin(), it->second.end());
  llvm::sort(points);
  points.erase(llvm::unique(points), points.end());
  if (points.size() > kGreatestNumSplits)
    points.clear();
}

/// How many loads walk through memory with this symbol.
int countContiguous(const Trial &trial, const LinearIndex &symbol) {
  std::optional<SymbolId> id = symbol.getSingleSymbol();
  return !id ? 0 : llvm::count_if(trial.accesses, [&](const Trial::Access &a) {
    return std::abs(a.address.getCoefficient(*id)) == 1;
  });
}

} // namespace

LoopNest::LoopNest(ElementEmitter &emitter, ArrayRef<Target> targets,
                   ArrayRef<Range> ranges)
    : targets(targets), loops(ranges) {
  auto type = cast<RankedTensorType>(targets.front().tensor.getType());
  if (loops.empty() && planFlat(emitter))
    return;
  if (loops.empty())
    for (int64_t size : type.getShape())
      loops.push_back({0, size});
  plan(emitter);
}

ElementIndex LoopNest::makeTrialIndex(ElementEmitter &emitter) {
  ElementIndex index;
  for (Range range : loops)
    index.push_back(emitter.makeSymbol(emitter.constantIndex(range.lower),
                                       range.lower, range.upper - 1));
  return index;
}

/// Elementwise ops on buffers of one shape need no more than one loop.
bool LoopNest::planFlat(ElementEmitter &emitter) {
  auto type = cast<RankedTensorType>(targets.front().tensor.getType());
  if (type.getRank() < 2 ||
      llvm::any_of(targets, [](const Target &target) { return target.update; }))
    return false;
  loops = {{0, type.getNumElements()}};
  isFlat = true;
  ElementIndex index = makeTrialIndex(emitter);
  Trial trial = emitter.tryOut([&] { emitTargets(emitter, index, false); });
  if (trial.choosesByIndex || !trial.uses.empty()) {
    loops.clear();
    isFlat = false;
    return false;
  }
  rowLoops = {0};
  blockedLoop = 0;
  chooseGrid(trial.cost);
  return true;
}

void LoopNest::plan(ElementEmitter &emitter) {
  ElementIndex index = makeTrialIndex(emitter);
  Trial trial = emitter.tryOut([&] { emitTargets(emitter, index, false); });
  for (const Trial::Use &use : trial.uses)
    planReduction(emitter, use, index);
  if (!misfits.empty())
    return;

  // Rows are the loops that all reductions keep.
  for (unsigned loop = 0; loop < loops.size(); ++loop) {
    if (loops[loop].size() == 1)
      continue;
    bool isKept = llvm::all_of(reductions, [&](const RowReduction &row) {
      return llvm::is_contained(row.loops, loop);
    });
    (isKept ? rowLoops : innerLoops).push_back(loop);
  }
  if (reductions.empty() && !rowLoops.empty()) {
    blockedLoop = rowLoops.back();
    planTile(trial, index);
  }
  for (RowReduction &row : reductions)
    planReductionLoops(row);
  for (RowReduction &row : reductions)
    for (auto [loop, range] : llvm::enumerate(loops))
      if (llvm::is_contained(row.loops, unsigned(loop)) &&
          (llvm::is_contained(innerLoops, loop) || loop == blockedLoop))
        row.ownLoops.push_back(loop);

  // Choices between inputs are made by dividing loops where that is possible.
  std::optional<unsigned> innermost = blockedLoop;
  if (!innermost && !innerLoops.empty())
    innermost = innerLoops.back();
  if (innermost)
    addPoints(splits, trial, index[*innermost]);
  for (unsigned loop : rowLoops) {
    if (loop == blockedLoop || loop == tiledLoop)
      continue;
    SmallVector<int64_t> points;
    addPoints(points, trial, index[loop]);
    for (RowReduction &row : reductions)
      addPoints(points, row.trial, index[loop]);
    if (divideAtSplits(emitter, loop, points))
      return;
  }
  chooseGrid(trial.cost);
}

/// Finds the loops of a reduction's dims and plans those that it uses, so that
/// the list is in the order of use.
void LoopNest::planReduction(ElementEmitter &emitter, const Trial::Use &use,
                             ArrayRef<LinearIndex> index) {
  SmallVector<std::optional<unsigned>> dims;
  bool fits = true;
  for (const LinearIndex &i : use.index) {
    if (i == LinearIndex(0)) {
      dims.push_back(std::nullopt);
      continue;
    }
    const LinearIndex *loop = llvm::find(index, i);
    fits &= loop != index.end() && i.getSingleSymbol();
    dims.push_back(loop - index.begin());
  }
  ArrayRef<int64_t> shape = Reduction(use.op).getResultShape();
  for (auto [dim, size] : llvm::zip_equal(dims, shape)) {
    // A part of a dim, or one element of it, would be found in the wrong place.
    fits &= dim ? *dim < loops.size() && llvm::count(dims, dim) == 1
                : size == 1;
  }
  if (fits)
    for (RowReduction &row : reductions)
      if (row.reduction.getOp() == use.op) {
        if (row.loops == dims)
          return;
        fits = false;
      }
  if (!fits) {
    if (!llvm::is_contained(misfits, use.op))
      misfits.push_back(use.op);
    return;
  }

  RowReduction row(use.op, dims);
  for (int64_t extent : row.reduction.getExtents())
    row.trialPosition.push_back(
        emitter.makeSymbol(emitter.constantIndex(0), 0,
                           std::max<int64_t>(extent, 1) - 1));
  row.trialLoops.assign(index.begin(), index.end());
  row.trial = emitter.tryOut([&] {
    SmallVector<Value> accumulators = row.reduction.emitInits(emitter);
    row.reduction.emitStep(emitter, accumulators, use.index, row.trialPosition);
  });
  for (const Trial::Use &nested : row.trial.uses)
    planReduction(emitter, nested, index);
  reductions.push_back(std::move(row));
}

/// If some load steps over lines of memory in the innermost loop, but goes
/// along them in another, both loops have blocks.
void LoopNest::planTile(const Trial &trial, ArrayRef<LinearIndex> index) {
  constexpr int64_t line = 16;
  SymbolId innermost = *index[*blockedLoop].getSingleSymbol();
  for (const Trial::Access &access : trial.accesses) {
    if (std::abs(access.address.getCoefficient(innermost)) < line ||
        loops[*blockedLoop].size() < line)
      continue;
    for (unsigned loop : ArrayRef(rowLoops).drop_back())
      if (std::abs(access.address.getCoefficient(
              *index[loop].getSingleSymbol())) == 1 &&
          loops[loop].size() >= line)
        tiledLoop = loop;
  }
}

/// Scalars in a loop over the accumulated elements, or accumulators in memory
/// with a loop over them inside: whichever walks through memory.
void LoopNest::planReductionLoops(RowReduction &row) {
  bool endsInRow =
      !rowLoops.empty() &&
      (innerLoops.empty() || rowLoops.back() > innerLoops.back());
  std::optional<unsigned> candidate;
  for (auto [loop, range] : llvm::enumerate(loops))
    if (llvm::is_contained(row.loops, unsigned(loop)) && range.size() != 1 &&
        (llvm::is_contained(innerLoops, loop) ||
         (endsInRow && loop == rowLoops.back())))
      candidate = loop;
  LinearIndex last;
  for (const LinearIndex &i : row.trialPosition)
    if (!i.isConstant())
      last = i;
  int along = countContiguous(row.trial, last);
  int across =
      candidate ? countContiguous(row.trial, row.trialLoops[*candidate]) : 0;
  if (across > 0 && across >= along) {
    row.vectorLoop = candidate;
    if (!llvm::is_contained(innerLoops, *candidate))
      blockedLoop = candidate;
    addPoints(row.splits, row.trial, row.trialLoops[*candidate]);
  } else {
    addPoints(row.splits, row.trial, last);
  }
}

/// Replaces the nest by nests over the parts of one loop.
bool LoopNest::divideAtSplits(ElementEmitter &emitter, unsigned loop,
                              ArrayRef<int64_t> points) {
  SmallVector<int64_t> bounds{loops[loop].lower};
  for (int64_t point : points)
    if (point > bounds.back() && point < loops[loop].upper)
      bounds.push_back(point);
  if (bounds.size() == 1)
    return false;
  bounds.push_back(loops[loop].upper);
  for (unsigned part = 0; part + 1 < bounds.size(); ++part) {
    SmallVector<Range> ranges(loops);
    ranges[loop] = {bounds[part], bounds[part + 1]};
    LoopNest nest(emitter, targets, ranges);
    std::vector<LoopNest> smaller = nest.takeParts();
    if (smaller.empty())
      parts.push_back(std::move(nest));
    else
      llvm::move(smaller, std::back_inserter(parts));
  }
  return true;
}

/// Divides the rows into units of about equal, sufficient work.
void LoopNest::chooseGrid(int64_t elementCost) {
  int64_t rowCost = elementCost;
  for (unsigned loop : innerLoops)
    rowCost *= loops[loop].size();
  for (RowReduction &row : reductions) {
    int64_t steps = row.trial.cost;
    for (int64_t extent : row.reduction.getExtents())
      steps *= std::max<int64_t>(extent, 1);
    for (unsigned loop : row.ownLoops)
      if (loop != blockedLoop)
        steps *= loops[loop].size();
    rowCost += steps;
  }
  rowCost = std::max<int64_t>(rowCost, 1);
  int64_t total = rowCost;
  for (unsigned loop : rowLoops)
    total *= loops[loop].size();
  int64_t unitCost = std::clamp(total / kWantedUnits, kLeastUnit, kGreatestUnit);

  numRows = 1;
  for (unsigned loop : rowLoops)
    if (loop != blockedLoop && loop != tiledLoop)
      numRows *= loops[loop].size();
  if (tiledLoop) {
    tileSize = blockSize = kTile;
    for (unsigned loop : {*tiledLoop, *blockedLoop})
      numRows *= llvm::divideCeil(loops[loop].size(), kTile);
    // Steps across lines of memory are slow even so.
    rowCost *= 4 * kTile * kTile;
  } else if (blockedLoop) {
    int64_t size = loops[*blockedLoop].size();
    int64_t greatest = reductions.empty() ? kGreatestBlock : kAccumulatorBlock;
    // Whole vectors, so that only the last block has a remainder.
    int64_t wanted =
        llvm::alignTo(std::max<int64_t>(unitCost / rowCost, 1), 64);
    blockSize = std::max<int64_t>(std::min({size, greatest, wanted}), 1);
    numRows *= llvm::divideCeil(size, blockSize);
    rowCost *= blockSize;
  }
  rowsPerUnit = std::clamp<int64_t>(unitCost / rowCost, 1,
                                    std::max<int64_t>(numRows, 1));
  grid = llvm::divideCeil(numRows, rowsPerUnit);
}
