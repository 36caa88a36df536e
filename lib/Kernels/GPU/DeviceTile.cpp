//===- DeviceTile.cpp - tiles of a product in shared memory ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceTile.h"
#include "TensorCore.h"
#include "tsp/Kernels/Kernels.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tsp;

using Values = DeviceEmitter::Values;

Value SwizzledTile::offset(DeviceEmitter &e, Value row, Value chunk,
                           int64_t flip) const {
  // 128 bytes are all banks. Lines of 64 or 32 bytes share them, so that the
  // permutation changes with every second or fourth line.
  int64_t banks = std::min<int64_t>(chunks, 8), share = 8 / banks;
  Value turn = e.mul(e.rem(e.div(row, share), banks / together), together);
  Value place = e.bitXor(e.bitXor(chunk, turn), e.i32(flip));
  return e.add(e.mul(row, lineBytes()), e.mul(place, 16));
}

bool tsp::readsElements(Type element, bool alongK) {
  return element.isF64() || (element.isF32() && !alongK);
}

SwizzledTile tsp::tileOf(Type element, bool alongK, int64_t columns) {
  int64_t chunks = columns * (element.getIntOrFloatBitWidth() / 8) / 16;
  return {chunks, readsElements(element, alongK) ? 2 : 1};
}

TileCopy::TileCopy(DeviceGemm &gemm, const GemmOperand &operand, Type stored)
    : e(gemm.e), spec(gemm.spec()), operand(operand), isA(&operand == &spec.a),
      read(isA ? gemm.plan.a : gemm.plan.b),
      prologue(isA ? gemm.computeA : gemm.computeB), outer(gemm.outer),
      stored(stored), swizzled(gemm.plan.kind == DeviceGemmPlan::tensorCore),
      bk(gemm.plan.bk), extent(isA ? gemm.plan.bm : gemm.plan.bn),
      size(isA ? spec.m : spec.n), first(isA ? gemm.m : gemm.n),
      base(isA ? gemm.a : gemm.b) {
  elementBytes = getStorageType(read.loaded).getIntOrFloatBitWidth() / 8;
  rows = read.alongK ? extent : bk;
  columns = read.alongK ? bk : extent;
  together = countTogether();
  // Threads lie along 128 bytes of a line, which memory moves at a time; what
  // is beyond is near enough for an address and a constant.
  int64_t threads = gemm.plan.threads;
  int64_t segment = std::min<int64_t>(columns, 128 / elementBytes);
  // Padded lines start that many bytes apart; what is turned on its way to them
  // comes from so few columns, and more rows, that it meets each bank once.
  if (!swizzled && read.alongK)
    segment =
        std::clamp(128 / (kLinePadding * storedBytes()), read.width, segment);
  // With fewer lines than threads beside each other, more of a line at a time.
  while (swizzled && segment < columns &&
         threads / (segment / read.width) > rows)
    segment *= 2;
  int64_t across = segment / read.width, down = threads / across;
  Value thread = e.thread();
  row = e.div(thread, across);
  column = e.mul(e.rem(thread, across), read.width);

  if (!prologue) {
    int64_t strideK = operand.k.back();
    int64_t strideRow = read.alongK ? operand.free : strideK;
    int64_t strideColumn = read.alongK ? strideK : operand.free;
    Value at = e.mul(e.wide(first), operand.free);
    at = e.add(at, e.mul(e.wide(row), strideRow));
    at = e.add(at, e.mul(e.wide(column), strideColumn));
    pointer = e.shifted(base, e.mul(at, elementBytes));
  }

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
      for (int64_t i = 0; i < read.width; i += together)
        piece.offsets.push_back(sharedOffset(piece.row, piece.column + i));
      pieces.push_back(piece);
    }
}

/// A chunk of 16 bytes where neighbours in memory are neighbours in the tile.
int64_t TileCopy::countTogether() const {
  if (!swizzled && read.alongK) // turned
    return 1;
  return std::min(read.width, 16 / storedBytes());
}

int64_t TileCopy::bytes() const {
  int64_t size = storedBytes();
  return swizzled ? rows * columns * size : bk * (extent + kLinePadding) * size;
}

Value TileCopy::swizzledOffset(int64_t moreRows, int64_t moreColumns) {
  int64_t size = storedBytes(), perChunk = 16 / size;
  // A multiple of 8 lines, or of 8 chunks, further is the same permutation.
  SwizzledTile tile = tileOf(stored, read.alongK, columns);
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
  int64_t size = storedBytes();
  Value k = read.alongK ? c : r, free = read.alongK ? r : c;
  return e.mul(e.add(e.mul(k, extent + kLinePadding), free), size);
}

Values TileCopy::tileIndices(Value tile) {
  int64_t perLast = llvm::divideCeil(spec.k.back(), bk);
  Values indices(spec.k.size());
  indices.back() = spec.k.size() == 1 ? tile : e.rem(tile, perLast);
  Value rest = spec.k.size() == 1 ? Value() : e.div(tile, perLast);
  for (size_t i = spec.k.size() - 1; i-- > 0;) {
    indices[i] = i == 0 ? rest : e.rem(rest, spec.k[i]);
    rest = e.div(rest, spec.k[i]);
  }
  return indices;
}

Value TileCopy::countLeft(Value lastTile) {
  int64_t lastSize = spec.k.back();
  if (lastSize % bk == 0)
    return Value();
  Value lane = read.alongK ? column : row;
  return e.sub(e.i32(lastSize), e.add(e.mul(lastTile, bk), lane));
}

Value TileCopy::atTile(ValueRange indices) {
  Value at =
      e.mul(e.wide(indices.back()), bk * operand.k.back() * elementBytes);
  for (size_t i = spec.k.size() - 1; i-- > 0;)
    at = e.add(at, e.mul(e.wide(indices[i]), operand.k[i] * elementBytes));
  return e.shifted(pointer, at);
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
  Values indices = tileIndices(tile);
  Value at = atTile(indices), left = countLeft(indices.back());
  int64_t bytes = read.width * elementBytes;
  for (const Piece &piece : pieces) {
    auto copy = [&] {
      Value there = condition(piece, left), valid;
      if (there)
        valid = e.select(there, e.i32(bytes), e.i32(0));
      copyAsync(e, e.shifted(to, piece.offsets.front()),
                globalPointer(at, piece), valid, bytes);
    };
    if (piece.isNeeded)
      e.when(piece.isNeeded, copy);
    else
      copy();
  }
}

DevicePrologue::Run TileCopy::loadRun(const Piece &piece, ValueRange indices) {
  // Without a branch: what is not there is computed as the last that is.
  auto within = [&](Value index, int64_t end, bool isRun, bool mayExceed) {
    return mayExceed ? e.min(index, e.i32(end - (isRun ? read.width : 1)))
                     : index;
  };
  Value alongColumns = e.add(column, piece.column);
  Value alongRows = e.add(row, piece.row);
  Value free = e.add(first, read.alongK ? alongRows : alongColumns);
  Value k =
      e.add(e.mul(indices.back(), bk), read.alongK ? alongColumns : alongRows);
  bool isPart = bool(piece.isNeeded);
  free = within(free, size, !read.alongK,
                size % extent != 0 || (isPart && read.alongK));
  k = within(k, spec.k.back(), read.alongK,
             spec.k.back() % bk != 0 || (isPart && !read.alongK));
  Values places(indices.drop_back());
  places.push_back(k);
  return prologue->load(e, outer, free, places, read.alongK, read.width);
}

void TileCopy::load(Value tile) {
  Values indices = tileIndices(tile);
  Value at = prologue ? Value() : atTile(indices);
  Value left = countLeft(indices.back());
  Type element = getStorageType(operand.element);
  auto vector = VectorType::get({read.width}, element);
  loaded.clear();
  for (const Piece &piece : pieces) {
    Value there = condition(piece, left);
    if (piece.isNeeded)
      there = there ? e.bitAnd(there, piece.isNeeded) : piece.isNeeded;
    if (prologue) {
      loaded.push_back({{}, loadRun(piece, indices), there});
      continue;
    }
    Value from = globalPointer(at, piece);
    // Without a branch: what is not there is read from where something is.
    if (there)
      from = e.select(there, from, base);
    Value value = read.width == 1
                      ? e.load(from, element)
                      : e.load(from, vector, read.width * elementBytes);
    loaded.push_back({value, {}, there});
  }
}

Values TileCopy::elementsOf(const Loaded &piece) {
  if (prologue)
    return prologue->compute(e, piece.run);
  // Pairs of 16-bit elements are rounded together, from f32.
  Type to = stored;
  if (operand.element != stored && together % 2 == 0 &&
      stored.getIntOrFloatBitWidth() == 16)
    to = e.b.getF32Type();
  Values elements;
  for (int64_t i = 0; i < read.width; ++i) {
    Value element =
        read.width == 1
            ? piece.vector
            : vector::ExtractOp::create(e.b, e.loc, piece.vector, i);
    elements.push_back(readElement(e, element, operand.element, to));
  }
  return elements;
}

Value TileCopy::pack(ValueRange elements, Value isThere) {
  bool arePairs = elements.size() % 2 == 0 &&
                  stored.getIntOrFloatBitWidth() == 16 &&
                  elements.front().getType().isF32();
  Type type = arePairs ? e.b.getI32Type() : stored;
  Values parts;
  for (size_t i = 0; i < elements.size(); i += arePairs ? 2 : 1) {
    Value part = elements[i];
    if (arePairs)
      part = packPair(e, stored, part, elements[i + 1]);
    else if (part.getType() != stored)
      part = e.narrow(part, stored);
    if (isThere)
      part = e.select(isThere, part, e.constant(type, 0));
    parts.push_back(part);
  }
  if (parts.size() == 1)
    return parts.front();
  auto vector = VectorType::get({int64_t(parts.size())}, type);
  return vector::FromElementsOp::create(e.b, e.loc, vector, parts);
}

void TileCopy::store(Value to) {
  int64_t bytes = together * storedBytes();
  for (auto [piece, values] : llvm::zip_equal(pieces, loaded)) {
    Values elements = elementsOf(values), packed;
    for (int64_t i = 0; i < read.width; i += together)
      packed.push_back(
          pack(ValueRange(elements).slice(i, together), values.isThere));
    auto write = [&, &piece = piece] {
      for (auto [part, offset] : llvm::zip_equal(packed, piece.offsets))
        e.store(part, e.shifted(to, offset), bytes);
    };
    if (piece.isNeeded)
      e.when(piece.isNeeded, write);
    else
      write();
  }
}
