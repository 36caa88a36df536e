//===- GemmCompute.cpp - computed operands of a product -------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The copies of GemmCopy.cpp, and the rows of GemmRows.cpp, for an operand
// whose elements are computed. Loops of single elements, innermost along
// memory, of which LLVM makes vectors; where a group of k shares a scale, a
// loop is such a group.
//
//===----------------------------------------------------------------------===//

#include "GemmEmit.h"

using namespace mlir;
using namespace tsp;
using Values = VectorEmitter::Values;

/// The place of step `x` after step `k` of the contraction. x is below the run
/// of the operand, if it has one.
static GemmPlace placeOf(VectorEmitter &e, const GemmSpec &spec,
                         const GemmOperand &operand, ValueRange outer,
                         Value free, Value k, Value x = nullptr) {
  GemmPlace place;
  place.outer = llvm::to_vector(outer);
  place.free = free;
  if (x && operand.run > 0)
    place.ahead = x;
  else if (x)
    k = e.add(k, x);
  place.k = e.delinearize(k, spec.k);
  return place;
}

/// Computes steps [k0, k0 + count) of a line along k to a buffer, from `at` on.
static void computeLine(VectorEmitter &e, const GemmSpec &spec,
                        const GemmOperand &operand, int64_t lanes,
                        ValueRange outer, Value free, Value k0, Value count,
                        Value to, Value at) {
  auto part = [&](Value k, Value steps) {
    e.elementLoop(e.index(0), steps, lanes, [&](Value x) {
      GemmPlace place =
          placeOf(e, spec, operand, outer, free, e.add(k0, k), x);
      e.store(operand.compute(e.b, place), to, e.add(at, e.add(k, x)));
    });
  };
  if (operand.run == 0)
    return part(e.index(0), count);
  e.loop(e.index(0), count, operand.run, [&](Value k) {
    part(k, e.min(e.sub(count, k), operand.run));
  });
}

void tsp::computeA(VectorEmitter &e, const GemmSpec &spec, const GemmPlan &plan,
                   ValueRange outer, Value row, Value rows, Value k0,
                   Value count, Value to) {
  const GemmOperand &a = spec.a;
  if (!plan.aColumns) {
    e.loop(e.index(0), rows, 1, [&](Value m) {
      computeLine(e, spec, a, plan.lanes, outer, e.add(row, m), k0, count, to,
                  e.mul(m, plan.lda));
    });
    return;
  }
  e.loop(e.index(0), count, 1, [&](Value k) {
    e.elementLoop(e.index(0), rows, plan.lanes, [&](Value m) {
      GemmPlace place =
          placeOf(e, spec, a, outer, e.add(row, m), e.add(k0, k));
      e.store(a.compute(e.b, place), to, e.add(e.mul(k, plan.lda), m));
    });
  });
}

void tsp::computeB(VectorEmitter &e, const GemmSpec &spec, const GemmPlan &plan,
                   ValueRange outer, Value column, Value panels, Value k0,
                   Value count, Value to, Value lines) {
  const GemmOperand &b = spec.b;
  int64_t lanes = plan.lanes, nr = plan.nr();
  Value zero = e.index(0);
  if (plan.copyB == GemmCopy::lines) {
    e.loop(zero, count, 1, [&](Value k) {
      e.loop(zero, panels, 1, [&](Value p) {
        Value n = e.add(column, e.mul(p, nr));
        Value at = e.add(e.mul(p, plan.panel), e.mul(k, nr));
        Value width = e.index(nr);
        if (spec.n % nr != 0)
          width = e.min(e.sub(e.index(spec.n), n), nr);
        e.elementLoop(zero, width, lanes, [&](Value x) {
          GemmPlace place =
              placeOf(e, spec, b, outer, e.add(n, x), e.add(k0, k));
          e.store(b.compute(e.b, place), to, e.add(at, x));
        });
      });
    });
    return;
  }

  // As many lines as a vector has lanes, turned in parts. Columns past the last
  // one repeat it, and steps past the last one are never read.
  int64_t pitch = plan.linePitch();
  e.loop(zero, e.mul(panels, nr), lanes, [&](Value x) {
    Value at = e.add(e.mul(e.div(x, nr), plan.panel), e.rem(x, nr));
    e.loop(zero, count, plan.lineSteps, [&](Value part) {
      Value steps = e.min(e.sub(count, part), plan.lineSteps);
      e.loop(0, lanes, 1, [&](Value i) {
        Value n = e.add(e.add(column, x), i);
        if (spec.n % nr != 0)
          n = e.min(n, spec.n - 1);
        computeLine(e, spec, b, lanes, outer, n, e.add(k0, part), steps, lines,
                    e.mul(i, pitch));
      });
      e.loop(zero, steps, lanes, [&](Value k) {
        Values square;
        for (int64_t i = 0; i < lanes; ++i)
          square.push_back(e.loadVector(lines, e.add(k, i * pitch), lanes));
        Value first = e.add(part, k);
        for (auto [i, row] : llvm::enumerate(e.transpose(square)))
          e.storeVector(row, to, e.add(at, e.mul(e.add(first, i), nr)));
      });
    });
  });
}

void tsp::emitComputedRowsBlock(
    VectorEmitter &e, const GemmSpec &spec, const GemmPlan &plan,
    ValueRange outer, Value scratchA, Value column, Value sums,
    llvm::function_ref<void(Value, Value, Value)> store) {
  int64_t lanes = plan.lanes;
  const GemmOperand &a = spec.a, &b = spec.b;
  bool copied = plan.copyA != GemmCopy::none;
  Value aBase = copied ? e.index(0) : e.offset(e.index(0), outer, a.outer);
  Value depth = e.index(spec.depth()), zero = e.index(0);
  Value last = e.min(e.add(column, plan.nc), spec.n);

  e.loop(column, last, lanes, [&](Value n) {
    e.loop(zero, e.min(e.sub(last, n), lanes), 1, [&](Value i) {
      auto add = [&](Value k, Value steps, ValueRange totals) {
        return e.elementSums(zero, steps, lanes, totals, [&](Value x) {
          Value y = b.compute(
              e.b, placeOf(e, spec, b, outer, e.add(n, i), k, x));
          std::vector<std::pair<Value, Value>> factors;
          for (int64_t m = 0; m < spec.m; ++m) {
            int64_t row = m * (copied ? plan.lda : a.free);
            Value at = e.add(aBase, e.add(e.add(k, x), row));
            factors.push_back({e.load(copied ? scratchA : a.flat, at), y});
          }
          return factors;
        });
      };
      Values totals(spec.m, e.constant(spec.compute, 0));
      if (b.run == 0)
        totals = add(zero, depth, totals);
      else
        totals = e.loop(zero, depth, b.run, totals,
                        [&](Value k, ValueRange carried) {
                          return add(k, e.index(b.run), carried);
                        });
      for (auto [m, total] : llvm::enumerate(totals))
        e.store(total, sums, e.add(i, m * lanes));
    });
    e.loop(0, spec.m, 1,
           [&](Value m) { store(e.mul(m, lanes), m, n); });
  });
}
