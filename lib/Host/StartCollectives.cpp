//===- StartCollectives.cpp - collectives that run beside kernels ---------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Dialect/TSP/IR/TspDialect.h"
#include "tsp/Host/Host.h"
#include "tsp/Host/HostLiveness.h"

namespace tsp {
#define GEN_PASS_DEF_STARTCOLLECTIVES
#include "tsp/Passes/Host.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

/// Whether ranks meet in the op: the order of such ops is kept. A fold loop
/// fetches its parts even when its body holds no collective.
static bool communicates(Operation *op) {
  if (isCollective(op) || isa<FoldLoopOp>(op))
    return true;
  return op->getNumRegions() && op->walk([](Operation *inner) {
                                    return isCollective(inner) || isa<FoldLoopOp>(inner)
                                               ? WalkResult::interrupt()
                                               : WalkResult::advance();
                                  }).wasInterrupted();
}

/// The op of the block after which the collective may start, or null for the
/// block's begin.
static Operation *findEarliest(Operation *collective) {
  Block *block = collective->getBlock();
  Operation *earliest = nullptr;
  auto notBefore = [&](Operation *op) {
    if (op && op->getBlock() == block && (!earliest || earliest->isBeforeInBlock(op)))
      earliest = op;
  };
  for (Value operand : collective->getOperands())
    notBefore(operand.getDefiningOp());
  for (Operation *op = collective->getPrevNode(); op && op != earliest; op = op->getPrevNode())
    if (communicates(op)) {
      notBefore(op);
      break;
    }
  return earliest;
}

/// The first op of the block that reads the value, inside its regions too; else
/// the terminator. A reshape is the same bytes and reads nothing; it is added to
/// `views`.
static Operation *findFirstUse(Value value, Block *block, SmallVectorImpl<Operation *> &views) {
  Operation *first = block->getTerminator();
  for (Operation *user : value.getUsers()) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    if (auto view = dyn_cast<stablehlo::ReshapeOp>(user); view && ancestor == user) {
      views.push_back(view);
      ancestor = findFirstUse(view.getResult(), block, views);
    }
    if (ancestor && ancestor->isBeforeInBlock(first))
      first = ancestor;
  }
  return first;
}

namespace {
struct StartCollectives : tsp::impl::StartCollectivesBase<StartCollectives> {
  using Base::Base;

  void runOnOperation() override {
    if (getOperation()->hasAttr("tsp.kernel"))
      return;
    SmallVector<Operation *> collectives;
    // Views stand at what they view, so that they hold nothing back.
    getOperation().walk([](stablehlo::ReshapeOp view) {
      Operation *def = view.getOperand().getDefiningOp();
      if (def && def->getBlock() == view->getBlock())
        view->moveAfter(def);
    });
    getOperation().walk([&](Operation *op) {
      if (isCollective(op) && isa<RankedTensorType>(op->getResult(0).getType()))
        collectives.push_back(op);
    });
    for (Operation *op : collectives)
      split(op);
  }

  void split(Operation *op) {
    Block *block = op->getBlock();
    if (Operation *earliest = findEarliest(op))
      op->moveAfter(earliest);
    else
      op->moveBefore(block, block->begin());
    Value result = op->getResult(0);
    auto type = cast<RankedTensorType>(result.getType());
    SmallVector<Operation *> views;
    Operation *use = findFirstUse(result, block, views);
    OpBuilder builder(use);
    result.setType(FutureType::get(type.getContext(), type));
    auto wait = WaitOp::create(builder, op->getLoc(), type, result);
    result.replaceAllUsesExcept(wait.getResult(), wait);
    Operation *last = wait;
    for (Operation *view : views) {
      view->moveAfter(last);
      last = view;
    }
    if (wait->getPrevNode() != op)
      ++numOverlapped;
  }
};
} // namespace
