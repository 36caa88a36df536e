//===- LoopNestPlan.cpp - how the host divides a nest ---------------------===//
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
} // namespace

LoopNest::LoopNest(ElementEmitter &emitter, ScratchPlan &scratch,
                   ArrayRef<Target> targets, ArrayRef<Range> ranges)
    : Nest(emitter, targets, ranges), scratch(scratch) {
  findWork();
  if (!misfits.empty())
    return;
  if (isFlat) {
    blockedLoop = 0;
    chooseGrid();
    return;
  }
  if (reductions.empty() && !rowLoops.empty()) {
    blockedLoop = rowLoops.back();
    planTile();
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
    addSplits(splits, elementTrial, trialIndex[*innermost]);
  if (!divideRows())
    chooseGrid();
}

bool LoopNest::divideRows() {
  for (unsigned loop : rowLoops) {
    if (loop == blockedLoop || loop == tiledLoop)
      continue;
    SmallVector<int64_t> points;
    addSplits(points, elementTrial, trialIndex[loop]);
    for (RowReduction &row : reductions)
      addSplits(points, row.trial, trialIndex[loop]);
    if (divide(loop, points, [&](ArrayRef<Range> ranges) {
          return std::make_unique<LoopNest>(emitter, scratch, targets, ranges);
        }))
      return true;
  }
  return false;
}

/// If some load steps over lines of memory in the innermost loop, but goes
/// along them in another, both loops have blocks.
void LoopNest::planTile() {
  constexpr int64_t line = 16;
  SymbolId innermost = *trialIndex[*blockedLoop].getSingleSymbol();
  for (const Trial::Access &access : elementTrial.accesses) {
    if (std::abs(access.address.getCoefficient(innermost)) < line ||
        loops[*blockedLoop].size() < line)
      continue;
    for (unsigned loop : ArrayRef(rowLoops).drop_back())
      if (std::abs(access.address.getCoefficient(
              *trialIndex[loop].getSingleSymbol())) == 1 &&
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
    addSplits(row.splits, row.trial, row.trialLoops[*candidate]);
  } else {
    addSplits(row.splits, row.trial, last);
  }
}

/// Divides the rows into units of about equal, sufficient work.
void LoopNest::chooseGrid() {
  int64_t rowCost = elementTrial.cost;
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
