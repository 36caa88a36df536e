//===- Nest.cpp - what the loops that write results have to do ------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nest.h"

#include "Emit.h"

using namespace mlir;
using namespace tsp;

/// A nest that would fall apart into more pieces chooses at run time.
static constexpr unsigned kGreatestNumSplits = 8;

void tsp::addSplits(SmallVectorImpl<int64_t> &points, const Trial &trial,
                    const LinearIndex &symbol) {
  if (std::optional<SymbolId> id = symbol.getSingleSymbol())
    if (auto it = trial.splits.find(*id); it != trial.splits.end())
      points.append(it->second.begin(), it->second.end());
  llvm::sort(points);
  points.erase(llvm::unique(points), points.end());
  if (points.size() > kGreatestNumSplits)
    points.clear();
}

int tsp::countContiguous(const Trial &trial, const LinearIndex &symbol) {
  std::optional<SymbolId> id = symbol.getSingleSymbol();
  return !id ? 0 : llvm::count_if(trial.accesses, [&](const Trial::Access &a) {
    return std::abs(a.address.getCoefficient(*id)) == 1;
  });
}

void Nest::makeTrialIndex() {
  trialIndex.clear();
  for (Range range : loops)
    trialIndex.push_back(emitter.makeSymbol(emitter.constantIndex(range.lower),
                                            range.lower, range.upper - 1));
}

/// Elementwise ops on buffers of one shape need no more than one loop.
bool Nest::tryFlat() {
  auto type = cast<RankedTensorType>(targets.front().tensor.getType());
  if (type.getRank() < 2 ||
      llvm::any_of(targets, [](const Target &target) { return target.update; }))
    return false;
  loops = {{0, type.getNumElements()}};
  isFlat = true;
  makeTrialIndex();
  elementTrial = emitter.tryOut([&] { emitTargets(trialIndex, false); });
  if (elementTrial.choosesByIndex || !elementTrial.uses.empty()) {
    loops.clear();
    isFlat = false;
    return false;
  }
  rowLoops = {0};
  return true;
}

void Nest::findWork() {
  if (loops.empty() && tryFlat())
    return;
  if (loops.empty())
    for (int64_t size :
         cast<RankedTensorType>(targets.front().tensor.getType()).getShape())
      loops.push_back({0, size});
  makeTrialIndex();
  elementTrial = emitter.tryOut([&] { emitTargets(trialIndex, false); });
  for (const Trial::Use &use : elementTrial.uses)
    planReduction(use);
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
}

/// Finds the loops of a reduction's dims and plans those that it uses, so that
/// the list is in the order of use.
void Nest::planReduction(const Trial::Use &use) {
  SmallVector<std::optional<unsigned>> dims;
  bool fits = true;
  for (const LinearIndex &i : use.index) {
    if (i == LinearIndex(0)) {
      dims.push_back(std::nullopt);
      continue;
    }
    const LinearIndex *loop = llvm::find(trialIndex, i);
    fits &= loop != trialIndex.end() && i.getSingleSymbol();
    dims.push_back(loop - trialIndex.begin());
  }
  ArrayRef<int64_t> shape = Reduction(use.op).getResultShape();
  for (auto [dim, size] : llvm::zip_equal(dims, shape)) {
    // A part of a dim, or one element of it, would be found in the wrong place.
    fits &=
        dim ? *dim < loops.size() && llvm::count(dims, dim) == 1 : size == 1;
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
    row.trialPosition.push_back(emitter.makeSymbol(
        emitter.constantIndex(0), 0, std::max<int64_t>(extent, 1) - 1));
  row.trialLoops = trialIndex;
  row.trial = emitter.tryOut([&] {
    SmallVector<Value> accumulators = row.reduction.emitInits(emitter);
    row.reduction.emitStep(emitter, accumulators, use.index, row.trialPosition);
  });
  for (const Trial::Use &nested : row.trial.uses)
    planReduction(nested);
  reductions.push_back(std::move(row));
}

bool Nest::divide(
    unsigned loop, ArrayRef<int64_t> points,
    llvm::function_ref<std::unique_ptr<Nest>(ArrayRef<Range>)> makePart) {
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
    std::unique_ptr<Nest> nest = makePart(ranges);
    // A reduction that fits into all rows need not fit into a part of one row:
    // its place in that dim is then a number and no loop.
    if (!nest->getMisfits().empty()) {
      parts.clear();
      return false;
    }
    std::vector<std::unique_ptr<Nest>> smaller = nest->takeParts();
    if (smaller.empty())
      parts.push_back(std::move(nest));
    else
      llvm::move(smaller, std::back_inserter(parts));
  }
  return true;
}

void Nest::emitTargets(ArrayRef<ElementIndex> indices, bool store) {
  SmallVector<Value> values;
  for (const ElementIndex &index : indices)
    for (const Target &target : targets)
      values.push_back(isFlat ? emitter.emitFlat(target.tensor, index.front())
                              : emitter.emit(target.tensor, index));
  if (!store)
    return;
  const Value *value = values.begin();
  for (const ElementIndex &index : indices)
    for (const Target &target : targets) {
      auto type = cast<RankedTensorType>(target.tensor.getType());
      LinearIndex place = isFlat ? index.front()
                          : target.update
                              ? emitUpdatePlace(emitter, target.update, index)
                              : linearize(index, type.getShape());
      emitter.store(*value++, target.buffer, type.getElementType(), place);
    }
}

ElementIndex Nest::getReductionIndex(const RowReduction &row) const {
  ElementIndex index;
  for (std::optional<unsigned> loop : row.loops)
    index.push_back(loop ? loopIndex[*loop] : LinearIndex(0));
  return index;
}

void Nest::storeResults(const RowReduction &row) {
  ElementIndex index = getReductionIndex(row);
  LinearIndex place = linearize(index, row.reduction.getResultShape());
  for (auto [result, buffer] :
       llvm::zip_equal(row.reduction.getOp()->getResults(), row.resultBuffers))
    if (buffer)
      emitter.store(emitter.emit(result, index), buffer,
                    getElementTypeOrSelf(result), place);
}

void Nest::unbindReductions() {
  for (RowReduction &row : reductions)
    for (Value result : row.reduction.getOp()->getResults())
      emitter.unbind(result);
}
