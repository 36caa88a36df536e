//===- FragmentReader.cpp - from a tile to fragments ----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ldmatrix gives each lane 4 bytes of a row of 16 bytes: neighbours along k,
// or, turned, pairs of 16-bit elements. Where a lane needs one element instead
// (f64; f32 that lies along m or n), it reads that.
//
//===----------------------------------------------------------------------===//

#include "FragmentReader.h"
#include "TensorCore.h"

using namespace mlir;
using namespace tsp;

using Values = DeviceEmitter::Values;

int64_t tsp::countSlices(int64_t bk, Type element) {
  return bk * (element.getIntOrFloatBitWidth() / 8) / 32;
}

FragmentReader::FragmentReader(DeviceEmitter &e, bool isA, bool alongK,
                               int64_t extent, int64_t bk, Type element,
                               Value warp, int64_t count)
    : e(e), isA(isA), alongK(alongK), element(element),
      bytes(element.getIntOrFloatBitWidth() / 8),
      byElement(readsElements(element, alongK)),
      tile(tileOf(element, alongK, alongK ? bk : extent)), count(count) {
  Value lane = e.lane();
  if (byElement) {
    // Row lane / 4 and column lane % 4 of each 8 x 4 part.
    Value free = e.add(warp, e.div(lane, 4)), k = e.rem(lane, 4);
    row = alongK ? free : k;
    Value column = e.mul(alongK ? k : free, bytes);
    chunk = e.div(column, 16);
    inChunk = e.rem(column, 16);
  } else {
    // Lane 8 i + j points to line j of the i-th 8 x 8 tile. The order of tiles
    // is that of the registers: for A along m first, for B along k first.
    Value low = e.rem(lane, 8);
    Value inner = e.rem(e.div(lane, 8), 2), outer = e.div(lane, 16);
    Value free = isA ? inner : outer, k = isA ? outer : inner;
    row = alongK ? e.add(warp, e.add(e.mul(free, 8), low))
                 : e.add(e.mul(k, 8), low);
    chunk = alongK ? k : e.add(e.div(warp, 8), free);
  }
  // Every permutation that the slices need, once.
  for (int64_t i = 0; i < count; ++i)
    for (int64_t slice = 0; slice < countSlices(bk, element); ++slice) {
      int64_t first = chunkOf(i, slice);
      laneOffset(first % 8);
      if (byElement && !alongK) // the second 8 of 16
        laneOffset((first + bytes / 2) % 8);
    }
}

int64_t FragmentReader::chunkOf(int64_t i, int64_t slice) const {
  return alongK ? slice * 2 : i * bytes;
}

Value FragmentReader::laneOffset(int64_t flip) {
  Value &offset = offsets[flip];
  if (!offset) {
    offset = tile.offset(e, row, chunk, flip);
    if (inChunk)
      offset = e.add(offset, inChunk);
  }
  return offset;
}

Value FragmentReader::at(Value shared, Value slot, int64_t line,
                         int64_t chunk) {
  Value lane = e.shifted(shared, e.add(slot, laneOffset(chunk % 8)));
  return e.shifted(lane, line * tile.lineBytes() + chunk / 8 * 8 * 16);
}

Values FragmentReader::read(Value shared, Value slot, int64_t i,
                            int64_t slice) {
  Values fragment;
  if (byElement)
    fragment = readElements(shared, slot, i, slice);
  else
    fragment = loadTiles(
        e, at(shared, slot, alongK ? i * 16 : slice * 16, chunkOf(i, slice)),
        /*transpose=*/!alongK);
  if (element.isF32())
    for (Value &value : fragment)
      value = roundToTf32(e, value);
  return fragment;
}

/// One register an element: of A along m first, of B along k first.
Values FragmentReader::readElements(Value shared, Value slot, int64_t i,
                                    int64_t slice) {
  Type loaded = element.isF32() ? e.b.getI32Type() : element;
  int64_t perSlice = 32 / bytes, partsOfK = perSlice / 4;
  auto load = [&](int64_t free, int64_t k) {
    int64_t line = alongK ? free : k, column = alongK ? k : free;
    return e.load(at(shared, slot, line, column * bytes / 16), loaded);
  };
  Values values;
  for (int64_t outer = 0; outer < (isA ? partsOfK : 2); ++outer)
    for (int64_t inner = 0; inner < (isA ? 2 : partsOfK); ++inner) {
      int64_t free = isA ? inner : outer, k = isA ? outer : inner;
      values.push_back(load(i * 16 + free * 8, slice * perSlice + k * 4));
    }
  return values;
}

Values FragmentReader::readAll(Value shared, Value slot, int64_t slice) {
  Values all;
  for (int64_t i = 0; i < count; ++i)
    llvm::append_range(all, read(shared, slot, i, slice));
  return all;
}
