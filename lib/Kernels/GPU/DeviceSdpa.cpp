//===- DeviceSdpa.cpp - rows, masks and results of attention --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceSdpa.h"

using namespace mlir;
using namespace tsp;

using P = arith::CmpIPredicate;

static constexpr double log2e = 1.4426950408889634;

DeviceSdpaEmitter::DeviceSdpaEmitter(DeviceEmitter &e, const SdpaSpec &spec,
                                     const DeviceSdpaPlan &plan)
    : e(e), spec(spec), plan(plan), real(spec.compute) {
  bool wide = false;
  for (const SdpaTensor *tensor :
       {&spec.qPositions, &spec.kPositions, &spec.qSegments, &spec.kSegments})
    if (tensor->flat)
      wide |= tensor->element.getIntOrFloatBitWidth() == 64 ||
              tensor->element.isUnsignedInteger(32);
  integers = e.b.getIntegerType(wide ? 64 : 32);

  thread = e.thread();
  lane = e.rem(thread, 32);
  warp = e.div(thread, 32);
  // The last rows of a causal program see most keys: they go first.
  int64_t tiles = llvm::divideCeil(spec.rows(), plan.rows);
  rowTile = e.block(0);
  if (plan.isFlat) {
    keyHead = e.rem(e.div(rowTile, tiles), spec.keyHeads);
    batch = e.div(rowTile, tiles * spec.keyHeads);
    rowTile = e.rem(rowTile, tiles);
  } else {
    keyHead = e.block(1);
    batch = e.block(2);
  }
  if (spec.causal && tiles > 1)
    rowTile = e.sub(e.i32(tiles - 1), rowTile);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Value DeviceSdpaEmitter::rowOffset(const SdpaTensor &tensor, Value row) {
  Value at = e.mul(e.wide(batch), tensor.batch);
  if (tensor.row)
    at = e.add(at, e.mul(e.wide(query(row)), tensor.row));
  if (tensor.head) {
    Value head = e.add(e.mul(keyHead, spec.group()), e.rem(row, spec.group()));
    at = e.add(at, e.mul(e.wide(head), tensor.head));
  }
  return at;
}

Value DeviceSdpaEmitter::keyOffset(const SdpaTensor &tensor, Value key) {
  Value at = e.mul(e.wide(batch), tensor.batch);
  if (tensor.head)
    at = e.add(at, e.mul(e.wide(keyHead), tensor.head));
  return e.add(at, e.mul(e.wide(key), tensor.row));
}

Value DeviceSdpaEmitter::at(const SdpaTensor &tensor, Value offset) {
  int64_t bytes = llvm::divideCeil(tensor.element.getIntOrFloatBitWidth(), 8);
  return e.shifted(tensor.flat, e.mul(offset, bytes));
}

Value DeviceSdpaEmitter::loadInteger(const SdpaTensor &tensor, Value offset) {
  unsigned width =
      std::max<unsigned>(8, tensor.element.getIntOrFloatBitWidth());
  Type stored = e.b.getIntegerType(width);
  Value value = e.load(at(tensor, offset), stored);
  if (stored == integers)
    return value;
  if (tensor.element.isUnsignedInteger() || tensor.element.isInteger(1))
    return arith::ExtUIOp::create(e.b, e.loc, integers, value);
  return arith::ExtSIOp::create(e.b, e.loc, integers, value);
}

DeviceSdpaEmitter::Row DeviceSdpaEmitter::describeRow(Value number) {
  Row row;
  row.exists = e.less(number, e.i32(spec.rows()));
  row.number = e.min(number, e.i32(spec.rows() - 1));
  if (spec.hasPositions())
    row.position =
        loadInteger(spec.qPositions, rowOffset(spec.qPositions, row.number));
  if (spec.hasSegments())
    row.segment =
        loadInteger(spec.qSegments, rowOffset(spec.qSegments, row.number));
  return row;
}

//===----------------------------------------------------------------------===//
// Tiles of keys
//===----------------------------------------------------------------------===//

std::pair<Value, Value>
DeviceSdpaEmitter::rangeOf(const SdpaTensor &tensor, int64_t count, Value first,
                           int64_t limit,
                           llvm::function_ref<Value(Value)> offset) {
  Value least, greatest;
  for (int64_t part = 0; part < count; part += 32) {
    Value number = e.add(e.add(first, lane), part);
    number = e.min(number, e.i32(limit - 1));
    Value value = loadInteger(tensor, offset(number));
    least = least ? e.min(least, value) : value;
    greatest = greatest ? e.max(greatest, value) : value;
  }
  return {e.leastOfWarp(least), e.greatestOfWarp(greatest)};
}

void DeviceSdpaEmitter::findRanges() {
  auto ofRows = [&](const SdpaTensor &tensor) {
    return rangeOf(tensor, plan.rows, e.mul(rowTile, plan.rows), spec.rows(),
                   [&](Value row) { return rowOffset(tensor, row); });
  };
  if (spec.hasPositions())
    rowPositions = ofRows(spec.qPositions);
  if (spec.hasSegments())
    rowSegments = ofRows(spec.qSegments);
}

std::pair<Value, Value> DeviceSdpaEmitter::keyRange(const SdpaTensor &tensor,
                                                    Value tile) {
  return rangeOf(tensor, plan.keys, e.mul(tile, plan.keys), spec.keys,
                 [&](Value key) { return keyOffset(tensor, key); });
}

Value DeviceSdpaEmitter::findTile(Value tile) {
  if (!spec.hasPositions() && !spec.hasSegments())
    return tile;
  Value tiles = e.i32(numTiles());
  auto hidden = [&](Value tile) {
    Value some;
    auto both = [&](Value condition) {
      some = some ? e.bitAnd(some, condition) : condition;
    };
    if (spec.hasPositions()) {
      auto [least, greatest] = keyRange(spec.kPositions, tile);
      if (spec.causal)
        both(e.compare(P::sle, least, rowPositions.second));
      if (spec.window)
        both(e.less(e.sub(rowPositions.first, greatest),
                    e.constant(integers, *spec.window)));
    }
    if (spec.hasSegments()) {
      auto [least, greatest] = keyRange(spec.kSegments, tile);
      both(e.compare(P::sle, least, rowSegments.second));
      both(e.compare(P::sge, greatest, rowSegments.first));
    }
    return e.compare(
        P::eq, some,
        arith::ConstantOp::create(e.b, e.loc, e.b.getBoolAttr(false)));
  };
  return e.loopWhile(
      tile,
      [&](ValueRange tile) {
        Value no =
            arith::ConstantOp::create(e.b, e.loc, e.b.getBoolAttr(false));
        return e.choose(
            e.less(tile[0], tiles), e.b.getI1Type(),
            [&]() -> Values { return {hidden(tile[0])}; },
            [&]() -> Values { return {no}; })[0];
      },
      [&](ValueRange tile) -> Values { return {e.add(tile[0], 1)}; })[0];
}

Value DeviceSdpaEmitter::seesAll(Value tile) {
  Value all;
  auto both = [&](Value condition) {
    all = all ? e.bitAnd(all, condition) : condition;
  };
  if (isRagged())
    both(e.less(tile, e.i32(numTiles() - 1)));
  if (spec.hasPositions()) {
    auto [least, greatest] = keyRange(spec.kPositions, tile);
    if (spec.causal)
      both(e.compare(P::sle, greatest, rowPositions.first));
    if (spec.window)
      both(e.less(e.sub(rowPositions.second, least),
                  e.constant(integers, *spec.window)));
  }
  if (spec.hasSegments()) {
    auto [least, greatest] = keyRange(spec.kSegments, tile);
    both(e.compare(P::eq, least, greatest));
    both(e.compare(P::eq, rowSegments.first, rowSegments.second));
    both(e.compare(P::eq, least, rowSegments.first));
  }
  if (spec.mask.flat)
    both(arith::ConstantOp::create(e.b, e.loc, e.b.getBoolAttr(false)));
  return all;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

bool DeviceSdpaEmitter::changesScores() const {
  return spec.softcap || spec.bias.flat || !(spec.scale > 0);
}

double DeviceSdpaEmitter::exponent() const {
  return changesScores() ? log2e : spec.scale * log2e;
}

Value DeviceSdpaEmitter::finishScore(Value score, const Row &row, Value key) {
  if (!changesScores())
    return score;
  if (spec.softcap) {
    Value ratio = e.mulf(score, e.constant(real, spec.scale / *spec.softcap));
    score = e.mulf(e.tanh(ratio), e.constant(real, *spec.softcap));
  } else {
    score = e.mulf(score, e.constant(real, spec.scale));
  }
  if (spec.bias.flat) {
    Value column = e.min(key, e.i32(spec.keys - 1));
    Value offset =
        e.add(rowOffset(spec.bias, row.number), e.mul(column, spec.bias.last));
    Value bias = e.load(at(spec.bias, offset), spec.bias.element);
    score = e.addf(score, e.widen(bias, spec.bias.element, real));
  }
  return score;
}

Value DeviceSdpaEmitter::maskScore(Value score, const Row &row, Value key) {
  Value seen;
  auto both = [&](Value condition) {
    seen = seen ? e.bitAnd(seen, condition) : condition;
  };
  Value column = key;
  if (isRagged()) {
    both(e.less(key, e.i32(spec.keys)));
    column = e.min(key, e.i32(spec.keys - 1));
  }
  if (spec.hasPositions()) {
    Value position =
        loadInteger(spec.kPositions, keyOffset(spec.kPositions, column));
    if (spec.causal)
      both(e.compare(P::sle, position, row.position));
    if (spec.window)
      both(e.less(e.sub(row.position, position),
                  e.constant(integers, *spec.window)));
  }
  if (spec.hasSegments())
    both(e.compare(
        P::eq, row.segment,
        loadInteger(spec.kSegments, keyOffset(spec.kSegments, column))));
  if (spec.mask.flat) {
    Value offset =
        e.add(rowOffset(spec.mask, row.number), e.mul(column, spec.mask.last));
    Value byte = e.load(at(spec.mask, offset), e.b.getI8Type());
    both(e.compare(P::ne, byte, e.constant(e.b.getI8Type(), 0)));
  }
  return seen ? e.select(seen, score, e.infinity(real, /*negative=*/true))
              : score;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Value DeviceSdpaEmitter::isEmpty(Value sum) {
  return e.compare(arith::CmpFPredicate::OEQ, sum, e.constant(real, 0));
}

Value DeviceSdpaEmitter::inverseOf(Value sum) {
  Value inverse = e.divf(e.constant(real, 1), sum);
  // Else 0 * (1 / 0) is NaN, as softmax of a row of -inf.
  if (spec.empty == EmptyRows::Zero)
    inverse = e.select(isEmpty(sum), e.constant(real, 0), inverse);
  return inverse;
}

Value DeviceSdpaEmitter::storesSums(const Row &row, Value sum) {
  if (spec.empty != EmptyRows::Mean)
    return row.exists;
  Value some = e.compare(arith::CmpFPredicate::UNE, sum, e.constant(real, 0));
  return e.bitAnd(row.exists, some);
}

void DeviceSdpaEmitter::storeMeans(const Row &row, Value sum, Value first,
                                   int64_t step) {
  if (spec.empty != EmptyRows::Mean)
    return;
  e.when(e.bitAnd(row.exists, isEmpty(sum)), [&] {
    e.loop(first, e.i32(spec.valueWidth), step, [&](Value column) {
      auto sumUp = [&](Value key, ValueRange carried) -> Values {
        Value offset =
            e.add(keyOffset(spec.v, key), e.mul(e.wide(column), spec.v.last));
        Value value = e.load(at(spec.v, offset), spec.v.element);
        return {e.addf(carried[0], e.widen(value, spec.v.element, real))};
      };
      Value total =
          e.loop(e.i32(0), e.i32(spec.keys), 1, e.constant(real, 0), sumUp)[0];
      Value mean = e.divf(total, e.constant(real, double(spec.keys)));
      Value offset = e.add(rowOffset(spec.o, row.number), column);
      e.store(e.narrow(mean, spec.o.element), at(spec.o, offset));
    });
  });
}

void DeviceSdpaEmitter::storeLse(const Row &row, Value maximum, Value sum) {
  if (!spec.lse.flat)
    return;
  // Without a key: -inf + log 0.
  Value scale = e.constant(real, exponent() / log2e);
  Value lse = e.fma(maximum, scale, e.log(sum));
  e.when(row.exists, [&] {
    e.store(e.narrow(lse, spec.lse.element),
            at(spec.lse, rowOffset(spec.lse, row.number)));
  });
}
