//===- DeviceTile.cpp - tiles of a product in shared memory ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceTile.h"
#include "TensorCore.h"
#include "tsp/Kernels/Kernels.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tsp;

using Values = DeviceEmitter::Values;

Value SwizzledTile::offset(DeviceEmitter &e, Value row, Value chunk,
                           int64_t flip) const {
  // 128 bytes are all banks. Lines of 64 or 32 bytes share them, so that the
  // permutation changes with every second or fourth line.
  int64_t banks = std::min<int64_t>(chunks, 8), share = 8 / banks;
  Value turn = e.rem(e.div(row, share), banks);
  Value place = e.bitXor(e.bitXor(chunk, turn), e.i32(flip));
  return e.add(e.mul(row, lineBytes()), e.mul(place, 16));
}

TileCopy::TileCopy(DeviceGemm &gemm, const GemmOperand &operand,
                   const DeviceRead &read, Value base, Value first,
                   int64_t size, int64_t extent, Type stored)
    : e(gemm.e), spec(gemm.spec()), operand(operand), read(read),
      stored(stored), swizzled(gemm.plan.kind == DeviceGemmPlan::tensorCore),
      bk(gemm.plan.bk), extent(extent), base(base) {
  elementBytes = operand.element.getIntOrFloatBitWidth() / 8;
  rows = read.alongK ? extent : bk;
  columns = read.alongK ? bk : extent;
  // Threads lie along 128 bytes of a line, which memory moves at a time; what
  // is beyond is near enough for an address and a constant.
  int64_t threads = gemm.plan.threads;
  int64_t segment = std::min<int64_t>(columns, 128 / elementBytes);
  int64_t across = segment / read.width, down = threads / across;
  Value thread = e.thread();
  row = e.div(thread, across);
  column = e.mul(e.rem(thread, across), read.width);

  int64_t strideK = operand.k.back();
  int64_t strideRow = read.alongK ? operand.free : strideK;
  int64_t strideColumn = read.alongK ? strideK : operand.free;
  Value at = e.mul(e.wide(first), operand.free);
  at = e.add(at, e.mul(e.wide(row), strideRow));
  at = e.add(at, e.mul(e.wide(column), strideColumn));
  pointer = e.shifted(base, e.mul(at, elementBytes));

  for (int64_t moreRows = 0; moreRows < rows; moreRows += down)
    for (int64_t more = 0; more < columns; more += segment) {
      Piece piece{moreRows, more, {}, {}, {}};
      if (moreRows + down > rows)
        piece.isNeeded = e.less(row, e.i32(rows - moreRows));
      if (size % extent != 0) {
        Value lane = read.alongK ? row : column;
        int64_t ahead = read.alongK ? piece.row : piece.column;
        piece.isThere = e.less(e.add(first, lane), e.i32(size - ahead));
      }
      piece.offset = sharedOffset(piece.row, piece.column);
      pieces.push_back(piece);
    }
}

int64_t TileCopy::bytes() const {
  int64_t size = stored.getIntOrFloatBitWidth() / 8;
  return swizzled ? rows * columns * size : bk * (extent + kLinePadding) * size;
}

Value TileCopy::swizzledOffset(int64_t moreRows, int64_t moreColumns) {
  int64_t size = stored.getIntOrFloatBitWidth() / 8, perChunk = 16 / size;
  if (!read.alongK && sharedAlongK(stored)) {
    SwizzledTile tile{bk / perChunk};
    Value k = e.add(row, moreRows), free = e.add(column, moreColumns);
    Value offset = tile.offset(e, free, e.div(k, perChunk));
    return e.add(offset, e.mul(e.rem(k, perChunk), size));
  }
  // A multiple of 8 lines, or of 8 chunks, further is the same permutation.
  SwizzledTile tile{columns / perChunk};
  int64_t eight = 8 * perChunk;
  int64_t lines = moreRows / 8 * 8, whole = moreColumns / eight * eight;
  Value c = e.add(column, moreColumns - whole);
  Value offset =
      tile.offset(e, e.add(row, moreRows - lines), e.div(c, perChunk));
  offset = e.add(offset, e.mul(e.rem(c, perChunk), size));
  return e.add(offset, lines * tile.lineBytes() + whole * size);
}

Value TileCopy::sharedOffset(int64_t moreRows, int64_t moreColumns) {
  if (swizzled)
    return swizzledOffset(moreRows, moreColumns);
  // Lines of the free dim, as the register tiles read them.
  Value r = e.add(row, moreRows), c = e.add(column, moreColumns);
  int64_t size = stored.getIntOrFloatBitWidth() / 8;
  Value k = read.alongK ? c : r, free = read.alongK ? r : c;
  return e.mul(e.add(e.mul(k, extent + kLinePadding), free), size);
}

std::pair<Value, Value> TileCopy::atTile(Value tile) {
  int64_t size = spec.k.back(), perLast = llvm::divideCeil(size, bk);
  Value last = spec.k.size() == 1 ? tile : e.rem(tile, perLast);
  Value at = e.mul(e.wide(last), bk * operand.k.back() * elementBytes);
  Value rest = spec.k.size() == 1 ? Value() : e.div(tile, perLast);
  for (size_t i = spec.k.size() - 1; i-- > 0;) {
    Value index = i == 0 ? rest : e.rem(rest, spec.k[i]);
    at = e.add(at, e.mul(e.wide(index), operand.k[i] * elementBytes));
    rest = e.div(rest, spec.k[i]);
  }
  Value left;
  if (size % bk != 0) {
    Value lane = read.alongK ? column : row;
    left = e.sub(e.i32(size), e.add(e.mul(last, bk), lane));
  }
  return {e.shifted(pointer, at), left};
}

Value TileCopy::globalPointer(Value tilePointer, const Piece &piece) {
  int64_t strideK = operand.k.back();
  int64_t strideRow = read.alongK ? operand.free : strideK;
  int64_t strideColumn = read.alongK ? strideK : operand.free;
  int64_t bytes =
      (piece.row * strideRow + piece.column * strideColumn) * elementBytes;
  if (llvm::isInt<32>(bytes))
    return e.shifted(tilePointer, bytes);
  return e.shifted(tilePointer, e.i64(bytes));
}

Value TileCopy::condition(const Piece &piece, Value left) {
  Value result = piece.isThere;
  if (left) {
    int64_t k = read.alongK ? piece.column : piece.row;
    Value isLeft = e.less(e.i32(k), left);
    result = result ? e.bitAnd(result, isLeft) : isLeft;
  }
  return result;
}

void TileCopy::start(Value tile, Value to) {
  auto [at, left] = atTile(tile);
  int64_t bytes = read.width * elementBytes;
  for (const Piece &piece : pieces) {
    auto copy = [&, at = at, left = left] {
      Value there = condition(piece, left), valid;
      if (there)
        valid = e.select(there, e.i32(bytes), e.i32(0));
      copyAsync(e, e.shifted(to, piece.offset), globalPointer(at, piece), valid,
                bytes);
    };
    if (piece.isNeeded)
      e.when(piece.isNeeded, copy);
    else
      copy();
  }
}

Values TileCopy::load(Value tile) {
  auto [at, left] = atTile(tile);
  Values values;
  for (const Piece &piece : pieces) {
    Value there = condition(piece, left);
    if (piece.isNeeded)
      there = there ? e.bitAnd(there, piece.isNeeded) : piece.isNeeded;
    Value from = globalPointer(at, piece);
    // Without a branch: what is not there is read from where something is.
    if (there)
      from = e.select(there, from, base);
    Value value = readElement(e, e.load(from, getStorageType(operand.element)),
                              operand.element, stored);
    if (there)
      value = e.select(there, value, e.constant(stored, 0));
    values.push_back(value);
  }
  return values;
}

void TileCopy::store(ValueRange values, Value to) {
  for (auto [piece, value] : llvm::zip_equal(pieces, values)) {
    auto write = [&, value = value, offset = piece.offset] {
      e.store(value, e.shifted(to, offset));
    };
    if (piece.isNeeded)
      e.when(piece.isNeeded, write);
    else
      write();
  }
}
