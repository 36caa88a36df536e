//===- DeviceScan.cpp - cumulative sums, products, maxima on a GPU --------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A team scans a row: each thread adds up a part of it, then the parts before
// its own, and starts its part from there.
//
//===----------------------------------------------------------------------===//

#include "../Emit.h"
#include "DeviceWholeOps.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;
namespace sh = tsp::stablehlo;

namespace {

/// Elements of a row for each thread, and threads of a team, of which the last
/// adds up the parts of all others.
constexpr int64_t kElementsPerThread = 8;
constexpr int64_t kGreatestTeam = 64;
/// Rows that keep a GPU busy with a thread for each.
constexpr int64_t kBusyRows = 32768;

class ScanCode {
public:
  using Values = SmallVector<Value>;

  ScanCode(BlockCode &code, Team &team, const Scan &scan,
           ArrayRef<Value> outputs, const LinearIndex &row)
      : code(code), emitter(code.emitter), team(team), scan(scan),
        op(cast<sh::ReduceWindowOp>(scan.op)), reduction(scan.op),
        outputs(outputs) {
    auto [outer, inner] = emitter.divide(row, scan.inner);
    first = outer * (scan.size * scan.inner) + inner;
  }

  void emit(Value isReal) {
    Values sums = reduction.emitInits(emitter);
    if (team.getSize() > 1)
      sums = emitSumsBefore(sums);
    emitPart(sums, [&](LinearIndex place, ValueRange values) {
      if (!isReal)
        return store(values, place);
      emitter.emitWhen(isReal, [&] { store(values, place); });
    });
  }

private:
  /// Adds this thread's elements to `sums`, one after the other.
  Values emitPart(ValueRange sums,
                  llvm::function_ref<void(LinearIndex, ValueRange)> use) {
    return team.emitLoopInParts(
        scan.size, 1, sums,
        [&](ArrayRef<ElementIndex> position, ValueRange old) {
          LinearIndex i = position.front().front();
          if (scan.isReverse)
            i = LinearIndex(scan.size - 1) - i;
          LinearIndex place = first + i * scan.inner;
          Values elements;
          for (Value input : op.getInputs())
            elements.push_back(emitter.emitFlat(input, place));
          Values next = emitCombine(emitter, op.getBody(), old, elements);
          if (use)
            use(place, next);
          return next;
        });
  }

  /// The inits and the elements of all threads before this one.
  Values emitSumsBefore(ValueRange inits) {
    Values own = emitPart(reduction.emitNeutral(emitter), nullptr);
    ArrayRef<Type> types = reduction.getAccumulatorTypes();
    Values buffers;
    for (auto [value, type] : llvm::zip_equal(own, types)) {
      buffers.push_back(code.allocateShared(code.getNumThreads(), type));
      emitter.store(value, buffers.back(), type, placeOf(team.getLane()));
    }
    code.barrier();
    return emitter.emitLoop(
        emitter.constantIndex(0), emitter.materialize(team.getLane()), 0,
        team.getSize() - 2, inits, [&](LinearIndex lane, ValueRange sums) {
          Values loaded;
          for (auto [buffer, type] : llvm::zip_equal(buffers, types))
            loaded.push_back(emitter.load(buffer, type, placeOf(lane)));
          return reduction.emitMerge(emitter, sums, loaded);
        });
  }

  /// Neighbouring threads have neighbouring places.
  LinearIndex placeOf(const LinearIndex &lane) {
    if (scan.inner > 1)
      return lane * team.getPerBlock() + team.getNumber();
    return team.getNumber() * team.getSize() + lane;
  }

  void store(ValueRange sums, const LinearIndex &place) {
    for (auto [number, sum] : llvm::enumerate(sums))
      emitter.store(reduction.emitResult(emitter, number, sum), outputs[number],
                    getElementTypeOrSelf(op->getResult(number)), place);
  }

  BlockCode &code;
  ElementEmitter &emitter;
  Team &team;
  const Scan &scan;
  sh::ReduceWindowOp op;
  Reduction reduction;
  ArrayRef<Value> outputs;
  LinearIndex first;
};

} // namespace

int64_t tsp::emitDeviceScan(BlockCode &code, const Scan &scan,
                            ArrayRef<Value> outputs) {
  int64_t numRows = scan.outer * scan.inner;
  if (numRows == 0)
    return 1;
  TeamShape shape;
  shape.isStrided = scan.inner > 1;
  if (numRows < kBusyRows)
    shape.size = std::clamp<int64_t>(
        llvm::PowerOf2Ceil(llvm::divideCeil(scan.size, kElementsPerThread)), 1,
        kGreatestTeam);
  int64_t grid = llvm::divideCeil(numRows, code.getNumThreads() / shape.size);
  code.forUnits(grid, 0, grid, [&](LinearIndex unit) {
    Team team(code, shape);
    auto [row, isReal] = team.emitRow(unit, numRows);
    ScanCode(code, team, scan, outputs, row).emit(isReal);
  });
  return grid;
}
