//===- DeviceScatter.cpp - scatter on a GPU -------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every element of the result belongs to one thread, which applies the updates
// to its elements in the order of the scatter indices: no atomics, the same
// bits each time, and those of the host. Dims that no index moves along are
// divided over threads to the last element, so that neighbours are in one warp;
// of the other dims a thread has every n-th element.
//
//===----------------------------------------------------------------------===//

#include "../ScatterCode.h"
#include "DeviceWholeOps.h"

using namespace mlir;
using namespace tsp;
namespace sh = tsp::stablehlo;

/// Threads that are worth having: each looks at all scatter indices.
static constexpr int64_t kWantedThreads = 32768;

namespace {

/// Which dims of the result are divided how.
struct Division {
  SmallVector<int64_t> freeDims, freeSizes, scatteredDims, scatteredSizes;
  int64_t numColumns = 1, numRows = 1;
  /// Threads of a column, a power of two.
  int64_t numParts = 1;
};

Division divideResult(const ScatterCode &scatter, ArrayRef<int64_t> shape) {
  Division result;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    bool isFree = scatter.isFree(dim);
    (isFree ? result.freeDims : result.scatteredDims).push_back(dim);
    (isFree ? result.freeSizes : result.scatteredSizes).push_back(size);
    (isFree ? result.numColumns : result.numRows) *= size;
  }
  while (result.numParts < result.numRows &&
         result.numParts * result.numColumns < kWantedThreads)
    result.numParts *= 2;
  return result;
}

} // namespace

int64_t tsp::emitDeviceScatter(BlockCode &code, Operation *op,
                               ArrayRef<Value> outputs, Value inPlace) {
  auto scatter = cast<sh::ScatterOp>(op);
  ElementEmitter &emitter = code.emitter;
  OpBuilder &builder = code.builder;
  Location loc = emitter.getLoc();
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(scatter.getInputs().front().getType()).getShape();
  Division division =
      divideResult(ScatterCode(emitter, scatter, outputs), shape);
  int64_t numOwners = division.numColumns * division.numParts;
  if (division.numRows == 0 || numOwners == 0)
    return 1;

  auto indexOf = [&](const LinearIndex &row, const LinearIndex &column) {
    ElementIndex index(shape.size());
    for (auto [dim, i] :
         llvm::zip_equal(division.scatteredDims,
                         emitter.delinearize(row, division.scatteredSizes)))
      index[dim] = i;
    for (auto [dim, i] :
         llvm::zip_equal(division.freeDims,
                         emitter.delinearize(column, division.freeSizes)))
      index[dim] = i;
    return index;
  };
  auto compare = [&](arith::CmpIPredicate predicate, const LinearIndex &i,
                     int64_t bound) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate,
                                 emitter.materialize(i),
                                 emitter.constantIndex(bound));
  };
  auto copyOwn = [&](Value input, Value output, const LinearIndex &part,
                     const LinearIndex &column) {
    Type type = getElementTypeOrSelf(input);
    int64_t steps = llvm::divideCeil(division.numRows, division.numParts);
    emitter.emitLoop(0, steps, {}, [&](LinearIndex step, ValueRange) {
      LinearIndex row = step * division.numParts + part;
      Value isInside =
          compare(arith::CmpIPredicate::slt, row, division.numRows);
      emitter.emitWhen(isInside, [&] {
        LinearIndex own = emitter.makeSymbol(emitter.materialize(row), 0,
                                             division.numRows - 1);
        ElementIndex index = indexOf(own, column);
        emitter.store(emitter.emit(input, index), output, type,
                      linearize(index, shape));
      });
      return SmallVector<Value>();
    });
  };

  int64_t numThreads = code.getNumThreads();
  int64_t grid = llvm::divideCeil(numOwners, numThreads);
  code.forUnits(grid, 0, grid, [&](LinearIndex unit) {
    LinearIndex owner = unit * numThreads + code.getThread();
    auto work = [&] {
      if (grid * numThreads != numOwners)
        owner =
            emitter.makeSymbol(emitter.materialize(owner), 0, numOwners - 1);
      auto [part, column] = emitter.divide(owner, division.numColumns);
      for (auto [input, output] : llvm::zip_equal(scatter.getInputs(), outputs))
        if (input != inPlace)
          copyOwn(input, output, part, column);
      ScatterCode updates(emitter, scatter, outputs);
      for (auto [dim, i] :
           llvm::zip_equal(division.freeDims,
                           emitter.delinearize(column, division.freeSizes)))
        updates.restrict(dim, i);
      Value own = emitter.materialize(part);
      if (division.numParts > 1)
        updates.restrict([&, own](ArrayRef<LinearIndex> index) -> Value {
          ElementIndex scattered;
          for (int64_t dim : division.scatteredDims)
            scattered.push_back(index[dim]);
          Value row = emitter.materialize(
              linearize(scattered, division.scatteredSizes));
          Value rest = arith::AndIOp::create(
              builder, loc, row, emitter.constantIndex(division.numParts - 1));
          return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       rest, own);
        });
      updates.emit();
    };
    Value isOwner;
    if (grid * numThreads != numOwners)
      isOwner = compare(arith::CmpIPredicate::slt, owner, numOwners);
    emitter.emitWhen(isOwner, work);
  });
  return grid;
}
