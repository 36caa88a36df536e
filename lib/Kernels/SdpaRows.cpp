//===- SdpaRows.cpp - rows of attention: queries in, results out ----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SdpaEmit.h"

using namespace mlir;
using namespace tsp;

Value SdpaEmitter::laneRow(Value panel, Value lane) {
  Value row = e.add(e.mul(e.add(firstPanel, panel), nr), lane);
  return spec.rows() % nr == 0 ? row : e.min(row, spec.rows() - 1);
}

Value SdpaEmitter::rowOffset(const SdpaTensor &tensor, Value row) {
  Value at = e.mul(batch, tensor.batch);
  if (tensor.row)
    at = e.add(at, e.mul(query(row), tensor.row));
  if (tensor.head)
    at = e.add(at, e.mul(headOf(row), tensor.head));
  return at;
}

void SdpaEmitter::preparePanel(Value panel) {
  int64_t lanes = plan.lanes;
  double scale = spec.softcap ? spec.scale / *spec.softcap : spec.scale;
  int64_t paddedWidth = llvm::alignTo(spec.width, lanes);
  Value panelQ = e.mul(panel, paddedWidth * nr);

  if (spec.q.last == 1) {
    Value factor = e.constant(vector(), scale);
    e.loop(0, nr, lanes, [&](Value x) {
      Values lines;
      for (int64_t i = 0; i < lanes; ++i)
        lines.push_back(rowOffset(spec.q, laneRow(panel, e.add(x, i))));
      e.loop(0, spec.width, lanes, [&](Value column) {
        Value mask = spec.width % lanes == 0
                         ? Value()
                         : e.mask(e.sub(e.index(spec.width), column), lanes);
        Values square;
        for (Value line : lines) {
          Value part =
              e.loadVector(spec.q.flat, e.add(line, column), lanes, mask);
          square.push_back(e.widen(part, spec.q.element, spec.compute));
        }
        for (auto [i, part] : llvm::enumerate(e.transpose(square))) {
          Value scaled = arith::MulFOp::create(e.b, e.loc, part, factor);
          Value line = e.mul(e.add(column, i), nr);
          e.storeVector(scaled, bufferQ, e.add(e.add(panelQ, line), x));
        }
      });
    });
  } else {
    Value factor = e.constant(spec.compute, scale);
    e.loop(0, nr, 1, [&](Value lane) {
      Value line = rowOffset(spec.q, laneRow(panel, lane));
      e.loop(0, spec.width, 1, [&](Value column) {
        Value at = e.add(line, e.mul(column, spec.q.last));
        Value part =
            e.widen(e.load(spec.q.flat, at), spec.q.element, spec.compute);
        Value scaled = arith::MulFOp::create(e.b, e.loc, part, factor);
        e.store(scaled, bufferQ, e.add(e.add(panelQ, e.mul(column, nr)), lane));
      });
    });
  }

  Value zero = e.constant(vector(), 0);
  Value panelO = e.mul(panel, plan.turnedWidth * nr);
  e.loop(0, plan.turnedWidth * nr, lanes,
         [&](Value x) { e.storeVector(zero, bufferO, e.add(panelO, x)); });
  for (int64_t v = 0; v < plan.nv; ++v) {
    storeRows(zero, sums, panel, v);
    storeRows(minusInfinity(vector()), maxima, panel, v);
  }

  // Positions and segments of the rows, with their least and greatest.
  auto gather = [&](const SdpaTensor &tensor, Value least, Value greatest,
                    llvm::function_ref<void(Value, Value)> use) {
    Value first =
        loadInteger(tensor, rowOffset(tensor, laneRow(panel, e.index(0))));
    Values range =
        e.loop(e.index(0), e.index(nr), 1, {first, first},
               [&](Value lane, ValueRange carried) -> Values {
                 Value value = loadInteger(
                     tensor, rowOffset(tensor, laneRow(panel, lane)));
                 use(value, e.add(e.mul(panel, nr), lane));
                 return {e.min(carried[0], value), e.max(carried[1], value)};
               });
    e.store(range[0], least, panel);
    e.store(range[1], greatest, panel);
  };
  if (spec.hasPositions())
    gather(spec.qPositions, leastPosition, greatestPosition,
           [&](Value value, Value at) { e.store(value, rowPositions, at); });
  if (spec.hasSegments())
    gather(spec.qSegments, leastSegment, greatestSegment,
           [&](Value value, Value at) { e.store(value, rowSegments, at); });
}

void SdpaEmitter::emitMean(Value panel) {
  Value zero = e.constant(spec.compute, 0);
  Value none = arith::ConstantOp::create(e.b, e.loc, e.b.getBoolAttr(false));
  Value anyEmpty =
      e.loop(e.index(0), e.index(nr), 1, none,
             [&](Value lane, ValueRange carried) -> Values {
               Value sum = e.load(sums, e.add(e.mul(panel, nr), lane));
               Value empty = compare(arith::CmpFPredicate::OEQ, sum, zero);
               return {arith::OrIOp::create(e.b, e.loc, carried[0], empty)};
             })
          .front();
  e.when(anyEmpty, [&] {
    Value base = scaledBase(spec.v);
    Value count = e.constant(spec.compute, double(spec.keys));
    e.loop(0, spec.valueWidth, 1, [&](Value column) {
      Value line = e.add(base, e.mul(column, spec.v.last));
      Value total =
          e.loop(e.index(0), e.index(spec.keys), 1, zero,
                 [&](Value key, ValueRange carried) -> Values {
                   Value at = e.add(line, e.mul(key, spec.v.row));
                   Value value = e.widen(e.load(spec.v.flat, at),
                                         spec.v.element, spec.compute);
                   return {
                       arith::AddFOp::create(e.b, e.loc, carried[0], value)};
                 })
              .front();
      e.store(arith::DivFOp::create(e.b, e.loc, total, count), bufferMean,
              column);
    });
  });
}

void SdpaEmitter::finishPanel(Value panel) {
  int64_t lanes = plan.lanes;
  Value panelO = e.mul(panel, plan.turnedWidth * nr);
  Value zero = e.constant(vector(), 0);
  e.loop(0, nr, lanes, [&](Value x) {
    Value sum = e.loadVector(sums, e.add(e.mul(panel, nr), x), lanes);
    Value empty = compare(arith::CmpFPredicate::OEQ, sum, zero);
    e.loop(0, plan.turnedWidth, lanes, [&](Value column) {
      Values square;
      for (int64_t i = 0; i < lanes; ++i) {
        Value line = e.add(panelO, e.mul(e.add(column, i), nr));
        Value part = e.loadVector(bufferO, e.add(line, x), lanes);
        Value ratio = arith::DivFOp::create(e.b, e.loc, part, sum);
        if (spec.empty == EmptyRows::Zero)
          ratio = e.select(empty, zero, ratio);
        square.push_back(ratio);
      }
      for (auto [i, part] : llvm::enumerate(e.transpose(square)))
        e.storeVector(part, turned,
                      e.add(e.mul(e.add(x, i), plan.turnedWidth), column));
    });
  });
  if (spec.empty == EmptyRows::Mean)
    emitMean(panel);
  Value firstRow = e.mul(e.add(firstPanel, panel), nr);
  Value count = e.min(e.sub(e.index(spec.rows()), firstRow), nr);
  e.loop(e.index(0), count, 1, [&](Value lane) { storeRow(panel, lane); });
}

void SdpaEmitter::storeRow(Value panel, Value lane) {
  int64_t lanes = plan.lanes;
  Value row = e.add(e.mul(e.add(firstPanel, panel), nr), lane);
  Value place = e.add(e.mul(panel, nr), lane);
  Value sum = e.load(sums, place);
  Value empty =
      compare(arith::CmpFPredicate::OEQ, sum, e.constant(spec.compute, 0));
  Value out = rowOffset(spec.o, row);
  e.loop(0, spec.valueWidth, lanes, [&](Value column) {
    Value at = e.add(e.mul(lane, plan.turnedWidth), column);
    Value part = e.loadVector(turned, at, lanes);
    if (spec.empty == EmptyRows::Mean)
      part = e.select(empty, e.loadVector(bufferMean, column, lanes), part);
    Value mask = spec.valueWidth % lanes == 0
                     ? Value()
                     : e.mask(e.sub(e.index(spec.valueWidth), column), lanes);
    e.storeVector(e.narrow(part, spec.o.element), spec.o.flat,
                  e.add(out, column), mask);
  });
  if (!spec.lse.flat)
    return;
  Value lse =
      arith::AddFOp::create(e.b, e.loc, e.load(maxima, place), e.log(sum));
  e.store(e.narrow(lse, spec.lse.element), spec.lse.flat,
          rowOffset(spec.lse, row));
}
