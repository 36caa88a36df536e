//===- DeviceGemmRows.cpp - products with few rows ------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reading B once is all the time there is. Where B lies along k, a warp takes a
// few columns: each lane sums a part of k, and the lanes are added up. Else the
// lanes take columns and the warps of the block share k. Both add in an order
// that depends on shapes only.
//
//===----------------------------------------------------------------------===//

#include "DeviceGemm.h"
#include "tsp/Kernels/Kernels.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tsp;

using Values = DeviceEmitter::Values;

namespace {
class RowsGemm {
public:
  explicit RowsGemm(DeviceGemm &gemm)
      : gemm(gemm), e(gemm.e), plan(gemm.plan), spec(gemm.spec()),
        type(spec.compute), warps(plan.threads / 32),
        warp(e.div(e.thread(), 32)), lane(e.lane()) {}

  void emit() {
    plan.b.alongK ? sumAlongK() : sumColumns();
    e.barrier();
    storeStaged(gemm, staged(0), gemm.m, gemm.n, e.thread(), plan.threads);
  }

private:
  StagedSums staged(int64_t part) {
    StagedSums sums{gemm.shared, spec.m, plan.bn, plan.run, type};
    sums.pointer = e.shifted(sums.pointer, part * sums.bytes());
    return sums;
  }

  /// An index of k as one for each dim.
  Values indicesOfK(Value k) {
    Values indices(spec.k.size());
    for (size_t i = spec.k.size(); i-- > 0;) {
      indices[i] = i == 0 ? k : e.rem(k, spec.k[i]);
      k = e.div(k, spec.k[i]);
    }
    return indices;
  }

  /// `width` elements of a side in memory that lie together from the indices on,
  /// as sums are computed.
  Values readMemory(const GemmOperand &operand, Value base, Value free,
                    ValueRange k, int64_t width) {
    Value place = e.mul(e.wide(free), operand.free);
    for (auto [index, stride] : llvm::zip_equal(k, operand.k))
      place = e.add(place, e.mul(e.wide(index), stride));
    Type storage = getStorageType(operand.element);
    int64_t bytes = storage.getIntOrFloatBitWidth() / 8;
    Value from = e.shifted(base, e.mul(place, bytes));
    Values values;
    if (width == 1) {
      values.push_back(e.load(from, storage));
    } else {
      Value part =
          e.load(from, VectorType::get({width}, storage), width * bytes);
      for (int64_t i = 0; i < width; ++i)
        values.push_back(vector::ExtractOp::create(e.b, e.loc, part, i));
    }
    for (Value &value : values)
      value = readElement(e, value, operand.element, type);
    return values;
  }

  /// `width` elements of a side along k, or along the free dim.
  Values readSide(bool isA, Value free, Value k, bool alongK, int64_t width) {
    Values indices = indicesOfK(k);
    DevicePrologue *prologue = isA ? gemm.computeA : gemm.computeB;
    if (!prologue)
      return readMemory(isA ? spec.a : spec.b, isA ? gemm.a : gemm.b, free,
                        indices, width);
    return prologue->compute(
        e, prologue->load(e, gemm.outer, free, indices, alongK, width));
  }

  /// The elements [k, k + width) of a row of A.
  Values readA(int64_t row, Value k, int64_t width) {
    Values values;
    int64_t step = plan.a.alongK ? std::min(plan.a.width, width) : 1;
    for (int64_t i = 0; i < width; i += step)
      llvm::append_range(values, readSide(/*isA=*/true, e.i32(row), e.add(k, i),
                                          /*alongK=*/true, step));
    return values;
  }

  void sumAlongK() {
    int64_t width = plan.b.width;
    Value first = e.add(gemm.n, e.mul(warp, plan.tn));
    // Columns past the end are read as the last one, and not stored.
    Values columns;
    for (int64_t j = 0; j < plan.tn; ++j) {
      columns.push_back(e.min(e.add(first, j), e.i32(spec.n - 1)));
    }
    Values sums(spec.m * plan.tn, e.constant(type, 0));
    sums = e.loop(e.mul(lane, width), e.i32(spec.depth()), 32 * width, sums,
                  [&](Value k, ValueRange carried) {
                    Values sums(carried);
                    SmallVector<Values> b;
                    for (Value column : columns)
                      b.push_back(readSide(/*isA=*/false, column, k,
                                           /*alongK=*/true, width));
                    for (int64_t i = 0; i < spec.m; ++i) {
                      Values a = readA(i, k, width);
                      for (int64_t j = 0; j < plan.tn; ++j)
                        for (int64_t x = 0; x < width; ++x) {
                          Value &sum = sums[i * plan.tn + j];
                          sum = e.fma(a[x], b[j][x], sum);
                        }
                    }
                    return sums;
                  });
    StagedSums to = staged(0);
    auto add = [&](Value x, Value y) { return e.addf(x, y); };
    for (Value &sum : sums)
      sum = e.reduceLanes(sum, 32, add);
    e.when(e.compare(arith::CmpIPredicate::eq, lane, e.i32(0)), [&] {
      for (int64_t i = 0; i < spec.m; ++i)
        for (int64_t j = 0; j < plan.tn; ++j)
          e.store(sums[i * plan.tn + j],
                  to.at(e, e.i32(i), e.add(e.mul(warp, plan.tn), j)));
    });
  }

  void sumColumns() {
    // tn columns that lie together, or one anywhere; past the end as above.
    Value column =
        e.min(e.add(gemm.n, e.mul(lane, plan.tn)), e.i32(spec.n - plan.tn));
    Values sums(spec.m * plan.tn, e.constant(type, 0));
    sums = e.loop(warp, e.i32(spec.depth()), warps, sums,
                  [&](Value k, ValueRange carried) {
                    Values sums(carried);
                    Values b = readSide(/*isA=*/false, column, k,
                                        /*alongK=*/false, plan.tn);
                    for (int64_t i = 0; i < spec.m; ++i) {
                      Value a = readA(i, k, 1).front();
                      for (int64_t j = 0; j < plan.tn; ++j) {
                        Value &sum = sums[i * plan.tn + j];
                        sum = e.fma(a, b[j], sum);
                      }
                    }
                    return sums;
                  });
    // Each warp leaves its sums; threads add them up, column by column.
    StagedSums first = staged(0);
    StagedSums mine = first;
    mine.pointer = e.shifted(mine.pointer, e.mul(warp, first.bytes()));
    for (int64_t i = 0; i < spec.m; ++i)
      for (int64_t j = 0; j < plan.tn; ++j)
        e.store(sums[i * plan.tn + j],
                mine.at(e, e.i32(i), e.add(e.mul(lane, plan.tn), j)));
    e.barrier();
    e.loop(
        e.thread(), e.i32(spec.m * plan.bn), plan.threads, [&](Value number) {
          Value row = e.div(number, plan.bn), column = e.rem(number, plan.bn);
          Value sum;
          for (int64_t part = 0; part < warps; ++part) {
            Value more = e.load(staged(part).at(e, row, column), type);
            sum = sum ? e.addf(sum, more) : more;
          }
          e.store(sum, first.at(e, row, column));
        });
  }

  DeviceGemm &gemm;
  DeviceEmitter &e;
  const DeviceGemmPlan &plan;
  const GemmSpec &spec;
  Type type;
  int64_t warps;
  Value warp, lane;
};
} // namespace

void tsp::emitRowsGemm(DeviceGemm &gemm) { RowsGemm(gemm).emit(); }
