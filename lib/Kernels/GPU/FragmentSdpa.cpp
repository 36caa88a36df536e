//===- FragmentSdpa.cpp - attention with fragments in registers -----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FragmentSdpa.h"
#include "TensorCore.h"

using namespace mlir;
using namespace tsp;

FragmentSdpa::State FragmentSdpa::emptyState() {
  Values values(2, e.infinity(real, /*negative=*/true));
  values.append(stateSize() - 2, e.constant(real, 0));
  return State(values);
}

void FragmentSdpa::describeRows(Value first) {
  for (int64_t half = 0; half < 2; ++half)
    rows.push_back(describeRow(e.add(e.add(first, e.div(lane, 4)), 8 * half)));
}

void FragmentSdpa::maskScores(MutableArrayRef<Values> scores, Value tile,
                              Value seen) {
  Value firstKey = e.add(e.mul(tile, plan.keys), e.mul(quad, 2));
  Values all;
  for (Values &part : scores)
    all.append(part);
  auto change = [&](llvm::function_ref<Value(Value, const Row &, Value)> f) {
    Values changed;
    for (auto [i, score] : llvm::enumerate(all)) {
      int64_t perTile = plan.keys / 2;
      int64_t m = i / perTile, place = i % perTile;
      Value key = e.add(firstKey, place / 4 * 8 + place % 2);
      changed.push_back(f(score, rows[2 * m + place % 4 / 2], key));
    }
    return changed;
  };
  if (changesScores())
    all = change([&](Value score, const Row &row, Value key) {
      return finishScore(score, row, key);
    });
  auto mask = [&] {
    return change([&](Value score, const Row &row, Value key) {
      return maskScore(score, row, key);
    });
  };
  if (seen)
    all = e.choose(
        seen, ValueRange(all).getTypes(), [&] { return all; }, mask);
  for (auto [m, part] : llvm::enumerate(scores))
    llvm::copy(ValueRange(all).slice(m * part.size(), part.size()),
               part.begin());
}

FragmentSdpa::Values FragmentSdpa::weigh(Values &scores, State &state) {
  Values corrections;
  Value factor = e.constant(real, exponent());
  Value minusInfinity = e.infinity(real, /*negative=*/true);
  for (int64_t h = 0; h < 2; ++h) {
    Value maximum;
    for (int64_t i = 2 * h; i < (int64_t)scores.size(); i += 4) {
      Value two = e.maxf(scores[i], scores[i + 1]);
      maximum = maximum ? e.maxf(maximum, two) : two;
    }
    maximum = e.reduceLanes(maximum, 4,
                            [&](Value x, Value y) { return e.maxf(x, y); });
    maximum = e.maxf(state.maxima[h], maximum);
    // A row that has seen no key yet: -inf - (-inf) would be NaN.
    Value finite = maximum;
    if (spec.hasMasks())
      finite =
          e.select(e.compare(arith::CmpFPredicate::OEQ, maximum, minusInfinity),
                   e.constant(real, 0), maximum);
    Value shift = e.mulf(finite, e.constant(real, -exponent()));
    Value correction = e.exp2(e.fma(state.maxima[h], factor, shift));
    Value sum = e.mulf(state.sums[h], correction);
    for (int64_t i = 2 * h; i < (int64_t)scores.size(); i += 4)
      for (int64_t j = i; j < i + 2; ++j) {
        scores[j] = e.exp2(e.fma(scores[j], factor, shift));
        sum = e.addf(sum, scores[j]);
      }
    state.maxima[h] = maximum;
    state.sums[h] = sum;
    corrections.push_back(correction);
  }
  return corrections;
}

void FragmentSdpa::rescale(Values &output, ValueRange corrections) {
  for (auto [i, value] : llvm::enumerate(output))
    value = e.mulf(value, corrections[i % 4 / 2]);
}

FragmentSdpa::Values FragmentSdpa::packWeights(ValueRange weights) {
  Values packed;
  for (size_t i = 0; i < weights.size(); i += 2)
    packed.push_back(packPair(e, spec.v.element, weights[i], weights[i + 1]));
  return packed;
}

void FragmentSdpa::storeRows(const State &state, ArrayRef<Row> rows) {
  for (int64_t h = 0; h < 2; ++h) {
    const Row &row = rows[h];
    Value sum = e.reduceLanes(state.sums[h], 4,
                              [&](Value x, Value y) { return e.addf(x, y); });
    Value inverse = inverseOf(sum);
    e.when(storesSums(row, sum), [&] {
      Value start =
          at(spec.o, e.add(rowOffset(spec.o, row.number), e.mul(quad, 2)));
      Type element = spec.o.element;
      int64_t bytes = element.getIntOrFloatBitWidth() / 8;
      for (int64_t n = 0; n < spec.valueWidth / 8; ++n) {
        Value low = e.mulf(state.output[n * 4 + 2 * h], inverse);
        Value high = e.mulf(state.output[n * 4 + 2 * h + 1], inverse);
        Value place = e.shifted(start, n * 8 * bytes);
        if (bytes == 2) {
          e.store(packPair(e, element, low, high), place, 4);
        } else {
          e.store(e.narrow(low, element), place);
          e.store(e.narrow(high, element), e.shifted(place, bytes));
        }
      }
    });
    storeMeans(row, sum, quad, 4);
    Value first = e.compare(arith::CmpIPredicate::eq, quad, e.i32(0));
    e.when(first, [&] { storeLse(row, state.maxima[h], sum); });
  }
}
