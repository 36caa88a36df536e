//===- ExpandFolds.cpp - folds as loops with carried values ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldCombines.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Dialect/TSP/IR/TspDialect.h"
#include "tsp/Sharding/SchedulePasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace tsp {
#define GEN_PASS_DEF_EXPANDFOLDS
#include "tsp/Passes/Schedule.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

namespace {

struct ExpandFolds : tsp::impl::ExpandFoldsBase<ExpandFolds> {
  void runOnOperation() override {
    SmallVector<FoldOp> folds;
    getOperation().walk([&](FoldOp fold) { folds.push_back(fold); });
    // The last one first: what it starts from may be the end of one before it.
    for (FoldOp fold : llvm::reverse(folds)) {
      if (failed(expand(fold)))
        return signalPassFailure();
      ++numFolds;
    }
  }

private:
  static LogicalResult expand(FoldOp fold);
};

} // namespace

LogicalResult ExpandFolds::expand(FoldOp fold) {
  Location loc = fold.getLoc();
  OpBuilder before(fold);
  Block &body = fold.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());

  SmallVector<std::unique_ptr<FoldCombine>> combines;
  if (failed(makeFoldCombines(fold, combines)))
    return failure();

  // Carried values start before the loop and are block arguments after the parts.
  SmallVector<Value> inits;
  for (auto &combine : combines)
    for (unsigned result : combine->results)
      inits.push_back(combine->makeInit(before, loc, result));
  SmallVector<unsigned> order;
  for (auto &combine : combines)
    llvm::append_range(order, combine->results);
  SmallVector<Value> carried;
  for (Value init : inits)
    carried.push_back(body.addArgument(init.getType(), loc));

  OpBuilder inside(yield);
  SmallVector<Value> next;
  size_t at = 0;
  for (auto &combine : combines) {
    size_t count = combine->results.size();
    SmallVector<Value> partials;
    for (unsigned result : combine->results)
      partials.push_back(yield.getValues()[result]);
    combine->step(inside, loc, body.getArgument(0), partials,
                  ArrayRef(carried).slice(at, count), next);
    at += count;
  }
  YieldOp::create(inside, yield.getLoc(), next);
  yield.erase();

  auto schedule = fold.getScheduleAttr();
  if (!schedule)
    schedule = ScheduleAttr::get(fold.getContext(), Schedule::Broadcast);
  auto loop = FoldLoopOp::create(
      before, loc, ValueRange(inits).getTypes(), fold.getParts(), inits, fold.getAxisAttr(),
      fold.getStepsAttr(), fold.getPartDimsAttr(), fold.getPartSizesAttr(),
      fold.getPartStartsAttr(), fold.getPartTotalsAttr(), schedule, fold.getPrefetchAttr(),
      /*ahead=*/IntegerAttr());
  loop.getBody().takeBody(fold.getBody());

  for (auto [value, result] : llvm::zip(loop.getResults(), order)) {
    Value old = fold.getResult(result);
    Value last = value;
    if (last.getType() != old.getType())
      last = stablehlo::ConvertOp::create(before, loc, old.getType(), last);
    old.replaceAllUsesWith(last);
  }
  fold.erase();
  return success();
}
