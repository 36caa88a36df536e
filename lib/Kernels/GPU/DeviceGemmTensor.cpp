//===- DeviceGemmTensor.cpp - products on tensor cores --------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Step i of the pipeline multiplies tile i of k, with tiles up to i + stages -
// 1 on their way. Fragments are read one slice of k ahead of their product, so
// the last slice of a step is the moment at which the next tile must have
// arrived: there is the one barrier of a step. It also says that all are done
// reading tile i, so that the copy of tile i + stages to its place starts
// there.
//
//===----------------------------------------------------------------------===//

#include "FragmentReader.h"
#include "TensorCore.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tsp;

using Values = DeviceEmitter::Values;

namespace {
class TensorCoreGemm {
public:
  explicit TensorCoreGemm(DeviceGemm &gemm)
      : gemm(gemm), e(gemm.e), plan(gemm.plan), spec(gemm.spec()),
        element(gemm.plan.element), sumType(spec.compute), mi(plan.wm / 16),
        ni(plan.wn / 8),
        slices(countSlices(plan.bk, plan.element)), warp(e.div(e.thread(), 32)),
        warpM(e.mul(e.div(warp, plan.warpsN()), plan.wm)),
        warpN(e.mul(e.rem(warp, plan.warpsN()), plan.wn)),
        copyA(gemm, spec.a, element), copyB(gemm, spec.b, plan.elementB),
        readA(e, /*isA=*/true, plan.a.alongK, plan.bm, plan.bk, element, warpM,
              mi),
        readB(e, /*isA=*/false, plan.b.alongK, plan.bn, plan.bk, plan.elementB,
              warpN, ni / 2) {
    slotBytes = copyA.bytes() + copyB.bytes();
  }

  void emit() {
    int64_t tiles = countTiles(spec, plan.bk);
    for (int64_t t = 0; t < plan.stages; ++t) {
      Value slot = e.i32(t * slotBytes);
      if (t < tiles) {
        read(e.i32(t));
        write(slot);
        start(e.i32(t), slot);
      }
      commitCopies(e);
    }
    waitForCopies(e, plan.stages - 1);
    e.barrier();
    State state;
    state.sums.assign(mi * ni * 4, e.constant(sumType, 0));
    state.slot = e.i32(0);
    readFragments(state, state.slot, 0);
    int64_t full = std::max<int64_t>(0, tiles - plan.stages);
    state = loop(0, full, state, /*copies=*/true);
    state = loop(full, tiles - 1, state, /*copies=*/false);
    for (int64_t slice = 0; slice < slices; ++slice) {
      Values a = state.a, b = state.b;
      if (slice + 1 < slices)
        readFragments(state, state.slot, slice + 1);
      multiply(state.sums, a, b);
    }
    store(state.sums);
  }

private:
  /// What a step hands to the next one.
  struct State {
    Values sums, a, b;
    Value slot; ///< of the tile to be multiplied, in bytes
  };

  /// Starts the copies of a tile that need no registers.
  void start(Value tile, Value slot) {
    Value toA = e.shifted(gemm.shared, slot);
    if (plan.a.async)
      copyA.start(tile, toA);
    if (plan.b.async)
      copyB.start(tile, e.shifted(toA, copyA.bytes()));
  }

  /// The others: read, and later written.
  void read(Value tile) {
    if (!plan.a.async)
      copyA.load(tile);
    if (!plan.b.async)
      copyB.load(tile);
  }

  void write(Value slot) {
    Value toA = e.shifted(gemm.shared, slot);
    if (!plan.a.async)
      copyA.store(toA);
    if (!plan.b.async)
      copyB.store(e.shifted(toA, copyA.bytes()));
  }

  void readFragments(State &state, Value slot, int64_t slice) {
    state.a = readA.readAll(gemm.shared, slot, slice);
    state.b = readB.readAll(gemm.shared, e.add(slot, copyA.bytes()), slice);
  }

  void multiply(Values &sums, ValueRange a, ValueRange b) {
    int64_t ofA = a.size() / mi, ofB = b.size() / ni;
    for (int64_t i = 0; i < mi; ++i)
      for (int64_t j = 0; j < ni; ++j) {
        int64_t at = (i * ni + j) * 4;
        Values next = multiplyTiles(
            e, element, a.slice(i * ofA, ofA), b.slice(j * ofB, ofB),
            ValueRange(sums).slice(at, 4), plan.elementB);
        llvm::copy(next, sums.begin() + at);
      }
  }

  State step(Value tile, State state, bool copies) {
    Value next = e.add(state.slot, slotBytes);
    next = e.select(e.compare(arith::CmpIPredicate::eq, next,
                              e.i32(plan.stages * slotBytes)),
                    e.i32(0), next);
    Value ahead = e.add(tile, plan.stages);
    if (copies)
      read(ahead);
    for (int64_t slice = 0; slice < slices; ++slice) {
      Values a = state.a, b = state.b;
      if (slice + 1 < slices) {
        readFragments(state, state.slot, slice + 1);
      } else {
        waitForCopies(e, plan.stages - 2);
        e.barrier();
        if (copies) {
          write(state.slot);
          start(ahead, state.slot);
        }
        commitCopies(e);
        readFragments(state, next, 0);
      }
      multiply(state.sums, a, b);
    }
    state.slot = next;
    return state;
  }

  State loop(int64_t from, int64_t to, State state, bool copies) {
    if (from >= to)
      return state;
    auto flatten = [](const State &state) {
      Values all = state.sums;
      llvm::append_range(all, state.a);
      llvm::append_range(all, state.b);
      all.push_back(state.slot);
      return all;
    };
    auto unflatten = [&](ValueRange all) {
      auto take = [&](size_t count) {
        Values front = all.take_front(count);
        all = all.drop_front(count);
        return front;
      };
      State result;
      result.sums = take(state.sums.size());
      result.a = take(state.a.size());
      result.b = take(state.b.size());
      result.slot = all.front();
      return result;
    };
    Values results =
        e.loop(e.i32(from), e.i32(to), 1, flatten(state),
               [&](Value tile, ValueRange carried) {
                 return flatten(step(tile, unflatten(carried), copies));
               });
    e.keepRolled(results);
    return unflatten(results);
  }

  void store(ValueRange sums) {
    e.barrier(); // The tiles are read: their memory is free.
    storeFragments(gemm, sums, plan.wm, warp, warpM, warpN);
  }

  DeviceGemm &gemm;
  DeviceEmitter &e;
  const DeviceGemmPlan &plan;
  const GemmSpec &spec;
  Type element, sumType;
  int64_t mi, ni, slices;
  Value warp, warpM, warpN;
  TileCopy copyA, copyB;
  FragmentReader readA, readB;
  int64_t slotBytes = 0;
};

} // namespace

void tsp::emitTensorCoreGemm(DeviceGemm &gemm) { TensorCoreGemm(gemm).emit(); }
