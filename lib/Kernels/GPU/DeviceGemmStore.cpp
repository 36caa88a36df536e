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
//
//===----------------------------------------------------------------------===//

#include "DeviceGemm.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tsp;

Value StagedSums::at(DeviceEmitter &e, Value row, Value column) const {
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
static DeviceEmitter::Values loadRun(DeviceEmitter &e, const StagedSums &sums,
                                     Value row, Value column, int64_t run) {
  int64_t bytes = sums.type.getIntOrFloatBitWidth() / 8;
  int64_t width = std::min<int64_t>(run, 16 / bytes);
  DeviceEmitter::Values values;
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

void tsp::storeFragments(DeviceGemm &gemm, ValueRange sums, int64_t rows,
                         Value warp, Value row, Value column) {
  DeviceEmitter &e = gemm.e;
  const DeviceGemmPlan &plan = gemm.plan;
  auto syncWarp = [&] { NVVM::SyncWarpOp::create(e.b, e.loc, e.i32(-1)); };
  Type type = sums.front().getType();
  auto pair = VectorType::get({2}, type);
  StagedSums staged{gemm.shared, plan.slabRows, plan.wn, plan.run, type};
  staged.pointer = e.shifted(gemm.shared, e.mul(warp, staged.bytes()));
  Value lane = e.lane(), g = e.div(lane, 4), t = e.mul(e.rem(lane, 4), 2);
  int64_t perSlab = plan.slabRows / 16, perRow = plan.wn / 8;
  for (int64_t first = 0; first < rows / 16; first += perSlab) {
    syncWarp();
    for (int64_t i = 0; i < perSlab; ++i)
      for (int64_t j = 0; j < perRow; ++j)
        for (int64_t half = 0; half < 2; ++half) {
          int64_t at = ((first + i) * perRow + j) * 4 + 2 * half;
          Value both = vector::FromElementsOp::create(e.b, e.loc, pair,
                                                      sums.slice(at, 2));
          e.store(both,
                  staged.at(e, e.add(g, i * 16 + half * 8), e.add(t, j * 8)),
                  type.getIntOrFloatBitWidth() / 4);
        }
    syncWarp();
    storeStaged(gemm, staged, e.add(gemm.m, e.add(row, first * 16)),
                e.add(gemm.n, column), lane, 32);
  }
}
