//===- WarpgroupSdpa.cpp - attention by warpgroup products ----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention for sm_90a, after FlashAttention-3 (arXiv 2407.08608). A warp finds
// the tiles of keys that are not masked and starts bulk copies of K and V into
// two rings of stages. Some warpgroups have 64 rows each; when K of tile n + 1
// is there they do
//
//   S = Q K(n+1)', O += P(n) V(n)        two groups of products, started
//   P(n+1) = exp(S - maximum)            while the second group runs
//   O *= correction                      when it is done
//
// and take turns to start products (section 3.1 of the paper), so that one
// warpgroup has the tensor cores while another computes exponentials: a token
// goes round by named barriers.
//
// Where tiles are skipped, the copying warp leaves in shared memory which tile
// a stage of K holds, and at the end that no more come.
//
//===----------------------------------------------------------------------===//

#include "DeviceSdpaForms.h"
#include "FragmentSdpa.h"
#include "TensorCore.h"
#include "Warpgroup.h"

using namespace mlir;
using namespace tsp;

using P = arith::CmpIPredicate;
using Place = StageRing::Place;

namespace {
class WarpgroupSdpa : public FragmentSdpa {
public:
  WarpgroupSdpa(DeviceEmitter &e, const SdpaSpec &spec,
                const DeviceSdpaPlan &plan, const SdpaMaps &maps)
      : FragmentSdpa(e, spec, plan), maps(maps),
        layout(spec, plan), tileQ{spec.q.element, /*alongK=*/true,
                                  kWarpgroupRows},
        tileK{spec.k.element, /*alongK=*/true, plan.keys},
        tileV{spec.v.element, /*alongK=*/false, plan.keys},
        shared(e.sharedMemory()),
        ringK(e, e.shifted(shared, layout.barriersK), plan.stages),
        ringV(e, e.shifted(shared, layout.barriersV), plan.stages) {}
  void emit();

private:
  /// A tile as warpgroups with rows know it: its number, or negative at the
  /// end, and whether all rows see all keys (null: they do).
  struct Tile {
    Value number, seen;
  };

  /// Where a warpgroup is: K of so many tiles is done, V of the last of them,
  /// which is at `place`, is still to be multiplied with its weights.
  struct Progress {
    Value count;
    Place place;
    State state;
    Values weights;
  };
  static Values pack(const Progress &progress) {
    Values values{progress.count, progress.place.stage, progress.place.parity};
    progress.state.appendTo(values);
    values.append(progress.weights);
    return values;
  }
  Progress unpack(ValueRange values) const {
    int64_t end = 3 + stateSize();
    return {values[0],
            {values[1], values[2]},
            State(values.slice(3, stateSize())),
            Values(values.drop_front(end))};
  }

  //===-- The copying warp ------------------------------------------------===//

  void produce();
  void copyTile(const WarpgroupTile &side, const SdpaTensor &tensor, Value map,
                int64_t width, Value stage, Value full, Value tile);

  //===-- The warpgroups with rows ----------------------------------------===//

  void consume();
  void loadQueries();
  /// The state after the tiles from `first` on, of which there is one.
  State attend(Tile first);
  /// S and weights of the first tile; S and weights of the next one, and O of
  /// the one before it.
  Progress begin(Tile first);
  Progress advance(const Progress &before);
  Values startScores(Value stage);
  Values startOutput(Value stage, ValueRange weights, ValueRange output);
  /// Scores to weights; returns the corrections of O.
  Values finishScores(Values &scores, Tile tile, State &state);
  /// A warp is done with a stage when its own part of the products is.
  void release(StageRing &ring, Value stage) {
    e.when(e.compare(P::eq, lane, e.i32(0)), [&] { ring.release(stage); });
  }
  /// Turns to start products, in the order of the warpgroups: each waits for
  /// the one before it. `skip`: whether there is none to wait for, to go on.
  void takeTurn(Value skip = nullptr);
  void passTurn(Value skip = nullptr);

  //===-- Tiles -----------------------------------------------------------===//

  /// Whether the copying warp says which tiles there are.
  bool skipsTiles() const { return spec.hasPositions() || spec.hasSegments(); }
  Value tileWord(Value stage) {
    return e.shifted(shared, e.add(e.mul(stage, 4), layout.tileWords));
  }
  void publish(Value stage, Tile tile);
  /// Of a full stage, the `count`th.
  Tile readTile(Value stage, Value count);

  Value stageOf(int64_t start, int64_t bytes, Value stage) {
    return e.shifted(shared, e.add(e.mul(stage, bytes), start));
  }
  Value stageOfK(Value stage) {
    return stageOf(layout.k, layout.stageBytesK, stage);
  }
  Value stageOfV(Value stage) {
    return stageOf(layout.v, layout.stageBytesV, stage);
  }

  const SdpaMaps &maps;
  WarpgroupSdpaLayout layout;
  WarpgroupTile tileQ, tileK, tileV;
  Value shared;
  StageRing ringK, ringV;
  Value consumer, queries; ///< of a warpgroup with rows: its number, Q
};
} // namespace

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

void WarpgroupSdpa::publish(Value stage, Tile tile) {
  Value seen = arith::ExtUIOp::create(e.b, e.loc, e.b.getI32Type(), tile.seen);
  e.store(e.add(e.mul(tile.number, 2), seen), tileWord(stage));
}

WarpgroupSdpa::Tile WarpgroupSdpa::readTile(Value stage, Value count) {
  if (!skipsTiles())
    return {count, seesAll(count)};
  // The same for all lanes, in a register that branches know to be uniform.
  Value word = e.leastOfWarp(e.load(tileWord(stage), e.b.getI32Type()));
  Value seen = e.compare(P::ne, e.bitAnd(word, e.i32(1)), e.i32(0));
  return {arith::ShRSIOp::create(e.b, e.loc, word, e.i32(1)), seen};
}

//===----------------------------------------------------------------------===//
// The copying warp
//===----------------------------------------------------------------------===//

void WarpgroupSdpa::copyTile(const WarpgroupTile &side,
                             const SdpaTensor &tensor, Value map, int64_t width,
                             Value stage, Value full, Value tile) {
  for (int64_t column = 0; column < width; column += 64) {
    Values at{e.i32(column), e.mul(tile, plan.keys)};
    if (tensor.head)
      at.push_back(keyHead);
    if (tensor.batch)
      at.push_back(batch);
    copyBox(e, e.shifted(stage, column / 64 * side.boxBytes()), map, at, full);
  }
}

void WarpgroupSdpa::produce() {
  findRanges();
  Value tiles = e.i32(numTiles());
  Place first = ringK.first();
  Values end = e.loopWhile(
      {findTile(e.i32(0)), first.stage, first.parity},
      [&](ValueRange carried) { return e.less(carried[0], tiles); },
      [&](ValueRange carried) -> Values {
        Value tile = carried[0];
        Place place{carried[1], carried[2]};
        Value seen = skipsTiles() ? seesAll(tile) : Value();
        e.when(electLane(e), [&] {
          ringK.awaitEmpty(place);
          if (skipsTiles())
            publish(place.stage, {tile, seen});
          copyTile(tileK, spec.k, maps.k, spec.width, stageOfK(place.stage),
                   ringK.expect(place, layout.stageBytesK), tile);
          ringV.awaitEmpty(place);
          copyTile(tileV, spec.v, maps.v, spec.valueWidth,
                   stageOfV(place.stage),
                   ringV.expect(place, layout.stageBytesV), tile);
        });
        Place next = ringK.next(place);
        return {findTile(e.add(tile, 1)), next.stage, next.parity};
      });
  if (!skipsTiles())
    return;
  e.when(electLane(e), [&] {
    Place place{end[1], end[2]};
    ringK.awaitEmpty(place);
    publish(place.stage, {e.i32(-1), e.constant(e.b.getI1Type(), 0)});
    ringK.expect(place, 0);
  });
}

//===----------------------------------------------------------------------===//
// The warpgroups with rows
//===----------------------------------------------------------------------===//

/// A warpgroup copies its own rows: where they are heads of a group, no box of
/// a tensor map has them for every size of the group.
void WarpgroupSdpa::loadQueries() {
  queries = e.shifted(shared, e.mul(consumer, layout.k / plan.consumers));
  int64_t perRow = spec.width / 8, perLine = 8;
  Value firstRow =
      e.add(e.mul(rowTile, plan.rows), e.mul(consumer, kWarpgroupRows));
  e.loop(e.rem(thread, kWarpgroup), e.i32(kWarpgroupRows * perRow), kWarpgroup,
         [&](Value number) {
           Value line = e.div(number, perRow), column = e.rem(number, perRow);
           Value row = e.min(e.add(firstRow, line), e.i32(spec.rows() - 1));
           Value source = e.add(rowOffset(spec.q, row), e.mul(column, 8));
           Value box = e.mul(e.div(column, perLine), tileQ.boxBytes());
           // The swizzle of 128 bytes.
           Value place = e.bitXor(e.rem(column, perLine), e.rem(line, 8));
           Value target = e.add(e.add(box, e.mul(line, 128)), e.mul(place, 16));
           copyAsync(e, e.shifted(queries, target), at(spec.q, source));
         });
  commitCopies(e);
  waitForCopies(e, 0);
  fenceShared(e);
  syncThreads(e, e.add(consumer, 1 + plan.consumers), kWarpgroup);
}

/// S = Q K'
WarpgroupSdpa::Values WarpgroupSdpa::startScores(Value stage) {
  MatrixDescriptor q = describeTile(e, tileQ, queries),
                   k = describeTile(e, tileK, stageOfK(stage));
  auto offset = [](const WarpgroupTile &side, int64_t column) {
    return column / 64 * side.boxBytes() + column % 64 * 2;
  };
  Values scores;
  fenceProducts(e);
  for (int64_t column = 0; column < spec.width; column += 16)
    scores =
        startProduct(e, plan.keys, tileQ, q.moved(e, offset(tileQ, column)),
                     tileK, k.moved(e, offset(tileK, column)), scores);
  commitProducts(e);
  return scores;
}

/// O += P V, V along its columns.
WarpgroupSdpa::Values
WarpgroupSdpa::startOutput(Value stage, ValueRange weights, ValueRange output) {
  MatrixDescriptor v = describeTile(e, tileV, stageOfV(stage));
  Values written(weights);
  written.append(output.begin(), output.end());
  written = fenceProducts(e, written);
  Values sums(ValueRange(written).drop_front(weights.size()));
  for (int64_t key = 0; key < plan.keys; key += 16)
    sums =
        startProduct(e, spec.valueWidth, ValueRange(written).slice(key / 4, 4),
                     tileV, v.moved(e, key / 16 * tileV.stepDepth()), sums);
  commitProducts(e);
  return sums;
}

WarpgroupSdpa::Values WarpgroupSdpa::finishScores(Values &scores, Tile tile,
                                                  State &state) {
  maskScores(scores, tile.number, tile.seen);
  return weigh(scores, state);
}

void WarpgroupSdpa::takeTurn(Value skip) {
  if (plan.consumers == 1)
    return;
  auto wait = [&] { syncThreads(e, e.add(consumer, 1), 2 * kWarpgroup); };
  if (skip)
    e.when(e.bitXor(skip, e.constant(e.b.getI1Type(), 1)), wait);
  else
    wait();
}

void WarpgroupSdpa::passTurn(Value skip) {
  if (plan.consumers == 1)
    return;
  Value next = e.select(e.compare(P::eq, consumer, e.i32(plan.consumers - 1)),
                        e.i32(1), e.add(consumer, 2));
  auto pass = [&] { arriveThreads(e, next, 2 * kWarpgroup); };
  if (skip)
    e.when(e.bitXor(skip, e.constant(e.b.getI1Type(), 1)), pass);
  else
    pass();
}

WarpgroupSdpa::Progress WarpgroupSdpa::begin(Tile first) {
  Progress progress{e.i32(1), ringK.first(), emptyState(), {}};
  takeTurn(/*skip=*/e.compare(P::eq, consumer, e.i32(0)));
  Values scores = startScores(progress.place.stage);
  passTurn();
  scores = waitForProducts(e, 0, scores);
  release(ringK, progress.place.stage);
  finishScores(scores, first, progress.state);
  progress.weights = packWeights(scores);
  return progress;
}

WarpgroupSdpa::Progress WarpgroupSdpa::advance(const Progress &before) {
  Progress after{
      e.add(before.count, 1), ringK.next(before.place), before.state, {}};
  Tile tile = readTile(after.place.stage, before.count);
  if (!skipsTiles())
    ringK.acquire(after.place);
  takeTurn();
  Values scores = startScores(after.place.stage);
  ringV.acquire(before.place);
  Values output =
      startOutput(before.place.stage, before.weights, before.state.output);
  passTurn();
  scores = waitForProducts(e, 1, scores);
  release(ringK, after.place.stage);
  Values corrections = finishScores(scores, tile, after.state);
  // Until O is done the new weights are not rounded: the registers of the old
  // ones are being read.
  int64_t numScores = scores.size();
  scores.append(output);
  scores = waitForProducts(e, 0, scores);
  release(ringV, before.place.stage);
  after.state.output.assign(scores.begin() + numScores, scores.end());
  scores.truncate(numScores);
  rescale(after.state.output, corrections);
  after.weights = packWeights(scores);
  return after;
}

WarpgroupSdpa::State WarpgroupSdpa::attend(Tile first) {
  Values end = e.loopWhile(
      pack(begin(first)),
      [&](ValueRange carried) {
        Progress progress = unpack(carried);
        if (!skipsTiles())
          return e.less(progress.count, e.i32(numTiles()));
        Place next = ringK.next(progress.place);
        ringK.acquire(next);
        Tile tile = readTile(next.stage, progress.count);
        return e.compare(P::sge, tile.number, e.i32(0));
      },
      [&](ValueRange carried) { return pack(advance(unpack(carried))); });
  Progress last = unpack(end);
  ringV.acquire(last.place);
  takeTurn();
  Values output =
      startOutput(last.place.stage, last.weights, last.state.output);
  passTurn(
      /*skip=*/e.compare(P::eq, consumer, e.i32(plan.consumers - 1)));
  last.state.output = waitForProducts(e, 0, output);
  return last.state;
}

void WarpgroupSdpa::consume() {
  loadQueries();
  Value firstRow = e.add(e.mul(consumer, kWarpgroupRows),
                         e.mul(e.rem(warp, 4), kWarpgroupRows / 4));
  describeRows(e.add(e.mul(rowTile, plan.rows), firstRow));

  Place start = ringK.first();
  ringK.acquire(start);
  Tile first = readTile(start.stage, e.i32(0));
  if (!skipsTiles())
    return storeRows(attend(first), rows);
  // Rows that see no key may have no tile.
  auto valuesOf = [](const State &state) {
    Values values;
    state.appendTo(values);
    return values;
  };
  Values none = valuesOf(emptyState());
  Values last = e.choose(
      e.compare(P::sge, first.number, e.i32(0)), ValueRange(none).getTypes(),
      [&] { return valuesOf(attend(first)); }, [&] { return none; });
  storeRows(State(last), rows);
}

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

void WarpgroupSdpa::emit() {
  e.when(e.compare(P::eq, thread, e.i32(0)), [&] {
    ringK.init(plan.consumers * 4);
    ringV.init(plan.consumers * 4);
    fenceBarriers(e);
    prefetchMap(e, maps.k);
    prefetchMap(e, maps.v);
  });
  e.barrier();
  WarpgroupRoles roles;
  roles.consumers = plan.consumers;
  roles.wholeWarp = true;
  roles.producerRegisters = 32;
  emitRoles(
      e, roles, [&] { produce(); },
      [&](Value warpgroup) {
        consumer = warpgroup;
        consume();
      });
}

void tsp::emitWarpgroupSdpa(DeviceEmitter &e, const SdpaSpec &spec,
                            const DeviceSdpaPlan &plan, const SdpaMaps &maps) {
  WarpgroupSdpa(e, spec, plan, maps).emit();
}
