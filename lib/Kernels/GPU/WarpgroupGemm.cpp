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
  WarpgroupGemm(DeviceGemm &gemm, const WarpgroupGemmPlan &plan, Value mapA,
                Value mapB)
      : gemm(gemm), e(gemm.e), plan(plan), mapA(mapA), mapB(mapB),
        tiles(countTiles(gemm.spec(), plan.bk)),
        ring(e, e.shifted(gemm.shared, plan.stages * plan.stageBytes()),
             plan.stages, plan.cluster) {}

  void emit() {
    e.when(e.compare(arith::CmpIPredicate::eq, e.thread(), e.i32(0)), [&] {
      prefetchMap(e, mapA);
      prefetchMap(e, mapB);
      ring.init(4 * plan.consumers());
      fenceBarriers(e);
    });
    if (plan.cluster > 1)
      syncCluster(e);
    else
      e.barrier();
    emitRoles(
        e, {plan.consumers(), plan.blocksPerProcessor}, [&] { produce(); },
        [&](Value warpgroup) { consume(warpgroup); });
  }

private:
  using Place = StageRing::Place;

  Value stage(Value number) {
    return e.shifted(gemm.shared, e.mul(number, plan.stageBytes()));
  }

  void produce() {
    BoxCopy a(gemm, plan.sideA, mapA, gemm.m),
        b(gemm, plan.sideB, mapB, gemm.n, plan.cluster);
    Place first = ring.first();
    Values last =
        e.loop(e.i32(0), e.i32(tiles), 1, {first.stage, first.parity},
               [&](Value tile, ValueRange at) {
                 Place place{at[0], at[1]};
                 Value barrier = ring.fill(place, plan.stageBytes());
                 Value to = stage(place.stage);
                 a.start(tile, to, barrier);
                 b.start(tile, e.shifted(to, plan.sideA.stageBytes()), barrier);
                 Place next = ring.next(place);
                 return Values{next.stage, next.parity};
               });
    e.keepRolled(last);
  }

  void consume(Value warpgroup) {
    Value empties = ring.pointToEmpty();
    int64_t blocks = plan.wm / 64;
    Value toA = e.mul(warpgroup, blocks * plan.sideA.tile.stepFree());
    startA = describeTile(e, plan.sideA.tile, e.shifted(gemm.shared, toA));
    startB = describeTile(e, plan.sideB.tile,
                          e.shifted(gemm.shared, plan.sideA.stageBytes()));

    Place place = ring.first();
    Values sums = step(place, {});
    Values carried = sums;
    Place next = ring.next(place);
    llvm::append_range(carried, Values{place.stage, next.stage, next.parity});
    if (tiles > 1) {
      carried = e.loop(
          e.i32(1), e.i32(tiles), 1, carried, [&](Value, ValueRange values) {
            size_t count = values.size() - 3;
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
    sums = waitForProducts(e, 0, ValueRange(carried).drop_back(3));
    store(warpgroup, sums);
    // The others arrive at this block's barriers as long as they multiply.
    if (plan.cluster > 1)
      syncCluster(e);
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

  void store(Value warpgroup, ValueRange sums) {
    // All are done reading tiles: their memory is free.
    syncThreads(e, 1, plan.consumers() * kWarpgroup);
    Value warp = e.div(e.thread(), 32);
    Value row = e.add(e.mul(warpgroup, plan.wm), e.mul(e.rem(warp, 4), 16));
    int64_t perBlock = plan.bn / 2;
    for (int64_t i = 0; i < plan.wm / 64; ++i)
      storeFragments(gemm, sums.slice(i * perBlock, perBlock), 16, warp,
                     e.add(row, i * 64), e.i32(0));
  }

  DeviceGemm &gemm;
  DeviceEmitter &e;
  const WarpgroupGemmPlan &plan;
  Value mapA, mapB;
  int64_t tiles;
  StageRing ring;
  MatrixDescriptor startA, startB;
};

} // namespace

void tsp::emitWarpgroupGemm(DeviceGemm &gemm, const WarpgroupGemmPlan &plan,
                            Value mapA, Value mapB) {
  WarpgroupGemm(gemm, plan, mapA, mapB).emit();
}
