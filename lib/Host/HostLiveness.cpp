//===- HostLiveness.cpp - lifetimes in the program of one rank ------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Host/HostLiveness.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Dialect/TSP/IR/TspDialect.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace tsp;

int64_t tsp::getElementBytes(Type elementType) {
  return llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8);
}

int64_t tsp::getBytes(Type type) {
  auto shaped = cast<ShapedType>(type);
  return shaped.getNumElements() * getElementBytes(shaped.getElementType());
}

bool tsp::isCollective(Operation *op) {
  return isa<AllGatherOp, ReduceScatterOp, AllReduceOp, AllToAllOp, BroadcastOp, SendRecvOp>(op);
}

Operation *tsp::getStart(Operation *wait) {
  return cast<WaitOp>(wait).getFuture().getDefiningOp();
}

Operation *tsp::lookupKernel(Operation *launch) {
  return SymbolTable::lookupNearestSymbolFrom(launch, cast<LaunchOp>(launch).getKernelAttr());
}

bool tsp::mustTie(Operation *kernel) { return kernel->hasAttr("tsp.must_tie"); }

HostLiveness::HostLiveness(func::FuncOp entry) {
  findRoots(entry);
  number(entry.getBody().front());
  // Roots first, then their uses: a use in a loop may come before the number of
  // the loop's end is known only while numbering.
  auto addRoot = [&](Value value, int64_t begin) {
    if (getRoot(value) != value || !isa<RankedTensorType>(value.getType()))
      return;
    roots.push_back(value);
    lives[value] = {begin, begin};
  };
  for (BlockArgument arg : entry.getArguments())
    addRoot(arg, getBegin(&entry.getBody().front()));
  entry.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == entry)
      return;
    for (Value result : op->getResults()) {
      auto wait = dyn_cast<WaitOp>(op);
      Operation *start = wait ? getStart(wait) : nullptr;
      addRoot(result, start ? getEnter(start) : getExit(op));
    }
    for (Region &region : op->getRegions())
      for (BlockArgument arg : region.getArguments())
        addRoot(arg, getBegin(arg.getOwner()));
  });
  entry.walk([&](Operation *op) {
    if (op == entry)
      return;
    for (OpOperand &operand : op->getOpOperands()) {
      int64_t point = getEnter(op);
      auto loop = dyn_cast<FoldLoopOp>(op);
      // Parts are sent from while the loop runs.
      if (loop && operand.getOperandNumber() < loop.getParts().size())
        point = getExit(op);
      addUse(operand.get(), op, point);
    }
    // The condition leaves the carried values as they are.
    if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
      Block &cond = loop.getCond().front();
      for (BlockArgument arg : cond.getArguments())
        if (getRoot(arg) == arg)
          extend(arg, getEnter(cond.getTerminator()));
    }
    // Both buffers of a transfer live until its wait. An all_reduce may work in
    // place, so that its source's end is settled when the plan knows.
    if (auto wait = dyn_cast<WaitOp>(op))
      if (Operation *start = getStart(op); start && !isa<AllReduceOp>(start))
        for (Value operand : start->getOperands())
          addUse(operand, op, getEnter(op));
  });
  findTwofold(entry);
  findTies(entry);
}

void HostLiveness::findTwofold(func::FuncOp entry) {
  entry.walk([&](FoldLoopOp fold) {
    if (!fold.getAhead())
      return;
    int64_t border = getEnter(fold.getFirstLate());
    for (Value root : roots) {
      if (root.getParentBlock() != &fold.getBody().front() || !root.getDefiningOp() ||
          isa<stablehlo::ConstantOp>(root.getDefiningOp()))
        continue;
      Interval &life = lives[root];
      if (life.begin < border && border <= life.end) {
        life = {getEnter(fold), getExit(fold)};
        twofold.insert(root);
      }
    }
  });
}

Value HostLiveness::getRoot(Value value) const {
  for (auto it = sameBytes.find(value); it != sameBytes.end(); it = sameBytes.find(value))
    value = it->second;
  return value;
}

void HostLiveness::extend(Value root, int64_t point) {
  auto it = lives.find(root);
  if (it != lives.end())
    it->second.end = std::max(it->second.end, point);
}

void HostLiveness::findRoots(func::FuncOp entry) {
  // Inner loops first: a value handed on by an inner loop may be handed on by
  // the outer one too.
  entry.walk([&](Operation *op) {
    if (auto reshape = dyn_cast<stablehlo::ReshapeOp>(op)) {
      sameBytes[reshape.getResult()] = reshape.getOperand();
    } else if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
      Block &body = loop.getBody().front(), &cond = loop.getCond().front();
      for (auto [i, yielded] : llvm::enumerate(body.getTerminator()->getOperands())) {
        if (getRoot(yielded) != body.getArgument(i))
          continue;
        Value init = loop.getOperand()[i];
        sameBytes[body.getArgument(i)] = init;
        sameBytes[cond.getArgument(i)] = init;
        sameBytes[loop.getResult(i)] = init;
      }
    } else if (auto loop = dyn_cast<FoldLoopOp>(op)) {
      Block &body = loop.getBody().front();
      unsigned first = 1 + loop.getParts().size();
      for (auto [i, yielded] : llvm::enumerate(body.getTerminator()->getOperands())) {
        if (getRoot(yielded) != body.getArgument(first + i))
          continue;
        sameBytes[body.getArgument(first + i)] = loop.getInits()[i];
        sameBytes[loop.getResult(i)] = loop.getInits()[i];
      }
    }
  });
}

void HostLiveness::number(Block &block) {
  begins[&block] = next++;
  for (Operation &op : block) {
    enters[&op] = exits[&op] = next++;
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        number(inner);
    if (op.getNumRegions())
      exits[&op] = next++;
  }
}

void HostLiveness::addUse(Value value, Operation *user, int64_t point) {
  Value root = getRoot(value);
  extend(root, point);
  Region *home = root.getParentRegion();
  for (Region *region = user->getParentRegion(); region && region != home;
       region = region->getParentRegion())
    if (isa<stablehlo::WhileOp, FoldLoopOp>(region->getParentOp()))
      extend(root, getExit(region->getParentOp()));
}

void HostLiveness::findTies(func::FuncOp entry) {
  // A kernel that reads one buffer by two arguments may share neither.
  auto addTie = [&](Operation *op, Value result, Value operand) {
    Value root = getRoot(operand);
    unsigned uses = llvm::count_if(
        op->getOperands(), [&](Value other) { return getRoot(other) == root; });
    if (uses == 1 && getBytes(root.getType()) == getBytes(result.getType()))
      ties[result] = root;
  };
  entry.walk([&](Operation *op) {
    if (auto launch = dyn_cast<LaunchOp>(op)) {
      Operation *kernel = lookupKernel(launch);
      auto tied = kernel ? kernel->getAttrOfType<DenseI64ArrayAttr>("tsp.tied") : nullptr;
      if (!tied)
        return;
      for (auto [result, argument] : llvm::zip(launch.getResults(), tied.asArrayRef()))
        if (argument >= 0 && argument < (int64_t)launch.getInputs().size())
          addTie(launch, result, launch.getInputs()[argument]);
    } else if (auto reduce = dyn_cast<AllReduceOp>(op)) {
      if (isa<RankedTensorType>(reduce.getResult().getType()))
        addTie(reduce, reduce.getResult(), reduce.getInput());
    } else if (auto wait = dyn_cast<WaitOp>(op)) {
      if (auto reduce = dyn_cast_or_null<AllReduceOp>(getStart(wait)))
        addTie(reduce, wait.getResult(), reduce.getInput());
    }
  });
}
