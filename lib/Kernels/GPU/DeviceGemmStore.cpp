//===- DeviceGemmStore.cpp - from sums to results -------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fragments of the tensor cores hold pairs of columns, spread over the lanes.
// They are turned in shared memory into runs of consecutive columns, so that
// operands of the epilogue are read and results written in 16 bytes at a time.
// What is only rounded is rounded before that.
//
//===----------------------------------------------------------------------===//

#include "DeviceGemm.h"
#include "TensorCore.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tsp;

using Values = DeviceEmitter::Values;

Value StagedSums::at(DeviceEmitter &e, Value row, Value column) const {
  if (type.getIntOrFloatBitWidth() == 16) {
    // Chunks of 16 bytes are permuted as bulk tensor copies do it with a
    // swizzle of a line's length.
    int64_t chunks = columns / 8;
    Value chunk =
        e.bitXor(e.div(column, 8), e.rem(e.div(row, 8 / chunks), chunks));
    Value place = e.add(e.mul(row, line() * 2), e.mul(chunk, 16));
    return e.shifted(pointer, e.add(place, e.mul(e.rem(column, 8), 2)));
  }
  // A run of 8 f32 is read as two halves; in every second group of four runs
  // they change places, so that eight lanes meet all banks.
  if (run == 8 && columns >= 8) {
    Value number = e.add(e.mul(row, columns / 8), e.div(column, 8));
    Value odd = e.rem(e.div(number, 4), 2);
    column = e.bitXor(column, e.mul(odd, 4));
  }
  Value place = e.add(e.mul(row, line()), column);
  return e.shifted(pointer, e.mul(place, type.getIntOrFloatBitWidth() / 8));
}

/// The sums of a run.
static Values loadRun(DeviceEmitter &e, const StagedSums &sums, Value row,
                      Value column, int64_t run) {
  int64_t bytes = sums.type.getIntOrFloatBitWidth() / 8;
  int64_t width = std::min<int64_t>(run, 16 / bytes);
  Values values;
  for (int64_t i = 0; i < run; i += width) {
    Value from = sums.at(e, row, e.add(column, i));
    if (width == 1) {
      values.push_back(e.load(from, sums.type));
      continue;
    }
    Value part =
        e.load(from, VectorType::get({width}, sums.type), width * bytes);
    for (int64_t j = 0; j < width; ++j)
      values.push_back(vector::ExtractOp::create(e.b, e.loc, part, j));
  }
  return values;
}

/// Copies a run of staged results.
static void copyRun(DeviceGemm &gemm, const StagedSums &results, Value row,
                    Value column, Value m, Value n) {
  DeviceEmitter &e = gemm.e;
  const DotProduct &product = gemm.kernel.product;
  Value place = e.add(e.wide(n), e.mul(e.wide(m), product.mStride));
  for (auto [index, stride] : llvm::zip_equal(gemm.outer, product.outerStrides))
    place = e.add(place, e.mul(e.wide(index), stride));
  auto run = VectorType::get({gemm.plan.run}, results.type);
  Value value = e.load(results.at(e, row, column), run, 16);
  e.store(value, e.shifted(gemm.output, e.mul(place, 2)), 16);
}

void tsp::storeStaged(DeviceGemm &gemm, const StagedSums &sums, Value m,
                      Value n, Value rank, int64_t group) {
  DeviceEmitter &e = gemm.e;
  const GemmSpec &spec = gemm.spec();
  const DeviceGemmPlan &plan = gemm.plan;
  int64_t run = plan.run, perRow = sums.columns / run;
  int64_t count = sums.rows * perRow;
  auto index = [&](Value x) -> Value {
    return arith::IndexCastOp::create(e.b, e.loc, e.b.getIndexType(), x);
  };
  e.loop(e.i32(0), e.i32(count), group, [&](Value first) {
    Value number = e.add(first, rank);
    Value row = e.div(number, perRow);
    Value column = e.mul(e.rem(number, perRow), run);
    Value placeM = e.add(m, row), placeN = e.add(n, column);
    auto store = [&] {
      if (plan.roundsFirst())
        return copyRun(gemm, sums, row, column, placeM, placeN);
      GemmResults::Place place;
      for (Value x : gemm.outer)
        place.outer.push_back(index(x));
      place.m = index(placeM);
      place.n = index(placeN);
      gemm.results.store(e.b, place, loadRun(e, sums, row, column, run));
    };
    Value inside;
    auto require = [&](Value condition) {
      inside = inside ? e.bitAnd(inside, condition) : condition;
    };
    if (count % group != 0)
      require(e.less(number, e.i32(count)));
    if (spec.m % plan.bm != 0)
      require(e.less(placeM, e.i32(spec.m)));
    if (spec.n % plan.bn != 0)
      require(e.less(placeN, e.i32(spec.n)));
    if (inside)
      e.when(inside, store);
    else
      store();
  });
}

Value tsp::roundPair(DeviceGemm &gemm, ValueRange sums) {
  DeviceEmitter &e = gemm.e;
  Values pair(sums);
  for (Type type : ArrayRef(*gemm.kernel.roundings).drop_back())
    for (Value &value : pair)
      value = e.widen(e.narrow(value, type), type, gemm.spec().compute);
  return packPair(e, gemm.plan.staged, pair[0], pair[1]);
}

void tsp::storeFragments(DeviceGemm &gemm, ValueRange sums, int64_t rows,
                         Value warp, Value row, Value column) {
  DeviceEmitter &e = gemm.e;
  const DeviceGemmPlan &plan = gemm.plan;
  int64_t pairBytes = plan.staged.getIntOrFloatBitWidth() / 4;
  auto pairOf = [&](int64_t at) -> Value {
    ValueRange pair = sums.slice(at, 2);
    if (plan.roundsFirst())
      return roundPair(gemm, pair);
    return vector::FromElementsOp::create(
        e.b, e.loc, VectorType::get({2}, plan.staged), pair);
  };
  StagedSums staged{{}, plan.slabRows, plan.slabColumns, plan.run, plan.staged};
  staged.pointer = e.shifted(gemm.staging, e.mul(warp, staged.bytes()));
  Value lane = e.lane(), g = e.div(lane, 4), t = e.mul(e.rem(lane, 4), 2);
  for (int64_t fromRow = 0; fromRow < rows; fromRow += plan.slabRows)
    for (int64_t from = 0; from < plan.wn; from += plan.slabColumns) {
      e.syncWarp();
      for (int64_t i = 0; i < plan.slabRows; i += 8)
        for (int64_t j = 0; j < plan.slabColumns; j += 8) {
          int64_t tile = (fromRow + i) / 16 * (plan.wn / 8) + (from + j) / 8;
          e.store(pairOf(tile * 4 + i % 16 / 4),
                  staged.at(e, e.add(g, i), e.add(t, j)), pairBytes);
        }
      e.syncWarp();
      storeStaged(gemm, staged, e.add(gemm.m, e.add(row, fromRow)),
                  e.add(gemm.n, e.add(column, from)), lane, 32);
    }
}
