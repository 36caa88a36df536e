//===- GemmEmit.cpp - loops of a matrix product ---------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One block of C (mc x nc) in `packed` form:
//
//   for k0 in steps of ks                  copies of A and B
//     for each panel of nr columns
//       for kb in steps of kc              the panel's part stays in L1
//         for each tile of mr rows         the register tile
//       rows of the panel go to `store`    (after the last k0)
//
// When the rows do not divide by mr, the last tile moves up and its first
// rows, which another tile has, are not stored. Sums over kc are added up in
// scratch, which also keeps the error of long sums small.
//
//===----------------------------------------------------------------------===//

#include "GemmEmit.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tsp;
using Values = VectorEmitter::Values;

Values tsp::emitTile(VectorEmitter &e, TileShape shape, Type compute,
                     const TileOperand &a, const TileOperand &b, Value count,
                     ValueRange masks) {
  auto [lanes, mr, nv] = shape;
  Values init(mr * nv, e.constant(e.vectorOf(compute, lanes), 0));
  return e.loop(e.index(0), count, 1, init,
                [&, lanes = lanes, mr = mr, nv = nv](Value k, ValueRange sums) {
                  Value bk = e.add(b.base, e.mul(k, b.k));
                  Value ak = e.add(a.base, e.mul(k, a.k));
                  Values columns;
                  for (int64_t v = 0; v < nv; ++v) {
                    Value part =
                        e.loadVector(b.flat, e.add(bk, v * lanes), lanes,
                                     masks.empty() ? Value() : masks[v]);
                    columns.push_back(e.widen(part, b.element, compute));
                  }
                  Values next;
                  for (int64_t m = 0; m < mr; ++m) {
                    Value row =
                        e.splat(e.load(a.flat, e.add(ak, m * a.free)), lanes);
                    for (int64_t v = 0; v < nv; ++v)
                      next.push_back(e.fma(row, columns[v], sums[m * nv + v]));
                  }
                  return next;
                });
}

namespace {
/// The loops of one block.
class BlockEmitter {
public:
  BlockEmitter(VectorEmitter &e, const GemmSpec &spec, const GemmPlan &plan,
               const GemmStore &store, Value scratch)
      : e(e), spec(spec), plan(plan), store(store), scratch(scratch) {
    int64_t bytes = spec.compute.getIntOrFloatBitWidth() / 8;
    auto view = [&](int64_t from, int64_t to) -> Value {
      int64_t count = (to - from) / bytes;
      return count ? e.view(scratch, from, spec.compute, count) : Value();
    };
    bufferB = view(plan.scratchB, plan.scratchA);
    bufferA = view(plan.scratchA, plan.scratchC);
    bufferC = view(plan.scratchC, plan.scratchLines);
    bufferLines = view(plan.scratchLines, plan.scratchBytes);
  }

  /// All blocks from `begin` to `end`.
  void emit(Value begin, Value end);

private:
  void emitBlock(Value rowChunk, Value columnChunk);
  void copyPanels(Value k0, Value count);
  void copyRows(Value k0, Value count);
  void emitPanel(Value k0, Value count, Value panel);
  void storePanel(Value panel);
  /// First row of a tile, moved up when it would pass the last row.
  Value tileRow(Value tile) {
    Value row = e.add(m0, e.mul(tile, plan.mr));
    return spec.m % plan.mr == 0 ? row : e.min(row, spec.m - plan.mr);
  }
  /// Offset of a tile's sums in scratch.
  Value tileSums(Value panel, Value tile) {
    if (plan.steps(spec) > 1)
      tile = e.add(e.mul(panel, plan.mc / plan.mr), tile);
    return e.mul(tile, plan.mr * plan.nr());
  }
  Values columnMasks(Value n) {
    Values masks;
    if (spec.n % plan.nr() != 0)
      for (int64_t v = 0; v < plan.nv; ++v)
        masks.push_back(e.mask(e.sub(e.index(spec.n), e.add(n, v * plan.lanes)),
                               plan.lanes));
    return masks;
  }

  VectorEmitter &e;
  const GemmSpec &spec;
  const GemmPlan &plan;
  const GemmStore &store;
  Value scratch, bufferA, bufferB, bufferC, bufferLines;
  // Of the block at hand.
  Values outer;
  Value aBase, bBase;
  Value m0, n0;         ///< first row and column
  Value firstRow, rows; ///< rows of the copy of A
  Value tiles, panels;
};
} // namespace

void BlockEmitter::emit(Value begin, Value end) {
  // Blocks that use the same columns of B are neighbours.
  SmallVector<int64_t> sizes, order;
  for (bool ofB : {true, false}) {
    for (auto [i, size] : llvm::enumerate(spec.outer))
      if ((spec.b.outer[i] != 0) == ofB) {
        sizes.push_back(size);
        order.push_back(i);
      }
    if (ofB)
      sizes.push_back(plan.columnChunks);
  }
  sizes.push_back(plan.rowChunks);
  int64_t perCopy = 1;
  size_t columnPlace =
      llvm::count_if(spec.b.outer, [](int64_t stride) { return stride != 0; });
  for (int64_t size : ArrayRef(sizes).drop_front(columnPlace + 1))
    perCopy *= size;

  bool keepsB = plan.kind == GemmPlan::packed && plan.steps(spec) == 1;
  Values init;
  if (keepsB)
    init.push_back(e.index(-1));
  e.loop(begin, end, 1, init, [&](Value cell, ValueRange carried) -> Values {
    Values place = e.delinearize(cell, sizes);
    outer.assign(spec.outer.size(), Value());
    for (auto [i, dim] : llvm::enumerate(order))
      outer[dim] = place[i < columnPlace ? i : i + 1];
    aBase = e.offset(e.index(0), outer, spec.a.outer);
    bBase = e.offset(e.index(0), outer, spec.b.outer);
    m0 = e.mul(place.back(), plan.mc);
    n0 = e.mul(place[columnPlace], plan.nc);

    if (plan.kind == GemmPlan::rows) {
      rows = e.index(spec.m);
      firstRow = e.index(0);
      if (plan.copyA != GemmCopy::none)
        copyRows(e.index(0), e.index(plan.ks));
      auto storeSums = [&](Value at, Value m, Value n) {
        GemmRow piece{bufferC, at, outer, m, n, plan.lanes, {}};
        if (spec.n % plan.lanes != 0)
          piece.count = e.min(e.sub(e.index(spec.n), n), plan.lanes);
        store(e, piece);
      };
      if (spec.b.isComputed())
        emitComputedRowsBlock(e, spec, plan, outer, bufferA, n0, bufferC,
                              storeSums);
      else
        emitRowsBlock(e, spec, plan, aBase, bBase, bufferA, n0,
                      [&](Value vector, Value m, Value n) {
                        e.storeVector(vector, bufferC, e.index(0));
                        storeSums(e.index(0), m, n);
                      });
      return {};
    }

    Value lastRow = e.min(e.add(m0, plan.mc), spec.m);
    tiles = e.ceilDiv(e.sub(lastRow, m0), plan.mr);
    firstRow = tileRow(e.index(0));
    rows = e.sub(lastRow, firstRow);
    panels = e.ceilDiv(e.min(e.sub(e.index(spec.n), n0), plan.nc), plan.nr());

    if (keepsB) {
      Value key = e.div(cell, perCopy);
      e.when(e.notEqual(key, carried[0]),
             [&] { copyPanels(e.index(0), e.index(plan.ks)); });
      if (plan.copyA != GemmCopy::none)
        copyRows(e.index(0), e.index(plan.ks));
      e.loop(e.index(0), panels, 1, [&](Value panel) {
        emitPanel(e.index(0), e.index(plan.ks), panel);
        storePanel(panel);
      });
      return {key};
    }

    int64_t depth = spec.depth();
    e.loop(e.index(0), e.index(depth), plan.ks, [&](Value k0) {
      Value count = e.min(e.sub(e.index(depth), k0), plan.ks);
      if (plan.copyB != GemmCopy::none)
        copyPanels(k0, count);
      if (plan.copyA != GemmCopy::none)
        copyRows(k0, count);
      e.loop(e.index(0), panels, 1,
             [&](Value panel) { emitPanel(k0, count, panel); });
    });
    e.loop(e.index(0), panels, 1, [&](Value panel) { storePanel(panel); });
    return {};
  });
}

void BlockEmitter::copyPanels(Value k0, Value count) {
  copyB(e, spec, plan, outer, n0, panels, k0, count, bufferB, bufferLines);
}

void BlockEmitter::copyRows(Value k0, Value count) {
  copyA(e, spec, plan, outer, firstRow, rows, k0, count, bufferA);
}

void BlockEmitter::emitPanel(Value k0, Value count, Value panel) {
  int64_t nr = plan.nr(), lanes = plan.lanes;
  Value n = e.add(n0, e.mul(panel, nr));
  bool direct = plan.copyB == GemmCopy::none;
  Values masks = direct ? columnMasks(n) : Values();
  bool onePass = plan.steps(spec) == 1 && plan.kc >= plan.ks;

  e.loop(e.index(0), count, plan.kc, [&](Value kb) {
    Value depth = e.min(e.sub(count, kb), plan.kc);
    TileOperand b;
    b.element = direct ? spec.b.element : spec.compute;
    if (direct) {
      b.flat = spec.b.flat;
      b.k = spec.b.k[0];
      b.base = e.add(e.offset(bBase, e.add(k0, kb), b.k), n);
    } else {
      b.flat = bufferB;
      b.k = nr;
      b.base = e.add(e.mul(panel, plan.panel), e.mul(kb, nr));
    }
    Value isFirst = e.equal(e.add(k0, kb), e.index(0));

    e.loop(e.index(0), tiles, 1, [&](Value tile) {
      Value row = tileRow(tile);
      TileOperand a;
      a.element = spec.compute;
      if (plan.copyA == GemmCopy::none) {
        a.flat = spec.a.flat;
        a.free = spec.a.free;
        a.k = spec.a.k[0];
        a.base = e.offset(e.offset(aBase, row, a.free), e.add(k0, kb), a.k);
      } else {
        a.flat = bufferA;
        a.free = plan.aColumns ? 1 : plan.lda;
        a.k = plan.aColumns ? plan.lda : 1;
        a.base = e.offset(e.mul(e.sub(row, firstRow), a.free), kb, a.k);
      }
      Values sums = emitTile(e, {lanes, plan.mr, plan.nv}, spec.compute, a, b,
                             depth, masks);
      Value at = tileSums(panel, tile);
      auto write = [&](bool add) {
        for (auto [i, sum] : llvm::enumerate(sums)) {
          Value place = e.add(at, i * lanes);
          Value total = sum;
          if (add)
            total = arith::AddFOp::create(
                e.b, e.loc, e.loadVector(bufferC, place, lanes), sum);
          e.storeVector(total, bufferC, place);
        }
      };
      if (onePass)
        write(false);
      else
        e.when(
            isFirst, [&] { write(false); }, [&] { write(true); });
    });
  });
}

void BlockEmitter::storePanel(Value panel) {
  int64_t nr = plan.nr();
  Value n = e.add(n0, e.mul(panel, nr));
  e.loop(e.index(0), tiles, 1, [&](Value tile) {
    Value row = tileRow(tile);
    Value nominal = e.add(m0, e.mul(tile, plan.mr));
    Value at = tileSums(panel, tile);
    e.loop(e.sub(nominal, row), e.index(plan.mr), 1, [&](Value r) {
      GemmRow piece{
          bufferC, e.add(at, e.mul(r, nr)), outer, e.add(row, r), n, nr, {}};
      if (spec.n % nr != 0)
        piece.count = e.min(e.sub(e.index(spec.n), n), nr);
      store(e, piece);
    });
  });
}

void tsp::emitGemm(VectorEmitter &e, const GemmSpec &spec, const GemmPlan &plan,
                   Value begin, Value end, Value scratch,
                   const GemmStore &store) {
  BlockEmitter(e, spec, plan, store, scratch).emit(begin, end);
}
