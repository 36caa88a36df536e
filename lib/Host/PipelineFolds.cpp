//===- PipelineFolds.cpp - transfers of a fold's body run a step ahead ----===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/TSP/IR/TspDialect.h"
#include "tsp/Host/Host.h"

namespace tsp {
#define GEN_PASS_DEF_PIPELINEFOLDS
#include "tsp/Passes/Host.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

/// Adds `op` and all that it needs of the body to `ahead`; false when that
/// takes a carried value, a wait, or control flow.
static bool addWithOperands(Operation *op, FoldLoopOp fold,
                            SetVector<Operation *> &ahead) {
  if (ahead.contains(op))
    return true;
  if (op->getNumRegions() || isa<WaitOp>(op) ||
      op->hasTrait<OpTrait::IsTerminator>())
    return false;
  Block &body = fold.getBody().front();
  for (Value operand : op->getOperands()) {
    auto arg = dyn_cast<BlockArgument>(operand);
    if (arg && arg.getOwner() == &body &&
        arg.getArgNumber() > fold.getParts().size())
      return false;
    Operation *def = operand.getDefiningOp();
    if (def && def->getBlock() == &body && !addWithOperands(def, fold, ahead))
      return false;
  }
  ahead.insert(op);
  return true;
}

/// A part that runs through the slots of steps ahead cannot be read later: its
/// other readers run ahead too.
static bool addReadersOfParts(FoldLoopOp fold, SetVector<Operation *> &ahead) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (BlockArgument part :
         fold.getBody().getArguments().slice(1, fold.getParts().size())) {
      auto users = llvm::to_vector(part.getUsers());
      if (llvm::none_of(users,
                        [&](Operation *user) { return ahead.contains(user); }))
        continue;
      for (Operation *user : users) {
        changed |= !ahead.contains(user);
        if (!addWithOperands(user, fold, ahead))
          return false;
      }
    }
  }
  return true;
}

/// Whether the transfer may be under way while other ops of the loop run.
static bool isStart(Operation *op) {
  return op->getNumResults() == 1 &&
         isa<FutureType>(op->getResult(0).getType()) && !isa<AllReduceOp>(op);
}

static bool pipeline(FoldLoopOp fold) {
  bool fetchesAhead =
      fold.getSchedule() == Schedule::Gather ||
      (fold.getSchedule() == Schedule::Broadcast && fold.getPrefetch() > 0);
  if (!fetchesAhead || fold.getSteps() < 2 || fold.getAhead())
    return false;
  Block &body = fold.getBody().front();
  SetVector<Operation *> ahead;
  bool any = false;
  for (Operation &op : body) {
    SetVector<Operation *> more = ahead;
    if (!isStart(&op) || !addWithOperands(&op, fold, more) ||
        !addReadersOfParts(fold, more))
      continue;
    ahead = std::move(more);
    any = true;
  }
  if (!any)
    return false;
  auto inOrder = ahead.takeVector();
  llvm::sort(inOrder,
             [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  Operation *last = nullptr;
  for (Operation *op : inOrder) {
    if (last)
      op->moveAfter(last);
    else
      op->moveBefore(&body, body.begin());
    last = op;
  }
  fold.setAhead(inOrder.size());
  return true;
}

namespace {
struct PipelineFolds : tsp::impl::PipelineFoldsBase<PipelineFolds> {
  void runOnOperation() override {
    if (getOperation()->hasAttr("tsp.kernel"))
      return;
    getOperation().walk(
        [&](FoldLoopOp fold) { numPipelined += pipeline(fold); });
  }
};
} // namespace
