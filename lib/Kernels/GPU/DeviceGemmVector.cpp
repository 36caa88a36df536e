//===- DeviceGemmVector.cpp - products on vector units --------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exact products in f32 or f64 for operands of any type and layout. Tiles come
// through registers, so that conversions cost nothing in memory, and lie in
// shared memory with m and n innermost. While one is multiplied the next one is
// read. A thread owns groups of consecutive rows and columns, spread over the
// tile so that the threads of a warp read neighbouring vectors.
//
// Long contractions are summed in parts, as rounding errors grow with the
// number of terms that are added one after the other.
//
//===----------------------------------------------------------------------===//

#include "DeviceTile.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tsp;

using Values = DeviceEmitter::Values;

/// Terms that are added one after the other.
static constexpr int64_t kPartDepth = 512;

namespace {
class VectorUnitGemm {
public:
  explicit VectorUnitGemm(DeviceGemm &gemm)
      : gemm(gemm), e(gemm.e), plan(gemm.plan), spec(gemm.spec()),
        type(spec.compute), bytes(type.getIntOrFloatBitWidth() / 8),
        width(std::min<int64_t>(plan.tn, 16 / bytes)),
        acrossN(plan.bn / plan.tn),
        threadM(e.mul(e.div(e.thread(), acrossN), width)),
        threadN(e.mul(e.rem(e.thread(), acrossN), width)),
        copyA(gemm, spec.a, type), copyB(gemm, spec.b, type) {
    slotBytes = copyA.bytes() + copyB.bytes();
  }

  void emit() {
    int64_t tiles = countTiles(spec, plan.bk), perPart = kPartDepth / plan.bk;
    read(e.i32(0));
    write(e.i32(0));
    e.barrier();
    Values state(plan.tm * plan.tn, e.constant(type, 0));
    state.push_back(e.i32(0));
    Value end = e.i32(tiles - 1);
    if (tiles <= perPart)
      state = addTiles(e.i32(0), end, state);
    else
      state = e.loop(e.i32(0), end, perPart, state,
                     [&](Value first, ValueRange before) {
                       Values part(before.size() - 1, e.constant(type, 0));
                       part.push_back(before.back());
                       Value last = e.min(e.add(first, perPart), end);
                       part = addTiles(first, last, part);
                       for (size_t i = 0; i + 1 < part.size(); ++i)
                         part[i] = e.addf(before[i], part[i]);
                       return part;
                     });
    Value slot = state.pop_back_val();
    multiply(state, slot);
    e.barrier();
    store(state);
  }

private:
  /// Adds the products of tiles [from, to) to the sums, of which the last value
  /// of the state is not one: it is the slot of the next tile.
  Values addTiles(Value from, Value to, ValueRange state) {
    return e.loop(from, to, 1, state, [&](Value tile, ValueRange state) {
      Values sums(state.drop_back());
      Value slot = state.back();
      Value other = e.sub(e.i32(slotBytes), slot);
      read(e.add(tile, 1));
      multiply(sums, slot);
      write(other);
      e.barrier();
      sums.push_back(other);
      return sums;
    });
  }

  void read(Value tile) {
    copyA.load(tile);
    copyB.load(tile);
  }

  void write(Value slot) {
    Value to = e.shifted(gemm.shared, slot);
    copyA.store(to);
    copyB.store(e.shifted(to, copyA.bytes()));
  }

  /// The elements of a line of a tile that this thread multiplies.
  Values loadLine(Value pointer, Value first, int64_t extent, int64_t count) {
    Values values;
    auto vector = VectorType::get({width}, type);
    int64_t groups = count / width;
    for (int64_t i = 0; i < groups; ++i) {
      Value from = e.shifted(pointer, e.mul(first, bytes));
      from = e.shifted(from, i * (extent / groups) * bytes);
      Value part = e.load(from, vector, width * bytes);
      for (int64_t j = 0; j < width; ++j)
        values.push_back(vector::ExtractOp::create(e.b, e.loc, part, j));
    }
    return values;
  }

  void multiply(Values &sums, Value slot) {
    Value tileA = e.shifted(gemm.shared, slot);
    Value tileB = e.shifted(tileA, copyA.bytes());
    int64_t lineA = copyA.bytes() / plan.bk, lineB = copyB.bytes() / plan.bk;
    for (int64_t k = 0; k < plan.bk; ++k) {
      Values a =
          loadLine(e.shifted(tileA, k * lineA), threadM, plan.bm, plan.tm);
      Values b =
          loadLine(e.shifted(tileB, k * lineB), threadN, plan.bn, plan.tn);
      for (int64_t i = 0; i < plan.tm; ++i)
        for (int64_t j = 0; j < plan.tn; ++j) {
          Value &sum = sums[i * plan.tn + j];
          sum = e.fma(a[i], b[j], sum);
        }
    }
  }

  void store(ValueRange sums) {
    StagedSums staged{gemm.shared, plan.bm, plan.bn, plan.run, type};
    auto vector = VectorType::get({width}, type);
    int64_t groupsM = plan.tm / width, groupsN = plan.tn / width;
    for (int64_t i = 0; i < plan.tm; ++i) {
      Value row = e.add(threadM, i / width * (plan.bm / groupsM) + i % width);
      for (int64_t j = 0; j < groupsN; ++j) {
        Value column = e.add(threadN, j * (plan.bn / groupsN));
        Value part = vector::FromElementsOp::create(
            e.b, e.loc, vector, sums.slice(i * plan.tn + j * width, width));
        e.store(part, staged.at(e, row, column), width * bytes);
      }
    }
    e.barrier();
    storeStaged(gemm, staged, gemm.m, gemm.n, e.thread(), plan.threads);
  }

  DeviceGemm &gemm;
  DeviceEmitter &e;
  const DeviceGemmPlan &plan;
  const GemmSpec &spec;
  Type type;
  int64_t bytes;
  int64_t width; ///< elements of a vector in shared memory
  int64_t acrossN;
  Value threadM, threadN;
  TileCopy copyA, copyB;
  int64_t slotBytes = 0;
};
} // namespace

void tsp::emitVectorUnitGemm(DeviceGemm &gemm) { VectorUnitGemm(gemm).emit(); }
