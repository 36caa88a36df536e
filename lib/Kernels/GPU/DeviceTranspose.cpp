//===- DeviceTranspose.cpp - reads across lines of memory, on a GPU -------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block computes a tile of the results, 32 by 32. What its elements read
// across lines is first loaded along the lines and put in shared memory, from
// which the elements take it. Rows of the tile are a word longer than 32
// elements, so that both ways meet each bank once.
//
//===----------------------------------------------------------------------===//

#include "DeviceNest.h"

#include "tsp/Kernels/Kernels.h"

using namespace mlir;
using namespace tsp;

namespace {

constexpr int64_t kTile = 32;
/// Loads with a longer step than this miss most of a line.
constexpr int64_t kLine = 8;
/// Tiles that a block has room for.
constexpr size_t kGreatestNumTiles = 4;

/// Elements from one row of the tile to the next.
int64_t getPitch(const Trial::Access &access) {
  return kTile + std::max<int64_t>(4 / int64_t(access.bytes), 1);
}

} // namespace

/// Finds loads that are contiguous along another loop than the results are.
bool DeviceNest::planTile() {
  if (rowLoops.size() < 2 || !isContiguous(rowLoops.back()))
    return false;
  unsigned last = rowLoops.back();
  SymbolId across = *trialIndex[last].getSingleSymbol();
  auto isLoop = [&](std::pair<SymbolId, int64_t> term) {
    return llvm::any_of(rowLoops, [&](unsigned loop) {
      return trialIndex[loop].getSingleSymbol() == term.first;
    });
  };
  for (unsigned loop : llvm::reverse(ArrayRef(rowLoops).drop_back())) {
    if (loops[loop].size() < kLine || loops[last].size() < kLine)
      continue;
    SymbolId along = *trialIndex[loop].getSingleSymbol();
    for (const Trial::Access &access : elementTrial.accesses)
      if (access.address.getCoefficient(along) == 1 &&
          std::abs(access.address.getCoefficient(across)) >= kLine &&
          llvm::all_of(access.address.getTerms(), isLoop) &&
          llvm::none_of(tiledAccesses, [&](const Trial::Access &known) {
            return known.flat == access.flat && known.address == access.address;
          }))
        tiledAccesses.push_back(access);
    if (tiledAccesses.empty())
      continue;
    if (tiledAccesses.size() > kGreatestNumTiles) {
      tiledAccesses.clear();
      return false;
    }
    tiledLoop = loop;
    grid = 1;
    for (unsigned row : rowLoops)
      grid *= row == loop || row == last
                  ? llvm::divideCeil(loops[row].size(), kTile)
                  : loops[row].size();
    return true;
  }
  return false;
}

/// Where the access is, for the present index of the loops.
LinearIndex DeviceNest::getAddress(const Trial::Access &access) const {
  LinearIndex address(access.address.getConstant());
  for (auto [id, coefficient] : access.address.getTerms())
    for (unsigned loop : rowLoops)
      if (trialIndex[loop].getSingleSymbol() == id)
        address = address + loopIndex[loop] * coefficient;
  return address;
}

/// Runs `body` for the tile's elements of this thread, neighbouring threads
/// being side by side along `fast`, with their places in the tile along both.
void DeviceNest::forTile(
    unsigned fast, unsigned slow, ArrayRef<LinearIndex> corner,
    llvm::function_ref<void(const LinearIndex &, const LinearIndex &)> body) {
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLoc();
  auto [y, x] = emitter.divide(code.getThread(), kTile);
  int64_t step = numThreads / kTile;
  ElementIndex outer = loopIndex;
  for (int64_t start = 0; start < kTile; start += step) {
    LinearIndex places[] = {x, y + start};
    Value isInside;
    for (auto [loop, place] : llvm::zip_equal(ArrayRef{fast, slow}, places)) {
      loopIndex[loop] = corner[loop] + place;
      if (loops[loop].size() % kTile == 0)
        continue;
      Value test =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                emitter.materialize(loopIndex[loop]),
                                emitter.constantIndex(loops[loop].upper));
      isInside =
          isInside
              ? arith::AndIOp::create(builder, loc, isInside, test).getResult()
              : test;
    }
    emitter.emitWhen(isInside, [&] { body(places[0], places[1]); });
  }
  loopIndex = outer;
}

void DeviceNest::fillTile(const Trial::Access &access, Value tile,
                          ArrayRef<LinearIndex> corner) {
  forTile(*tiledLoop, rowLoops.back(), corner,
          [&](const LinearIndex &along, const LinearIndex &across) {
            Value value = emitter.load(access.flat, access.elementType,
                                       getAddress(access));
            emitter.store(value, tile, access.elementType,
                          across * getPitch(access) + along);
          });
}

void DeviceNest::emitTile(const LinearIndex &unit) {
  unsigned last = rowLoops.back();
  SmallVector<int64_t> sizes;
  for (unsigned loop : rowLoops)
    sizes.push_back(loop == tiledLoop || loop == last
                        ? llvm::divideCeil(loops[loop].size(), kTile)
                        : loops[loop].size());
  setRow(unit, sizes);
  // The row loops' places are those of tiles so far.
  for (unsigned loop : {*tiledLoop, last}) {
    LinearIndex lower(loops[loop].lower);
    loopIndex[loop] = (loopIndex[loop] - lower) * kTile + lower;
  }
  ElementIndex corner = loopIndex;

  SmallVector<Value> tiles;
  for (const Trial::Access &access : tiledAccesses) {
    tiles.push_back(
        code.allocateShared(kTile * getPitch(access), access.elementType));
    fillTile(access, tiles.back(), corner);
  }
  code.barrier();
  forTile(last, *tiledLoop, corner,
          [&](const LinearIndex &across, const LinearIndex &along) {
            auto loader = [&](Value flat, Type,
                              const LinearIndex &place) -> Value {
              for (auto [access, tile] : llvm::zip_equal(tiledAccesses, tiles))
                if (access.flat == flat && getAddress(access) == place)
                  return emitter.load(tile, access.elementType,
                                      across * getPitch(access) + along);
              return {};
            };
            emitter.withLoader(loader, [&] {
              emitTargets(ArrayRef<ElementIndex>(loopIndex));
            });
          });
}
