//===- SdpaEmit.cpp - loops of attention ----------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SdpaEmit.h"
#include "GemmEmit.h"

#include <cmath>

using namespace mlir;
using namespace tsp;

SdpaEmitter::SdpaEmitter(VectorEmitter &e, const SdpaSpec &spec,
                         const SdpaPlan &plan, Value scratch)
    : e(e), spec(spec), plan(plan), scratch(scratch), nr(plan.nr()) {
  // Subtracting a window from a position must not wrap: 64 bits, unless the
  // numbers are compared only.
  auto isWide = [](const SdpaTensor &tensor) {
    auto type = dyn_cast_or_null<IntegerType>(tensor.element);
    return type && (type.getWidth() > 32 ||
                    (type.getWidth() == 32 && type.isUnsigned()));
  };
  bool wide = spec.window || isWide(spec.qPositions) ||
              isWide(spec.kPositions) || isWide(spec.qSegments) ||
              isWide(spec.kSegments);
  integers = e.b.getIntegerType(wide ? 64 : 32);

  Type real = spec.compute;
  int64_t panels = plan.panelsPerUnit, lanes = plan.lanes;
  bufferQ = allocate(real, panels * llvm::alignTo(spec.width, lanes) * nr);
  bufferO = allocate(real, panels * plan.turnedWidth * nr);
  maxima = allocate(real, panels * nr);
  sums = allocate(real, panels * nr);
  bufferS = allocate(real, (plan.keyBlock + 2 * plan.mrKeys) * nr);
  turned = allocate(real, nr * plan.turnedWidth);
  if (spec.hasPositions()) {
    rowPositions = allocate(integers, panels * nr);
    leastPosition = allocate(integers, panels);
    greatestPosition = allocate(integers, panels);
  }
  if (spec.hasSegments()) {
    rowSegments = allocate(integers, panels * nr);
    leastSegment = allocate(integers, panels);
    greatestSegment = allocate(integers, panels);
  }
  if (plan.copyK)
    bufferK = allocate(real, (plan.keyBlock + plan.mrKeys) * plan.ldk);
  if (plan.copyV)
    bufferV = allocate(real, plan.keyBlock * plan.ldv);
  if (spec.empty == EmptyRows::Mean)
    bufferMean = allocate(real, plan.turnedWidth);
}

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

Value SdpaEmitter::allocate(Type element, int64_t count) {
  Value view = e.view(scratch, used, element, count);
  used += llvm::alignTo(count * element.getIntOrFloatBitWidth() / 8, 64);
  return view;
}

Value SdpaEmitter::compare(arith::CmpIPredicate predicate, Value x, Value y) {
  return arith::CmpIOp::create(e.b, e.loc, predicate, x, y);
}

Value SdpaEmitter::compare(arith::CmpFPredicate predicate, Value x, Value y) {
  return arith::CmpFOp::create(e.b, e.loc, predicate, x, y);
}

Value SdpaEmitter::minusInfinity(Type type) {
  return e.constant(type, -INFINITY);
}

Value SdpaEmitter::loadInteger(const SdpaTensor &tensor, Value at) {
  Value value = e.load(tensor.flat, at);
  if (value.getType() == integers)
    return value;
  if (tensor.element.isUnsignedInteger() || tensor.element.isInteger(1))
    return arith::ExtUIOp::create(e.b, e.loc, integers, value);
  return arith::ExtSIOp::create(e.b, e.loc, integers, value);
}

Value SdpaEmitter::windowStart(Value positions) {
  auto window = e.b.getI64IntegerAttr(*spec.window);
  Value size = arith::ConstantOp::create(e.b, e.loc, window);
  if (isa<VectorType>(positions.getType()))
    size = e.splat(size, plan.lanes);
  return e.sub(positions, size);
}

Value SdpaEmitter::loadRows(Value buffer, Value panel, int64_t v) {
  Value at = e.add(e.mul(panel, nr), v * plan.lanes);
  return e.loadVector(buffer, at, plan.lanes);
}

void SdpaEmitter::storeRows(Value vector, Value buffer, Value panel,
                            int64_t v) {
  e.storeVector(vector, buffer, e.add(e.mul(panel, nr), v * plan.lanes));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void SdpaEmitter::emit(Value begin, Value end) {
  e.loop(begin, end, 1, [&](Value unit) { emitUnit(unit); });
}

void SdpaEmitter::emitUnit(Value unit) {
  Value part = e.rem(unit, plan.units);
  Value rest = e.div(unit, plan.units);
  keyHead = e.rem(rest, spec.keyHeads);
  batch = e.div(rest, spec.keyHeads);
  if (spec.causal && plan.units > 2) {
    // Early and late queries take turns, so that any stretch of the grid has
    // its share of both.
    Value half = e.div(part, 2);
    Value isEven = e.equal(e.rem(part, 2), e.index(0));
    part = e.select(isEven, half, e.sub(e.index(plan.units - 1), half));
  }
  firstPanel = e.mul(part, plan.panelsPerUnit);
  panelCount =
      e.min(e.sub(e.index(plan.panels), firstPanel), plan.panelsPerUnit);

  e.loop(e.index(0), panelCount, 1, [&](Value panel) { preparePanel(panel); });
  e.loop(0, spec.keys, plan.keyBlock, [&](Value key) {
    firstKey = key;
    keyCount = e.min(e.sub(e.index(spec.keys), key), plan.keyBlock);
    emitBlock();
  });
  e.loop(e.index(0), panelCount, 1, [&](Value panel) { finishPanel(panel); });
}

void SdpaEmitter::emitBlock() {
  if (spec.hasPositions())
    positionRange = keyRange(spec.kPositions);
  if (spec.hasSegments())
    segmentRange = keyRange(spec.kSegments);

  auto work = [&] {
    if (plan.copyK)
      copyBlock(spec.k, spec.width, plan.ldk, bufferK);
    if (plan.copyV)
      copyBlock(spec.v, spec.valueWidth, plan.ldv, bufferV);
    e.loop(e.index(0), panelCount, 1, [&](Value panel) {
      Visibility visible = visibility(panel);
      auto update = [&] {
        emitScores(panel);
        if (visible.all)
          e.when(
              visible.all, [] {}, [&] { maskScores(panel); });
        emitUpdate(panel);
      };
      if (visible.some)
        e.when(visible.some, update);
      else
        update();
    });
  };
  if (!(plan.copyK || plan.copyV) ||
      !(spec.hasPositions() || spec.hasSegments())) {
    work();
    return;
  }
  Value none = arith::ConstantOp::create(e.b, e.loc, e.b.getBoolAttr(false));
  Value any =
      e.loop(e.index(0), panelCount, 1, none,
             [&](Value panel, ValueRange carried) -> Values {
               Value some = visibility(panel).some;
               return {arith::OrIOp::create(e.b, e.loc, carried[0], some)};
             })
          .front();
  e.when(any, work);
}

void SdpaEmitter::copyBlock(const SdpaTensor &tensor, int64_t width,
                            int64_t line, Value to) {
  int64_t lanes = plan.lanes;
  Value base = e.add(scaledBase(tensor), e.mul(firstKey, tensor.row));
  e.loop(e.index(0), keyCount, 1, [&](Value key) {
    Value from = e.add(base, e.mul(key, tensor.row));
    Value at = e.mul(key, line);
    if (tensor.last != 1) {
      e.loop(0, width, 1, [&](Value column) {
        Value place = e.add(from, e.mul(column, tensor.last));
        e.store(
            e.widen(e.load(tensor.flat, place), tensor.element, spec.compute),
            to, e.add(at, column));
      });
      return;
    }
    e.loop(0, width, lanes, [&](Value column) {
      Value mask = width % lanes == 0
                       ? Value()
                       : e.mask(e.sub(e.index(width), column), lanes);
      Value part = e.loadVector(tensor.flat, e.add(from, column), lanes, mask);
      e.storeVector(e.widen(part, tensor.element, spec.compute), to,
                    e.add(at, column));
    });
  });
}

void SdpaEmitter::emitUpdate(Value panel) {
  int64_t lanes = plan.lanes, nv = plan.nv;
  Value outside = minusInfinity(vector());
  Value zero = e.constant(vector(), 0);
  Values before, corrections;
  for (int64_t v = 0; v < nv; ++v)
    before.push_back(loadRows(maxima, panel, v));
  // Not a NaN: it stays in the scores and reaches the result by the sum.
  Values greatest =
      e.loop(e.index(0), keyCount, 1, before, [&](Value key, ValueRange most) {
        Values next;
        for (int64_t v = 0; v < nv; ++v) {
          Value score =
              e.loadVector(bufferS, e.add(scoreLine(key), v * lanes), lanes);
          Value more = compare(arith::CmpFPredicate::OGT, score, most[v]);
          next.push_back(e.select(more, score, most[v]));
        }
        return next;
      });
  // Rows that see no key so far have exp(-inf - 0) = 0 everywhere.
  Values shifts;
  for (int64_t v = 0; v < nv; ++v) {
    storeRows(greatest[v], maxima, panel, v);
    Value none = compare(arith::CmpFPredicate::OEQ, greatest[v], outside);
    shifts.push_back(e.select(none, zero, greatest[v]));
    corrections.push_back(
        e.exp(arith::SubFOp::create(e.b, e.loc, before[v], shifts[v])));
  }
  Values init;
  for (int64_t v = 0; v < nv; ++v)
    init.push_back(arith::MulFOp::create(e.b, e.loc, loadRows(sums, panel, v),
                                         corrections[v]));
  Values total =
      e.loop(e.index(0), keyCount, 1, init, [&](Value key, ValueRange sum) {
        Values next;
        for (int64_t v = 0; v < nv; ++v) {
          Value at = e.add(scoreLine(key), v * lanes);
          Value score = e.loadVector(bufferS, at, lanes);
          Value p = e.exp(arith::SubFOp::create(e.b, e.loc, score, shifts[v]));
          e.storeVector(p, bufferS, at);
          next.push_back(arith::AddFOp::create(e.b, e.loc, sum[v], p));
        }
        return next;
      });
  for (int64_t v = 0; v < nv; ++v)
    storeRows(total[v], sums, panel, v);
  emitValues(panel, corrections);
}

void SdpaEmitter::emitValues(Value panel, ArrayRef<Value> corrections) {
  int64_t lanes = plan.lanes, nv = plan.nv;
  TileOperand p{bufferS, scoreLine(e.index(0)), spec.compute, 0, nr};
  Value panelO = e.mul(panel, plan.turnedWidth * nr);
  auto tile = [&](Value column, int64_t mr) {
    TileOperand v;
    v.element = spec.compute;
    v.flat = plan.copyV ? bufferV : spec.v.flat;
    v.free = plan.copyV ? 1 : spec.v.last;
    v.k = plan.copyV ? plan.ldv : spec.v.row;
    v.base = plan.copyV
                 ? column
                 : e.add(e.add(scaledBase(spec.v), e.mul(firstKey, spec.v.row)),
                         e.mul(column, spec.v.last));
    Values parts = emitTile(e, {lanes, mr, nv}, spec.compute, v, p, keyCount);
    for (int64_t m = 0; m < mr; ++m)
      for (int64_t i = 0; i < nv; ++i) {
        Value at = e.add(e.add(panelO, e.mul(e.add(column, m), nr)), i * lanes);
        Value old = e.loadVector(bufferO, at, lanes);
        e.storeVector(e.fma(old, corrections[i], parts[m * nv + i]), bufferO,
                      at);
      }
  };
  int64_t mr = plan.mrValues, whole = spec.valueWidth / mr * mr;
  e.loop(0, whole, mr, [&](Value column) { tile(column, mr); });
  if (whole != spec.valueWidth)
    tile(e.index(whole), spec.valueWidth - whole);
}

int64_t tsp::emitSdpa(VectorEmitter &e, const SdpaSpec &spec,
                      const SdpaPlan &plan, Value begin, Value end,
                      Value scratch) {
  SdpaEmitter emitter(e, spec, plan, scratch);
  emitter.emit(begin, end);
  return emitter.scratchBytes();
}
