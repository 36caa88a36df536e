//===- WarpgroupGemm.cpp - matrix products on sm_90a ----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Step i waits for tile i of k, starts its products, and then waits for those
// of step i - 1, whose stage it gives back: products of one step are always
// under way.
//
//===----------------------------------------------------------------------===//

#include "WarpgroupGemm.h"

using namespace mlir;
using namespace tsp;

using Values = DeviceEmitter::Values;
using P = arith::CmpIPredicate;

namespace {

/// Starts the copies of one side.
class BoxCopy {
public:
  /// `first`: row or column that the tile starts with.
  /// Of `cluster` blocks that need it, each copies its part to all.
  BoxCopy(DeviceGemm &gemm, const WarpgroupSide &side, Value map, Value first,
          int64_t cluster = 1)
      : e(gemm.e), spec(gemm.spec()), bk(gemm.plan.bk), side(side), map(map),
        first(first), offset(e.i32(0)), boxes(side.boxes / cluster),
        cluster(cluster), step(side.tile.alongK ? side.tile.lines : 64) {
    for (unsigned dim : side.outer)
      outer.push_back(gemm.outer[dim]);
    if (cluster > 1) {
      Value part = e.rem(e.block(0), cluster);
      this->first = e.add(first, e.mul(part, boxes * step));
      offset = e.mul(part, boxes * side.tile.boxBytes());
    }
  }

  void start(Value tile, Value to, Value barrier) {
    Values k = split(tile), rest;
    for (unsigned dim : side.k)
      rest.push_back(k[dim]);
    llvm::append_range(rest, outer);
    to = e.shifted(to, offset);
    for (int64_t i = 0; i < boxes; ++i) {
      Value free = e.add(first, i * step);
      Values coordinates =
          side.tile.alongK ? Values{k.back(), free} : Values{free, k.back()};
      llvm::append_range(coordinates, rest);
      copyBox(e, e.shifted(to, i * side.tile.boxBytes()), map, coordinates,
              barrier, cluster);
    }
  }

private:
  /// The place in each dim of k at which a tile starts.
  Values split(Value tile) {
    Values places(spec.k.size());
    int64_t perLast = llvm::divideCeil(spec.k.back(), bk);
    bool isOne = spec.k.size() == 1;
    places.back() = e.mul(isOne ? tile : e.rem(tile, perLast), bk);
    Value rest = isOne ? Value() : e.div(tile, perLast);
    for (size_t i = spec.k.size() - 1; i-- > 0;) {
      places[i] = i == 0 ? rest : e.rem(rest, spec.k[i]);
      rest = e.div(rest, spec.k[i]);
    }
    return places;
  }

  DeviceEmitter &e;
  const GemmSpec &spec;
  int64_t bk;
  const WarpgroupSide &side;
  Value map, first, offset;
  int64_t boxes, cluster, step;
  Values outer;
};

class WarpgroupGemm {
public:
  WarpgroupGemm(DeviceGemm &gemm, const WarpgroupGemmPlan &plan,
                const WarpgroupMaps &maps)
      : gemm(gemm), e(gemm.e), plan(plan), maps(maps),
        steps(countTiles(gemm.spec(), plan.bk)),
        ring(e, e.shifted(gemm.shared, plan.barriers()), plan.stages,
             plan.cluster) {}

  void emit() {
    e.when(e.compare(P::eq, e.thread(), e.i32(0)), [&] {
      for (Value map : {maps.a, maps.b, maps.result})
        if (map)
          prefetchMap(e, map);
      ring.init(4 * (plan.isPingPong() ? 1 : kMultipliers));
      fenceBarriers(e);
    });
    if (plan.cluster > 1)
      syncCluster(e);
    else
      e.barrier();
    emitRoles(
        e, {kMultipliers}, [&] { produce(); },
        [&](Value warpgroup) { consume(warpgroup); });
  }

private:
  using Place = StageRing::Place;

  Value stage(Value number) {
    return e.shifted(gemm.shared, e.mul(number, plan.stageBytes()));
  }

  /// `body` for every `stride`th of the block's tiles of C, the place in the
  /// ring being carried.
  void forTiles(Value first, int64_t stride, Place place,
                llvm::function_ref<Place(Value tile, Place place)> body) {
    Values last =
        e.loop(first, e.i32(plan.tiles), stride * plan.grid,
               {place.stage, place.parity}, [&](Value tile, ValueRange at) {
                 placeTile(gemm, tile);
                 Place next = body(tile, {at[0], at[1]});
                 return Values{next.stage, next.parity};
               });
    e.keepRolled(last);
  }

  void produce() {
    forTiles(e.block(0), 1, ring.first(), [&](Value, Place place) {
      BoxCopy a(gemm, plan.sideA, maps.a, gemm.m),
          b(gemm, plan.sideB, maps.b, gemm.n, plan.cluster);
      Values last = e.loop(
          e.i32(0), e.i32(steps), 1, {place.stage, place.parity},
          [&](Value step, ValueRange at) {
            Place place{at[0], at[1]};
            Value barrier = ring.fill(place, plan.stageBytes());
            Value to = stage(place.stage);
            a.start(step, to, barrier);
            b.start(step, e.shifted(to, plan.sideA.stageBytes()), barrier);
            Place next = ring.next(place);
            return Values{next.stage, next.parity};
          });
      e.keepRolled(last);
      return Place{last[0], last[1]};
    });
  }

  void consume(Value warpgroup) {
    empties = ring.pointToEmpty();
    Value toA = gemm.shared, first = e.block(0), row = e.i32(0);
    Place place = ring.first();
    if (plan.isPingPong()) {
      first = e.add(first, e.mul(warpgroup, plan.grid));
      Place second = ring.ahead(place, steps);
      Value isFirst = e.compare(P::eq, warpgroup, e.i32(0));
      place = {e.select(isFirst, place.stage, second.stage),
               e.select(isFirst, place.parity, second.parity)};
    } else {
      int64_t bytes = plan.wm / 64 * plan.sideA.tile.stepFree();
      toA = e.shifted(toA, e.mul(warpgroup, bytes));
      row = e.mul(warpgroup, plan.wm);
    }
    startA = describeTile(e, plan.sideA.tile, toA);
    startB = describeTile(e, plan.sideB.tile,
                          e.shifted(gemm.shared, plan.sideA.stageBytes()));
    gemm.staging = e.shifted(gemm.shared, plan.staging());
    forTiles(first, plan.isPingPong() ? kMultipliers : 1, place,
             [&](Value tile, Place place) {
               takeTurn(warpgroup, tile);
               auto [sums, next] =
                   multiply(place, [&] { passTurn(warpgroup, tile); });
               store(row, sums);
               return plan.isPingPong() ? ring.ahead(next, steps) : next;
             });
    if (maps.result)
      e.when(isFirstLane(), [&] { waitForStores(e, 0); });
    // The others arrive at this block's barriers as long as they multiply.
    if (plan.cluster > 1)
      syncCluster(e);
  }

  /// Of two warpgroups that have tiles in turns, one starts its products when
  /// the other has started all of its own.
  void takeTurn(Value warpgroup, Value tile) {
    if (plan.isPingPong())
      e.when(e.compare(P::sge, tile, e.i32(plan.grid)),
             [&] { syncThreads(e, e.add(warpgroup, 1), 2 * kWarpgroup); });
  }
  void passTurn(Value warpgroup, Value tile) {
    if (plan.isPingPong())
      e.when(e.less(tile, e.i32(plan.tiles - plan.grid)), [&] {
        arriveThreads(e, e.sub(e.i32(kMultipliers), warpgroup), 2 * kWarpgroup);
      });
  }

  /// The sums of a tile, whose stages start at `place`, and the place behind
  /// them. `started`: all products are.
  std::pair<Values, Place> multiply(Place place,
                                    llvm::function_ref<void()> started) {
    Values sums = step(place, {});
    Values carried = sums;
    Place next = ring.next(place);
    llvm::append_range(carried, Values{place.stage, next.stage, next.parity});
    size_t count = sums.size();
    if (steps > 1) {
      carried = e.loop(
          e.i32(1), e.i32(steps), 1, carried, [&](Value, ValueRange values) {
            Value before = values[count];
            Place place{values[count + 1], values[count + 2]};
            Values sums = step(place, values.take_front(count));
            waitForProducts(e, 1);
            ring.release(empties, before);
            Place next = ring.next(place);
            llvm::append_range(sums,
                               Values{place.stage, next.stage, next.parity});
            return sums;
          });
      e.keepRolled(carried);
    }
    started();
    sums = waitForProducts(e, 0, ValueRange(carried).take_front(count));
    ring.release(empties, carried[count]);
    return {sums, {carried[count + 1], carried[count + 2]}};
  }

  /// Starts the products of a stage. Without `sums` they begin with zero.
  Values step(const Place &place, ValueRange sums) {
    ring.acquire(place);
    fenceProducts(e);
    Value slot = e.mul(place.stage, plan.stageBytes());
    MatrixDescriptor a = startA.moved(e, slot), b = startB.moved(e, slot);
    const WarpgroupTile &tileA = plan.sideA.tile, &tileB = plan.sideB.tile;
    int64_t blocks = plan.wm / 64, perBlock = plan.bn / 2;
    SmallVector<Values> parts(blocks);
    for (int64_t i = 0; i < blocks && !sums.empty(); ++i)
      parts[i] = sums.slice(i * perBlock, perBlock);
    for (int64_t k = 0; k < plan.bk / tileA.productDepth(); ++k)
      for (int64_t i = 0; i < blocks; ++i)
        parts[i] = startProduct(
            e, plan.bn, tileA,
            a.moved(e, i * tileA.stepFree() + k * tileA.stepDepth()), tileB,
            b.moved(e, k * tileB.stepDepth()), parts[i]);
    commitProducts(e);
    Values all;
    for (Values &part : parts)
      llvm::append_range(all, part);
    return all;
  }

  Value isFirstLane() { return e.compare(P::eq, e.lane(), e.i32(0)); }

  /// Stores the sums of a warpgroup, the first being that of row `row`.
  void store(Value row, ValueRange sums) {
    Value warp = e.div(e.thread(), 32);
    row = e.add(row, e.mul(e.rem(warp, 4), 16));
    int64_t perBlock = plan.bn / 2;
    if (maps.result)
      return storeBoxes(warp, row, sums);
    for (int64_t i = 0; i < plan.wm / 64; ++i)
      storeFragments(gemm, sums.slice(i * perBlock, perBlock), 16, warp,
                     e.add(row, i * 64), e.i32(0));
  }

  /// A warp rounds its sums to boxes of 16 x 64 results, two of which have
  /// room: bulk copies take one while the next is made, and the last ones while
  /// the warp multiplies again.
  void storeBoxes(Value warp, Value row, ValueRange sums) {
    int64_t perRow = plan.bn / 64, boxes = plan.wm / 64 * perRow;
    int64_t buffers = std::min<int64_t>(2, boxes);
    StagedSums box{{}, 16, 64, plan.run, plan.staged};
    Value lane = e.lane();
    // Lane 8 i + j points to row j of the i-th tile of 8 x 8.
    Value inBox = e.rem(lane, 16), half = e.mul(e.div(lane, 16), 8);
    for (int64_t number = 0; number < boxes; ++number) {
      int64_t i = number / perRow, column = number % perRow * 64;
      box.pointer =
          e.shifted(gemm.staging, e.add(e.mul(warp, kWarpStaging),
                                        number % buffers * box.bytes()));
      e.when(isFirstLane(), [&] { waitForStores(e, buffers - 1); });
      e.syncWarp();
      for (int64_t j = 0; j < 64; j += 16) {
        Values registers;
        for (int64_t at = 0; at < 8; at += 2)
          registers.push_back(roundPair(
              gemm, sums.slice(i * plan.bn / 2 + (column + j) / 2 + at, 2)));
        storeTiles(e, box.at(e, inBox, e.add(half, j)), registers);
      }
      fenceShared(e);
      e.syncWarp();
      e.when(isFirstLane(), [&] {
        Values at{e.add(gemm.n, column), e.add(gemm.m, e.add(row, i * 64))};
        for (auto [index, size] :
             llvm::zip_equal(gemm.outer, gemm.spec().outer))
          if (size > 1)
            at.push_back(index);
        storeBox(e, maps.result, at, box.pointer);
        commitStores(e);
      });
    }
  }

  DeviceGemm &gemm;
  DeviceEmitter &e;
  const WarpgroupGemmPlan &plan;
  const WarpgroupMaps &maps;
  int64_t steps; ///< of k
  StageRing ring;
  MatrixDescriptor startA, startB;
  Value empties;
};

} // namespace

void tsp::emitWarpgroupGemm(DeviceGemm &gemm, const WarpgroupGemmPlan &plan,
                            const WarpgroupMaps &maps) {
  WarpgroupGemm(gemm, plan, maps).emit();
}
