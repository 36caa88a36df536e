//===- TensorCoreSdpa.cpp - attention by tensor cores ---------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles of K and V are double-buffered in shared memory: while one is worked
// on, the next that is not masked arrives by asynchronous copies. From key to
// key there is an odd number of 16-byte columns, so that the eight rows which
// an ldmatrix reads lie in different banks without a swizzle to compute.
//
//===----------------------------------------------------------------------===//

#include "DeviceSdpaForms.h"
#include "FragmentSdpa.h"
#include "TensorCore.h"

using namespace mlir;
using namespace tsp;

namespace {
class TensorCoreSdpa : FragmentSdpa {
public:
  using FragmentSdpa::FragmentSdpa;
  void emit();

private:
  SmallVector<State, 2> takeStates(ValueRange values) const {
    SmallVector<State, 2> states;
    for (int64_t m = 0; m < plan.rowTiles; ++m)
      states.emplace_back(values.slice(m * stateSize(), stateSize()));
    return states;
  }

  void loadQueries();
  /// Columns [16 k, 16 k + 16) of 16 rows of Q.
  Values queryTile(int64_t m, int64_t k);
  void copyTile(const SdpaTensor &tensor, int64_t width, int64_t pitch,
                Value shared, Value tile);
  void copyTiles(Value stage, Value tile);
  SmallVector<Values, 2> emitScores(Value stage);
  void addValues(Value stage, ArrayRef<Values> weights,
                 MutableArrayRef<State> states);

  /// Adds A B to fragments [n, n + 2) of C for each 16 rows, B being what
  /// loadTiles gives for 16 x 16 elements.
  void multiply(Type element, ArrayRef<Values> a, ValueRange b, int64_t n,
                MutableArrayRef<Values> c);
  /// Pointer of this lane to its row of tiles 16 x 16 in shared memory. The
  /// bits of the tile's number say which half of the rows and of the columns.
  Value tilePointer(Value base, int64_t pitch, bool rowsFirst);

  int64_t columns() const { return plan.keys / 8; } // fragments of S
  int64_t stageBytes() const { return plan.keys * (plan.pitchK + plan.pitchV); }

  Value shared;
  Values queries;   ///< fragments of Q in registers, or
  Value queryTiles; ///< this lane's pointer to Q in shared memory
};
} // namespace

Value TensorCoreSdpa::tilePointer(Value base, int64_t pitch, bool rowsFirst) {
  Value number = e.div(lane, 8), row = e.rem(lane, 8);
  Value low = e.rem(number, 2), high = e.div(number, 2);
  Value rowHalf = rowsFirst ? low : high, columnHalf = rowsFirst ? high : low;
  Value at = e.mul(e.add(row, e.mul(rowHalf, 8)), pitch);
  return e.shifted(base, e.add(at, e.mul(columnHalf, 16)));
}

void TensorCoreSdpa::multiply(Type element, ArrayRef<Values> a, ValueRange b,
                              int64_t n, MutableArrayRef<Values> c) {
  for (auto [left, sums] : llvm::zip_equal(a, c))
    for (int64_t i = 0; i < 2; ++i) {
      auto tile = MutableArrayRef(sums).slice((n + i) * 4, 4);
      llvm::copy(multiplyTiles(e, element, left, b.slice(i * 2, 2), tile),
                 tile.begin());
    }
}

void TensorCoreSdpa::loadQueries() {
  if (plan.pitchQ) {
    int64_t threads = plan.warps * 32, perRow = spec.width / 8;
    queryTiles = e.shifted(shared, 2 * stageBytes());
    e.loop(thread, e.i32(plan.rows * perRow), threads, [&](Value number) {
      Value line = e.div(number, perRow), column = e.rem(number, perRow);
      Value row =
          e.min(e.add(e.mul(rowTile, plan.rows), line), e.i32(spec.rows() - 1));
      Value source = e.add(rowOffset(spec.q, row), e.mul(column, 8));
      Value target = e.add(e.mul(line, plan.pitchQ), e.mul(column, 16));
      copyAsync(e, e.shifted(queryTiles, target), at(spec.q, source));
    });
    commitCopies(e);
    Value base =
        e.shifted(queryTiles, e.mul(warp, 16 * plan.rowTiles * plan.pitchQ));
    queryTiles = tilePointer(base, plan.pitchQ, /*rowsFirst=*/true);
    return;
  }
  for (int64_t m = 0; m < plan.rowTiles; ++m) {
    Value starts[2];
    for (int64_t h = 0; h < 2; ++h)
      starts[h] = at(spec.q, e.add(rowOffset(spec.q, rows[2 * m + h].number),
                                   e.mul(quad, 2)));
    for (int64_t k = 0; k < spec.width; k += 16)
      for (int64_t half = 0; half < 2; ++half)
        for (Value start : starts)
          queries.push_back(e.load(e.shifted(start, (k + 8 * half) * 2),
                                   e.b.getI32Type(), 4));
  }
}

DeviceSdpaEmitter::Values TensorCoreSdpa::queryTile(int64_t m, int64_t k) {
  if (queryTiles)
    return loadTiles(e, e.shifted(queryTiles, m * 16 * plan.pitchQ + k * 32),
                     /*transpose=*/false);
  int64_t tile = m * (spec.width / 16) + k;
  return Values(ValueRange(queries).slice(tile * 4, 4));
}

void TensorCoreSdpa::copyTile(const SdpaTensor &tensor, int64_t width,
                              int64_t pitch, Value to, Value tile) {
  int64_t threads = plan.warps * 32, perKey = width / 8;
  int64_t count = plan.keys * perKey;
  Value firstKey = e.mul(tile, plan.keys);
  Value from = at(tensor, keyOffset(tensor, firstKey));
  auto copy = [&](Value source, Value target, Value key) {
    Value valid;
    if (isRagged())
      valid = e.select(e.less(e.add(firstKey, key), e.i32(spec.keys)),
                       e.i32(16), e.i32(0));
    copyAsync(e, target, source, valid);
  };
  auto sourceOf = [&](Value key, Value column) {
    return e.shifted(from, e.add(e.mul(e.wide(key), tensor.row * 2),
                                 e.mul(e.wide(column), 16)));
  };
  auto targetOf = [&](Value key, Value column) {
    return e.shifted(to, e.add(e.mul(key, pitch), e.mul(column, 16)));
  };
  if (threads % perKey == 0 && count % threads == 0) {
    // A thread copies the same column of every few keys: one address, and
    // constants for the instructions to add.
    Value key = e.div(thread, perKey), column = e.rem(thread, perKey);
    Value source = sourceOf(key, column), target = targetOf(key, column);
    for (int64_t i = 0; i < plan.keys; i += threads / perKey)
      copy(e.shifted(source, i * tensor.row * 2), e.shifted(target, i * pitch),
           e.add(key, i));
    return;
  }
  for (int64_t i = 0; i < count; i += threads) {
    Value number = e.add(thread, i);
    Value key = e.div(number, perKey), column = e.rem(number, perKey);
    auto part = [&] {
      copy(sourceOf(key, column), targetOf(key, column), key);
    };
    if (i + threads <= count)
      part();
    else
      e.when(e.less(number, e.i32(count)), part);
  }
}

void TensorCoreSdpa::copyTiles(Value stage, Value tile) {
  copyTile(spec.k, spec.width, plan.pitchK, stage, tile);
  copyTile(spec.v, spec.valueWidth, plan.pitchV,
           e.shifted(stage, plan.keys * plan.pitchK), tile);
  commitCopies(e);
}

/// S of the warp's rows and the tile's keys: for each 16 rows and 8 keys a
/// fragment.
SmallVector<DeviceSdpaEmitter::Values, 2>
TensorCoreSdpa::emitScores(Value stage) {
  SmallVector<Values, 2> scores(plan.rowTiles,
                                Values(columns() * 4, e.constant(real, 0)));
  Value start = tilePointer(stage, plan.pitchK, /*rowsFirst=*/false);
  for (int64_t k = 0; k < spec.width / 16; ++k) {
    SmallVector<Values, 2> a;
    for (int64_t m = 0; m < plan.rowTiles; ++m)
      a.push_back(queryTile(m, k));
    for (int64_t n = 0; n < columns(); n += 2) {
      Value place = e.shifted(start, n * 8 * plan.pitchK + k * 32);
      multiply(spec.q.element, a, loadTiles(e, place, /*transpose=*/false), n,
               scores);
    }
  }
  return scores;
}

/// O += P V.
void TensorCoreSdpa::addValues(Value stage, ArrayRef<Values> weights,
                               MutableArrayRef<State> states) {
  Value start = tilePointer(e.shifted(stage, plan.keys * plan.pitchK),
                            plan.pitchV, /*rowsFirst=*/true);
  SmallVector<Values, 2> output;
  for (State &state : states)
    output.push_back(state.output);
  for (int64_t k = 0; k < plan.keys / 16; ++k) {
    SmallVector<Values, 2> a;
    for (const Values &part : weights)
      a.push_back(packWeights(ValueRange(part).slice(k * 8, 8)));
    for (int64_t n = 0; n < spec.valueWidth / 8; n += 2) {
      Value place = e.shifted(start, k * 16 * plan.pitchV + n * 16);
      multiply(spec.v.element, a, loadTiles(e, place, /*transpose=*/true), n,
               output);
    }
  }
  for (auto [state, part] : llvm::zip_equal(states, output))
    state.output = part;
}

void TensorCoreSdpa::emit() {
  shared = e.sharedMemory();
  findRanges();
  Value firstRow =
      e.add(e.mul(rowTile, plan.rows), e.mul(warp, 16 * plan.rowTiles));
  for (int64_t m = 0; m < plan.rowTiles; ++m)
    describeRows(e.add(firstRow, 16 * m));

  Value tiles = e.i32(numTiles());
  Value first = findTile(e.i32(0));
  e.when(e.less(first, tiles), [&] { copyTiles(shared, first); });
  loadQueries();

  Values init{first, e.i32(0)};
  for (int64_t m = 0; m < plan.rowTiles; ++m)
    emptyState().appendTo(init);
  Values last = e.loopWhile(
      init, [&](ValueRange carried) { return e.less(carried[0], tiles); },
      [&](ValueRange carried) -> Values {
        Value tile = carried[0], offset = carried[1];
        SmallVector<State, 2> states = takeStates(carried.drop_front(2));
        waitForCopies(e, 0);
        // The tile is there for all, and all are done with the one before it.
        e.barrier();
        Value next = findTile(e.add(tile, 1));
        Value other = e.sub(e.i32(stageBytes()), offset);
        e.when(e.less(next, tiles),
               [&] { copyTiles(e.shifted(shared, other), next); });
        Value stage = e.shifted(shared, offset);
        SmallVector<Values, 2> scores = emitScores(stage);
        maskScores(scores, tile, seesAll(tile));
        for (auto [part, state] : llvm::zip_equal(scores, states))
          rescale(state.output, weigh(part, state));
        addValues(stage, scores, states);
        Values result{next, other};
        for (State &state : states)
          state.appendTo(result);
        return result;
      });
  for (auto [m, state] :
       llvm::enumerate(takeStates(ValueRange(last).drop_front(2))))
    storeRows(state, ArrayRef<Row>(rows).slice(2 * m, 2));
}

void tsp::emitTensorCoreSdpa(DeviceEmitter &e, const SdpaSpec &spec,
                             const DeviceSdpaPlan &plan) {
  TensorCoreSdpa(e, spec, plan).emit();
}
