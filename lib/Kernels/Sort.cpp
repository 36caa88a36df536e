//===- Sort.cpp - sort and top_k ------------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are sorted on their own. A merge sort moves them between two halves of
// a scratch buffer; it is stable, whether asked to be or not. A few greatest
// elements are kept in a list instead.
//
//===----------------------------------------------------------------------===//

#include "SortedRows.h"
#include "WholeOps.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;
namespace sh = tsp::stablehlo;

namespace {

/// Up to here a list of the greatest is cheaper than a sort.
constexpr int64_t kLongestList = 64;
/// Steps that a unit of the grid should make.
constexpr int64_t kUnitSteps = 8192;

int64_t getRowsPerUnit(const SortedRows &rows) {
  int64_t steps =
      std::max<int64_t>(rows.size * llvm::Log2_64_Ceil(rows.size + 1), 1);
  return std::clamp<int64_t>(kUnitSteps / steps, 1,
                             std::max<int64_t>(rows.numRows, 1));
}

class SortCode : SortedRowCode {
public:
  SortCode(ElementEmitter &emitter, ScratchPlan &scratch,
           const SortedRows &rows, ArrayRef<Value> outputs,
           const LinearIndex &row)
      : SortedRowCode(emitter, rows, outputs, row), scratch(scratch) {}

  void emit() {
    bool isShortList = isa<chlo::TopKOp>(rows.op) &&
                       rows.getNumKept() <= kLongestList;
    if (isShortList)
      emitList();
    else
      emitMergeSort();
  }

private:
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc(), a, b);
  }
  Value least(Value a, Value b) {
    return arith::MinSIOp::create(builder, loc(), a, b);
  }
  Value less(Value a, Value b) {
    return arith::CmpIOp::create(builder, loc(), arith::CmpIPredicate::slt, a, b);
  }
  LinearIndex asIndex(Value value, int64_t upper) {
    return emitter.makeSymbol(value, 0, std::max<int64_t>(upper, 1));
  }

  void storeResults(ArrayRef<Value> buffers, const LinearIndex &start) {
    emitter.emitLoop(0, rows.getNumKept(), {},
                     [&](LinearIndex i, ValueRange) {
                       storeResult(loadAll(buffers, start + i), i);
                       return SmallVector<Value>();
                     });
  }
  SmallVector<Value> allocate(int64_t count) {
    SmallVector<Value> buffers;
    for (Type type : rows.types)
      buffers.push_back(scratch.allocate(emitter, count, type));
    return buffers;
  }

  void emitMergeSort();
  void emitMerge(ArrayRef<Value> buffers, LinearIndex source,
                 LinearIndex target, Value lower, Value middle, Value upper);
  void emitList();

  ScratchPlan &scratch;
};

void SortCode::emitMergeSort() {
  int64_t size = rows.size;
  SmallVector<Value> buffers = allocate(2 * size);
  emitter.emitLoop(0, size, {}, [&](LinearIndex i, ValueRange) {
    storeAll(emitInputs(i), buffers, i);
    return SmallVector<Value>();
  });
  // Runs of 1, 2, 4.. are merged from one half of the buffers to the other.
  int64_t numPasses = llvm::Log2_64_Ceil(std::max<int64_t>(size, 1));
  Value end = emitter.constantIndex(size);
  Value offset = emitter.constantIndex(0), width = emitter.constantIndex(1);
  SmallVector<Value> carried = emitter.emitLoop(
      0, numPasses, {offset, width}, [&](LinearIndex, ValueRange pass) {
        LinearIndex source = asIndex(pass[0], size);
        LinearIndex target = LinearIndex(size) - source;
        Value twice = add(pass[1], pass[1]);
        Value numRuns = arith::CeilDivSIOp::create(builder, loc(), end, twice);
        emitter.emitLoop(emitter.constantIndex(0), numRuns, 0, size, {},
                         [&](LinearIndex run, ValueRange) {
          Value lower = arith::MulIOp::create(builder, loc(),
                                              emitter.materialize(run), twice);
          Value middle = least(add(lower, pass[1]), end);
          Value upper = least(add(lower, twice), end);
          emitMerge(buffers, source, target, lower, middle, upper);
          return SmallVector<Value>();
        });
        return SmallVector<Value>{emitter.materialize(target), twice};
      });
  storeResults(buffers, asIndex(carried[0], size));
}

/// Merges [lower, middle) and [middle, upper) of `source` into `target`.
void SortCode::emitMerge(ArrayRef<Value> buffers, LinearIndex source,
                         LinearIndex target, Value lower, Value middle,
                         Value upper) {
  Value one = emitter.constantIndex(1);
  Value last = emitter.constantIndex(rows.size - 1);
  emitter.emitLoop(
      lower, upper, 0, rows.size - 1, {lower, middle},
      [&](LinearIndex place, ValueRange next) {
        // A run that is used up is read at its end, and not taken.
        auto load = [&](Value position) {
          return loadAll(buffers,
                         source + asIndex(least(position, last), rows.size - 1));
        };
        SmallVector<Value> left = load(next[0]), right = load(next[1]);
        Value hasLeft = less(next[0], middle), hasRight = less(next[1], upper);
        Value isBefore = emitIsBefore(right, left);
        Value takesRight =
            arith::AndIOp::create(builder, loc(), hasRight, isBefore);
        Value yes = arith::ConstantOp::create(builder, loc(),
                                              builder.getBoolAttr(true));
        takesRight = arith::SelectOp::create(builder, loc(), hasLeft,
                                             takesRight, yes);
        SmallVector<Value> taken;
        for (auto [a, b] : llvm::zip_equal(right, left))
          taken.push_back(
              arith::SelectOp::create(builder, loc(), takesRight, a, b));
        storeAll(taken, buffers, target + place);
        Value nextLeft = arith::SelectOp::create(
            builder, loc(), takesRight, next[0], add(next[0], one));
        Value nextRight = arith::SelectOp::create(
            builder, loc(), takesRight, add(next[1], one), next[1]);
        return SmallVector<Value>{nextLeft, nextRight};
      });
}

/// Keeps the k greatest so far in order; most elements are compared with the
/// least of them only.
void SortCode::emitList() {
  int64_t k = rows.getNumKept();
  if (k == 0)
    return;
  SmallVector<Value> list = allocate(k);
  emitter.emitLoop(0, rows.size, {}, [&](LinearIndex i, ValueRange) {
    SmallVector<Value> element = emitInputs(i);
    Value position = emitter.materialize(i);
    Value count = emitter.constantIndex(k);
    SmallVector<Value> worst = loadAll(list, LinearIndex(k - 1));
    Value isGreat = emitIsBefore(element, worst);
    Value isFilling = less(position, count);
    Value belongs = arith::OrIOp::create(builder, loc(), isFilling, isGreat);
    emitter.emitWhen(belongs, [&] {
      // Places from the first that holds less than the element move on by one.
      Value no = arith::ConstantOp::create(builder, loc(),
                                           builder.getBoolAttr(false));
      SmallVector<Value> inits(element);
      inits.push_back(no);
      Value used = least(add(position, emitter.constantIndex(1)), count);
      emitter.emitLoop(emitter.constantIndex(0), used, 0, k - 1, inits,
                       [&](LinearIndex place, ValueRange arguments) {
        ValueRange carried = arguments.drop_back();
        SmallVector<Value> present = loadAll(list, place);
        Value isEmpty = arith::CmpIOp::create(
            builder, loc(), arith::CmpIPredicate::eq,
            emitter.materialize(place), position);
        Value swaps = arith::OrIOp::create(builder, loc(), isEmpty,
                                           emitIsBefore(carried, present));
        swaps = arith::OrIOp::create(builder, loc(), swaps, arguments.back());
        SmallVector<Value> kept, passed;
        for (auto [a, b] : llvm::zip_equal(carried, present)) {
          kept.push_back(arith::SelectOp::create(builder, loc(), swaps, a, b));
          passed.push_back(arith::SelectOp::create(builder, loc(), swaps, b, a));
        }
        storeAll(kept, list, place);
        passed.push_back(swaps);
        return passed;
      });
    });
    return SmallVector<Value>();
  });
  storeResults(list, LinearIndex(0));
}

} // namespace

int64_t tsp::getSortGrid(Operation *op) {
  SortedRows rows(op);
  return std::max<int64_t>(llvm::divideCeil(rows.numRows, getRowsPerUnit(rows)), 1);
}

void tsp::emitSort(ElementEmitter &emitter, ScratchPlan &scratch,
                   Operation *op, ArrayRef<Value> outputs, Value begin,
                   Value end) {
  SortedRows rows(op);
  if (rows.numRows == 0 || rows.size == 0)
    return;
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLoc();
  Value perUnit = emitter.constantIndex(getRowsPerUnit(rows));
  Value lower = arith::MulIOp::create(builder, loc, begin, perUnit);
  Value upper = arith::MulIOp::create(builder, loc, end, perUnit);
  upper = arith::MinSIOp::create(builder, loc, upper,
                                 emitter.constantIndex(rows.numRows));
  emitter.emitLoop(lower, upper, 0, rows.numRows - 1, {},
                   [&](LinearIndex row, ValueRange) {
                     SortCode(emitter, scratch, rows, outputs, row).emit();
                     return SmallVector<Value>();
                   });
}
