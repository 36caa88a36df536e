//===- GemmRows.cpp - a few rows times rows -------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// B has k innermost and is used by too few rows for a copy: as many columns as
// a vector has lanes are summed in one register each, along k, and their lanes
// added at the end. B is read once, in long lines.
//
//===----------------------------------------------------------------------===//

#include "GemmEmit.h"

using namespace mlir;
using namespace tsp;
using Values = VectorEmitter::Values;

void tsp::emitRowsBlock(VectorEmitter &e, const GemmSpec &spec,
                        const GemmPlan &plan, Value aBase, Value bBase,
                        Value scratchA, Value column,
                        llvm::function_ref<void(Value, Value, Value)> store) {
  int64_t lanes = plan.lanes, depth = plan.ks;
  int64_t wholeDepth = depth / lanes * lanes;
  const GemmOperand &a = spec.a, &b = spec.b;
  bool copied = plan.copyA != GemmCopy::none;
  Value last = e.min(e.add(column, plan.nc), spec.n);

  e.loop(column, last, lanes, [&](Value n) {
    Values lines;
    for (int64_t i = 0; i < lanes; ++i) {
      Value at = e.add(n, i);
      if (spec.n % lanes != 0)
        at = e.min(at, spec.n - 1);
      lines.push_back(e.offset(bBase, at, b.free));
    }
    e.loop(0, spec.m, 1, [&](Value m) {
      Value row = copied ? e.mul(m, plan.lda) : e.offset(aBase, m, a.free);
      Value source = copied ? scratchA : a.flat;
      auto step = [&](Value k, ValueRange sums, Value tail) {
        Value x = e.loadVector(source, e.add(row, k), lanes, tail);
        Values next;
        for (auto [line, sum] : llvm::zip_equal(lines, sums)) {
          Value y = e.loadVector(b.flat, e.add(line, k), lanes, tail);
          next.push_back(e.fma(x, e.widen(y, b.element, spec.compute), sum));
        }
        return next;
      };
      VectorType type = e.vectorOf(spec.compute, lanes);
      Values sums(lanes, e.constant(type, 0));
      if (wholeDepth)
        sums = e.loop(e.index(0), e.index(wholeDepth), lanes, sums,
                      [&](Value k, ValueRange carried) {
                        return step(k, carried, nullptr);
                      });
      if (wholeDepth != depth)
        sums = step(e.index(wholeDepth), sums,
                    e.mask(e.index(depth - wholeDepth), lanes));
      store(e.sumRows(sums), m, n);
    });
  });
}
