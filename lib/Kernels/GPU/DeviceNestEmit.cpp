//===- DeviceNestEmit.cpp - the code of a nest on a GPU -------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceNest.h"

using namespace mlir;
using namespace tsp;

void DeviceNest::emitUnit(const LinearIndex &unit) {
  if (tiledLoop)
    return emitTile(unit);
  if (reductions.empty())
    return emitElements(unit);
  Team team(code, shape);
  emitRow(team, unit);
}

/// Sets the index of each loop for a row; `sizes` are those of the row loops.
void DeviceNest::setRow(const LinearIndex &row, ArrayRef<int64_t> sizes) {
  loopIndex.clear();
  for (Range range : loops)
    loopIndex.push_back(LinearIndex(range.lower));
  ElementIndex position = emitter.delinearize(row, sizes);
  for (auto [loop, i] : llvm::zip_equal(rowLoops, position))
    loopIndex[loop] = loopIndex[loop] + i;
}

void DeviceNest::emitElements(const LinearIndex &unit) {
  LinearIndex place = unit * numThreads + code.getThread();
  int64_t count = numRows / elementWidth;
  Value isReal;
  if (grid * numThreads != count)
    isReal = arith::CmpIOp::create(
        emitter.getBuilder(), emitter.getLoc(), arith::CmpIPredicate::slt,
        emitter.materialize(place), emitter.constantIndex(count));
  emitter.emitWhen(isReal, [&] {
    SmallVector<int64_t> sizes;
    for (unsigned loop : rowLoops)
      sizes.push_back(loops[loop].size());
    if (elementWidth > 1)
      sizes.back() /= elementWidth;
    setRow(place, sizes);
    SmallVector<ElementIndex, 0> indices(elementWidth, loopIndex);
    if (elementWidth > 1) {
      unsigned last = rowLoops.back();
      LinearIndex lower(loops[last].lower);
      for (auto [number, index] : llvm::enumerate(indices))
        index[last] = (index[last] - lower) * elementWidth + lower + number;
    }
    emitTargets(indices);
  });
}

void DeviceNest::emitRow(Team &team, const LinearIndex &unit) {
  auto [row, isReal] = team.emitRow(unit, numRows);
  SmallVector<int64_t> sizes, extents;
  for (unsigned loop : rowLoops)
    sizes.push_back(loops[loop].size());
  for (unsigned loop : innerLoops)
    extents.push_back(loops[loop].size());
  setRow(row, sizes);

  for (RowReduction &reduction : reductions)
    emitReduction(team, reduction, unit, isReal);
  emitter.emitWhen(isReal, [&] {
    team.emitLoop(extents, innerWidth, {},
                  [&](ArrayRef<ElementIndex> positions, ValueRange) {
                    SmallVector<ElementIndex, 0> indices;
                    for (const ElementIndex &position : positions) {
                      indices.push_back(loopIndex);
                      for (auto [loop, i] :
                           llvm::zip_equal(innerLoops, position))
                        indices.back()[loop] = indices.back()[loop] + i;
                    }
                    emitTargets(indices);
                    return SmallVector<Value>();
                  });
  });
  unbindReductions();
}

void DeviceNest::emitReduction(Team &team, RowReduction &row,
                               const LinearIndex &unit, Value isReal) {
  const Reduction &reduction = row.reduction;
  Operation *op = reduction.getOp();
  emitter.setLoc(op->getLoc());
  bool isStored =
      llvm::any_of(row.resultBuffers, [](Value buffer) { return buffer; });

  if (row.ownLoops.empty()) {
    SmallVector<Value> values =
        team.emitReduction(reduction, reductionWidth, getReductionIndex(row));
    for (auto [number, result] : llvm::enumerate(op->getResults())) {
      Value value = reduction.emitResult(emitter, number, values[number]);
      emitter.bind(result, [value](ArrayRef<LinearIndex>) { return value; });
    }
    if (isStored)
      emitter.emitWhen(isReal, [&] {
        team.emitLoop({}, 1, {}, [&](ArrayRef<ElementIndex>, ValueRange) {
          storeResults(row);
          return SmallVector<Value>();
        });
      });
    return;
  }

  // A buffer over the loops that the reduction keeps and the rows do not; the
  // team is the whole block, and each thread computes some elements.
  SmallVector<int64_t> extents;
  int64_t count = 1;
  for (unsigned loop : row.ownLoops) {
    extents.push_back(loops[loop].size());
    count *= extents.back();
  }
  SmallVector<BlockCode::Buffer> buffers;
  for (Type type : reduction.getAccumulatorTypes())
    buffers.push_back(code.allocateInUnit(count, type, unit, grid));
  auto placeOf = [this, &row](ArrayRef<LinearIndex> index) {
    LinearIndex place;
    for (unsigned loop : row.ownLoops) {
      const LinearIndex &i =
          index[llvm::find(row.loops, loop) - row.loops.begin()];
      place = place * loops[loop].size() + i - loops[loop].lower;
    }
    return place;
  };
  team.emitLoop(
      extents, 1, {}, [&](ArrayRef<ElementIndex> positions, ValueRange) {
        ElementIndex outer = loopIndex;
        for (auto [loop, i] : llvm::zip_equal(row.ownLoops, positions.front()))
          loopIndex[loop] = loopIndex[loop] + i;
        ElementIndex index = getReductionIndex(row);
        SmallVector<Value> values = reduction.emitLoops(emitter, index, {});
        for (auto [value, buffer, type] :
             llvm::zip_equal(values, buffers, reduction.getAccumulatorTypes()))
          emitter.store(value, buffer.flat, type,
                        buffer.start + placeOf(index));
        loopIndex = outer;
        return SmallVector<Value>();
      });
  code.barrier();
  for (auto [number, result] : llvm::enumerate(op->getResults())) {
    unsigned resultNumber = number;
    BlockCode::Buffer buffer = buffers[number];
    Type type = reduction.getAccumulatorTypes()[number];
    emitter.bind(result, [this, &reduction, placeOf, resultNumber, buffer,
                          type](ArrayRef<LinearIndex> index) {
      Value value =
          emitter.load(buffer.flat, type, buffer.start + placeOf(index));
      return reduction.emitResult(emitter, resultNumber, value);
    });
  }
  if (isStored)
    emitter.emitWhen(isReal, [&] {
      team.emitLoop(extents, 1, {},
                    [&](ArrayRef<ElementIndex> positions, ValueRange) {
                      ElementIndex outer = loopIndex;
                      for (auto [loop, i] :
                           llvm::zip_equal(row.ownLoops, positions.front()))
                        loopIndex[loop] = loopIndex[loop] + i;
                      storeResults(row);
                      loopIndex = outer;
                      return SmallVector<Value>();
                    });
    });
}
