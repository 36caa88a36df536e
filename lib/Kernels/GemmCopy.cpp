//===- GemmCopy.cpp - operands into scratch -------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies convert to the type of the computation.
//
//   A, lines along k:  [rows][lda]          A, lines along m:  [k][lda]
//   B:                 [panels][k][nr], k padded to whole vectors
//
//===----------------------------------------------------------------------===//

#include "GemmEmit.h"

using namespace mlir;
using namespace tsp;

Value tsp::depthOffset(VectorEmitter &e, const GemmSpec &spec,
                       const GemmOperand &operand, Value base, Value k) {
  return e.offset(base, e.delinearize(k, spec.k), operand.k);
}

void tsp::copyA(VectorEmitter &e, const GemmSpec &spec, const GemmPlan &plan,
                ValueRange outer, Value row, Value rows, Value k0, Value count,
                Value to) {
  const GemmOperand &a = spec.a;
  if (a.isComputed())
    return computeA(e, spec, plan, outer, row, rows, k0, count, to);
  int64_t lanes = plan.lanes;
  Value base = e.offset(e.index(0), outer, a.outer);
  base = e.offset(base, row, a.free);
  Value zero = e.index(0);

  if (plan.copyA == GemmCopy::scalar) {
    e.loop(zero, rows, 1, [&](Value m) {
      e.loop(zero, count, 1, [&](Value k) {
        Value from =
            depthOffset(e, spec, a, e.offset(base, m, a.free), e.add(k0, k));
        Value value = e.widen(e.load(a.flat, from), a.element, spec.compute);
        e.store(value, to, e.add(e.mul(m, plan.lda), k));
      });
    });
    return;
  }

  auto move = [&](Value from, Value left, Value at, bool whole) {
    Value mask = whole ? Value() : e.mask(left, lanes);
    Value line = e.loadVector(a.flat, from, lanes, mask);
    e.storeVector(e.widen(line, a.element, spec.compute), to, at);
  };
  if (plan.aColumns) {
    bool whole = spec.m % lanes == 0 && plan.mc % lanes == 0;
    e.loop(zero, count, 1, [&](Value k) {
      Value line = depthOffset(e, spec, a, base, e.add(k0, k));
      e.loop(zero, rows, lanes, [&](Value m) {
        move(e.add(line, m), e.sub(rows, m), e.add(e.mul(k, plan.lda), m),
             whole);
      });
    });
    return;
  }
  bool whole = spec.depth() % lanes == 0 && plan.ks % lanes == 0;
  e.loop(zero, rows, 1, [&](Value m) {
    Value line = e.offset(base, m, a.free);
    e.loop(zero, count, lanes, [&](Value k) {
      move(depthOffset(e, spec, a, line, e.add(k0, k)), e.sub(count, k),
           e.add(e.mul(m, plan.lda), k), whole);
    });
  });
}

void tsp::copyB(VectorEmitter &e, const GemmSpec &spec, const GemmPlan &plan,
                ValueRange outer, Value column, Value panels, Value k0,
                Value count, Value to, Value lines) {
  const GemmOperand &b = spec.b;
  if (b.isComputed())
    return computeB(e, spec, plan, outer, column, panels, k0, count, to, lines);
  int64_t lanes = plan.lanes, nr = plan.nr();
  Value base = e.offset(e.index(0), outer, b.outer);
  bool wholePanels = spec.n % nr == 0;
  Value zero = e.index(0);

  if (plan.copyB == GemmCopy::lines) {
    e.loop(zero, count, 1, [&](Value k) {
      Value line = depthOffset(e, spec, b, base, e.add(k0, k));
      e.loop(zero, panels, 1, [&](Value p) {
        Value n = e.add(column, e.mul(p, nr));
        Value at = e.add(e.mul(p, plan.panel), e.mul(k, nr));
        for (int64_t v = 0; v < nr; v += lanes) {
          Value first = e.add(n, v);
          Value mask = wholePanels
                           ? Value()
                           : e.mask(e.sub(e.index(spec.n), first), lanes);
          Value part = e.loadVector(b.flat, e.add(line, first), lanes, mask);
          e.storeVector(e.widen(part, b.element, spec.compute), to,
                        e.add(at, v));
        }
      });
    });
    return;
  }

  // Columns past the last one repeat it; their sums are never stored.
  auto columnOffset = [&](Value n) {
    return e.offset(base, wholePanels ? n : e.min(n, spec.n - 1), b.free);
  };
  if (plan.copyB == GemmCopy::scalar) {
    e.loop(zero, e.mul(panels, nr), 1, [&](Value x) {
      Value line = columnOffset(e.add(column, x));
      Value at = e.add(e.mul(e.div(x, nr), plan.panel), e.rem(x, nr));
      e.loop(zero, count, 1, [&](Value k) {
        Value from = depthOffset(e, spec, b, line, e.add(k0, k));
        Value value = e.widen(e.load(b.flat, from), b.element, spec.compute);
        e.store(value, to, e.add(at, e.mul(k, nr)));
      });
    });
    return;
  }

  bool wholeDepth = spec.depth() % lanes == 0 && plan.ks % lanes == 0;
  e.loop(zero, e.mul(panels, nr), lanes, [&](Value x) {
    VectorEmitter::Values lines;
    for (int64_t i = 0; i < lanes; ++i)
      lines.push_back(columnOffset(e.add(e.add(column, x), i)));
    Value at = e.add(e.mul(e.div(x, nr), plan.panel), e.rem(x, nr));
    e.loop(zero, count, lanes, [&](Value k) {
      Value mask = wholeDepth ? Value() : e.mask(e.sub(count, k), lanes);
      VectorEmitter::Values square;
      for (Value line : lines) {
        Value from = depthOffset(e, spec, b, line, e.add(k0, k));
        Value part = e.loadVector(b.flat, from, lanes, mask);
        square.push_back(e.widen(part, b.element, spec.compute));
      }
      for (auto [i, part] : llvm::enumerate(e.transpose(square)))
        e.storeVector(part, to, e.add(at, e.mul(e.add(k, i), nr)));
    });
  });
}
