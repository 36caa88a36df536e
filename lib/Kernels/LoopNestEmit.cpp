//===- LoopNestEmit.cpp - the code of a nest on the host -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopNest.h"

#include "Emit.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Kernels/Kernels.h"

using namespace mlir;
using namespace tsp;

void LoopNest::emit(Value begin, Value end) {
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLoc();
  Value perUnit = emitter.constantIndex(rowsPerUnit);
  Value lower = arith::MulIOp::create(builder, loc, begin, perUnit);
  Value upper = arith::MulIOp::create(builder, loc, end, perUnit);
  if (grid * rowsPerUnit != numRows)
    upper = arith::MinSIOp::create(builder, loc, upper,
                                   emitter.constantIndex(numRows));
  if (numRows == 0)
    return;
  emitter.emitLoop(lower, upper, 0, numRows - 1, {},
                   [&](LinearIndex row, ValueRange) {
                     emitRow(row);
                     return SmallVector<Value>();
                   });
}

void LoopNest::emitRow(const LinearIndex &row) {
  SmallVector<int64_t> sizes;
  for (unsigned loop : rowLoops)
    sizes.push_back(llvm::divideCeil(loops[loop].size(), getBlockSize(loop)));
  ElementIndex position = emitter.delinearize(row, sizes);

  loopIndex.clear();
  for (Range range : loops)
    loopIndex.push_back(LinearIndex(range.lower));
  for (auto [loop, i] : llvm::zip_equal(rowLoops, position)) {
    Range range = loops[loop];
    int64_t size = getBlockSize(loop);
    LinearIndex start = i * size + range.lower;
    if (loop != blockedLoop && loop != tiledLoop) {
      loopIndex[loop] = start;
      continue;
    }
    Value upper = emitter.constantIndex(range.upper);
    if (size != range.size())
      upper = arith::MinSIOp::create(emitter.getBuilder(), emitter.getLoc(),
                                     emitter.materialize(start + size), upper);
    blocks[loop] = {start, emitter.materialize(start), upper};
  }

  for (RowReduction &reduction : reductions)
    emitReduction(reduction);
  SmallVector<unsigned> order(innerLoops);
  if (tiledLoop)
    order.push_back(*tiledLoop);
  if (blockedLoop)
    order.push_back(*blockedLoop);
  emitLoopsInRow(order, splits, [&] { emitTargets(loopIndex); });
  unbindReductions();
}

int64_t LoopNest::getBlockSize(unsigned loop) const {
  return loop == blockedLoop ? blockSize : loop == tiledLoop ? tileSize : 1;
}

/// Loops of the nest inside a row; blocked ones go over their block.
void LoopNest::emitLoopsInRow(ArrayRef<unsigned> order,
                              ArrayRef<int64_t> points,
                              llvm::function_ref<void()> body) {
  if (order.empty())
    return body();
  unsigned loop = order.front();
  Range range = loops[loop];
  SmallVector<int64_t> bounds{range.lower};
  if (order.size() == 1)
    for (int64_t point : points)
      if (point > bounds.back() && point < range.upper)
        bounds.push_back(point);
  bounds.push_back(range.upper);

  LinearIndex outer = loopIndex[loop];
  auto inner = [&](LinearIndex index, ValueRange) {
    loopIndex[loop] = index;
    emitLoopsInRow(order.drop_front(), points, body);
    return SmallVector<Value>();
  };
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLoc();
  for (unsigned part = 0; part + 1 < bounds.size(); ++part) {
    int64_t from = bounds[part], to = bounds[part + 1];
    auto block = blocks.find(loop);
    if (block == blocks.end() || getBlockSize(loop) == range.size()) {
      emitter.emitLoop(from, to, {}, inner);
      continue;
    }
    Value lower = block->second.lower, upper = block->second.upper;
    if (part > 0)
      lower = arith::MaxSIOp::create(builder, loc, lower,
                                     emitter.constantIndex(from));
    if (part + 2 < bounds.size())
      upper = arith::MinSIOp::create(builder, loc, upper,
                                     emitter.constantIndex(to));
    emitter.emitLoop(lower, upper, from, to - 1, {}, inner);
  }
  loopIndex[loop] = outer;
}

void LoopNest::emitReduction(RowReduction &row) {
  const Reduction &reduction = row.reduction;
  Operation *op = reduction.getOp();
  emitter.setLoc(op->getLoc());

  // Scalars.
  if (row.ownLoops.empty()) {
    ElementIndex index = getReductionIndex(row);
    SmallVector<Value> values =
        reduction.emitLoops(emitter, index, row.splits);
    for (auto [number, result] : llvm::enumerate(op->getResults())) {
      Value value = reduction.emitResult(emitter, number, values[number]);
      emitter.bind(result, [value](ArrayRef<LinearIndex>) { return value; });
    }
    emitResults(row);
    return;
  }

  // A buffer over the row reduction's own loops, for each result.
  ArrayRef<Type> types = reduction.getAccumulatorTypes();
  int64_t count = 1;
  for (unsigned loop : row.ownLoops)
    count *= loop == blockedLoop ? blockSize : loops[loop].size();
  SmallVector<Value> buffers;
  for (Type type : types)
    buffers.push_back(scratch.allocate(emitter, count, type));
  auto placeOf = [this, &row](ArrayRef<LinearIndex> index) {
    LinearIndex place;
    for (unsigned loop : row.ownLoops) {
      const LinearIndex &i = index[llvm::find(row.loops, loop) - row.loops.begin()];
      if (loop == blockedLoop)
        place = place * blockSize + i - blocks.at(loop).start;
      else
        place = place * loops[loop].size() + i - loops[loop].lower;
    }
    return place;
  };
  auto loadAll = [&](const LinearIndex &place) {
    SmallVector<Value> values;
    for (auto [buffer, type] : llvm::zip_equal(buffers, types))
      values.push_back(emitter.load(buffer, type, place));
    return values;
  };
  auto storeAll = [&](ValueRange values, const LinearIndex &place) {
    for (auto [value, buffer, type] : llvm::zip_equal(values, buffers, types))
      emitter.store(value, buffer, type, place);
  };

  if (row.vectorLoop) {
    unsigned vectorLoop = *row.vectorLoop;
    SmallVector<unsigned> outerLoops(row.ownLoops);
    llvm::erase(outerLoops, vectorLoop);
    emitLoopsInRow(outerLoops, {}, [&] {
      emitLoopsInRow(vectorLoop, {}, [&] {
        storeAll(reduction.emitInits(emitter),
                 placeOf(getReductionIndex(row)));
      });
      emitLoopsOver(emitter, reduction.getExtents(), {}, {},
                    [&](ArrayRef<LinearIndex> position, ValueRange) {
        emitLoopsInRow(vectorLoop, row.splits, [&] {
          ElementIndex index = getReductionIndex(row);
          LinearIndex place = placeOf(index);
          storeAll(reduction.emitStep(emitter, loadAll(place), index, position),
                   place);
        });
        return SmallVector<Value>();
      });
    });
  } else {
    emitLoopsInRow(row.ownLoops, {}, [&] {
      ElementIndex index = getReductionIndex(row);
      storeAll(reduction.emitLoops(emitter, index, row.splits), placeOf(index));
    });
  }
  for (auto [number, result] : llvm::enumerate(op->getResults())) {
    unsigned resultNumber = number;
    Value buffer = buffers[number];
    Type type = types[number];
    emitter.bind(result, [this, &reduction, placeOf, resultNumber, buffer,
                          type](ArrayRef<LinearIndex> index) {
      Value value = emitter.load(buffer, type, placeOf(index));
      return reduction.emitResult(emitter, resultNumber, value);
    });
  }
  emitResults(row);
}

/// What is a result of the kernel as well as a part of another is stored where
/// it is computed.
void LoopNest::emitResults(const RowReduction &row) {
  if (llvm::any_of(row.resultBuffers, [](Value buffer) { return buffer; }))
    emitLoopsInRow(row.ownLoops, {}, [&] { storeResults(row); });
}
