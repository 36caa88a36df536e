//===- FragmentSdpa.cpp - attention with fragments in registers -----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FragmentSdpa.h"
#include "TensorCore.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

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

void FragmentSdpa::gatherColumns(Values &words) {
  // A transpose of four lanes by four words, in halves.
  for (int64_t mask : {1, 2}) {
    Value isUpper = e.compare(arith::CmpIPredicate::ne,
                              e.bitAnd(quad, e.i32(mask)), e.i32(0));
    for (int64_t i = 0; i < 4; ++i) {
      if (i & mask)
        continue;
      Value &low = words[i], &high = words[i + mask];
      Value other = e.shuffleXor(e.select(isUpper, low, high), mask);
      low = e.select(isUpper, other, low);
      high = e.select(isUpper, high, other);
    }
  }
}

Value FragmentSdpa::roundPair(const State &state, int64_t n, int64_t half,
                              Value factor) {
  int64_t at = n * 4 + 2 * half;
  return packPair(e, spec.o.element, e.mulf(state.output[at], factor),
                  e.mulf(state.output[at + 1], factor));
}

void FragmentSdpa::storeRows(const State &state, ArrayRef<Row> rows) {
  Type element = spec.o.element;
  int64_t bytes = element.getIntOrFloatBitWidth() / 8,
          columns = spec.valueWidth;
  bool isAligned =
      llvm::all_of(ArrayRef({spec.o.row, spec.o.head, spec.o.batch}),
                   [](int64_t stride) { return stride % 8 == 0; });
  // Columns that are stored in 16 bytes, by lanes that have all of them.
  int64_t wide = bytes == 2 && isAligned ? columns / 32 * 32 : 0;
  for (int64_t h = 0; h < 2; ++h) {
    const Row &row = rows[h];
    Value sum = e.reduceLanes(state.sums[h], 4,
                              [&](Value x, Value y) { return e.addf(x, y); });
    Value inverse = inverseOf(sum);
    SmallVector<Values> chunks;
    for (int64_t column = 0; column < wide; column += 32) {
      Values &words = chunks.emplace_back();
      for (int64_t n = 0; n < 4; ++n)
        words.push_back(roundPair(state, column / 8 + n, h, inverse));
      gatherColumns(words);
    }
    e.when(storesSums(row, sum), [&] {
      Value start = rowOffset(spec.o, row.number);
      Value chunk = at(spec.o, e.add(start, e.mul(quad, 8)));
      for (auto [i, words] : llvm::enumerate(chunks)) {
        auto type = VectorType::get({4}, e.b.getI32Type());
        e.store(vector::FromElementsOp::create(e.b, e.loc, type, words),
                e.shifted(chunk, i * 64), 16);
      }
      Value pair = at(spec.o, e.add(start, e.mul(quad, 2)));
      for (int64_t column = wide; column < columns; column += 8) {
        Value place = e.shifted(pair, column * bytes);
        int64_t first = column / 2 + 2 * h;
        if (bytes == 2) {
          e.store(roundPair(state, column / 8, h, inverse), place, 4);
          continue;
        }
        for (int64_t i = 0; i < 2; ++i)
          e.store(e.narrow(e.mulf(state.output[first + i], inverse), element),
                  e.shifted(place, i * bytes));
      }
    });
    storeMeans(row, sum, quad, 4);
    Value first = e.compare(arith::CmpIPredicate::eq, quad, e.i32(0));
    e.when(first, [&] { storeLse(row, state.maxima[h], sum); });
  }
}
