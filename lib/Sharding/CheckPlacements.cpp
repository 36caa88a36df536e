//===- CheckPlacements.cpp - the program of one rank, checked again -------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlacementState.h"

#include "tsp/Sharding/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::check;

namespace tsp {
#define GEN_PASS_DEF_CHECKPLACEMENTS
#include "tsp/Passes/Sharding.h.inc"
} // namespace tsp

namespace {
/// Follows all values of a function along one mesh axis.
class AxisChecker {
public:
  explicit AxisChecker(StringAttr axis) : axis(axis) {}

  LogicalResult check(func::FuncOp func);

private:
  State lookup(Value value) { return states.lookup(value); }
  SmallVector<State> lookup(ValueRange values) {
    return llvm::map_to_vector(values,
                               [&](Value value) { return lookup(value); });
  }
  InFlightDiagnostic error(Operation *op) {
    return op->emitOpError("(along mesh axis ") << axis << ") ";
  }
  LogicalResult run(Block &block);
  LogicalResult runLoop(stablehlo::WhileOp op);
  LogicalResult runCase(stablehlo::CaseOp op);
  LogicalResult runFold(FoldOp op);
  LogicalResult runFoldLoop(FoldLoopOp op);
  /// That ranks agree on the way before they communicate on it.
  LogicalResult requireAgreement(Operation *op, Region &region,
                                 const State &predicate);
  State promised(Attribute attr, Type type);

  StringAttr axis;
  llvm::DenseMap<Value, State> states;
};
} // namespace

State AxisChecker::promised(Attribute attr, Type type) {
  auto placement = dyn_cast_or_null<PlacementAttr>(attr);
  if (!placement)
    return State::replicated();
  for (auto [i, dim] : llvm::enumerate(placement.getDims())) {
    ArrayRef<StringAttr> axes = dim.getAxes();
    const auto *own = llvm::find(axes, axis);
    if (own == axes.end())
      continue;
    State state = State::sharded(i, dim.getLayouts()[own - axes.begin()]);
    state.minor.assign(own + 1, axes.end());
    return state;
  }
  if (llvm::is_contained(placement.getPartial(), axis))
    return State::partial(placement.getCombine());
  return State::replicated();
}

LogicalResult AxisChecker::requireAgreement(Operation *op, Region &region,
                                            const State &predicate) {
  if (predicate.kind == State::Replicated)
    return success();
  Operation *collective = nullptr;
  region.walk([&](Operation *inner) {
    auto own = inner->getAttrOfType<StringAttr>("axis");
    if (own == axis && !isa<AxisIndexOp>(inner))
      collective = inner;
  });
  if (!collective)
    return success();
  InFlightDiagnostic diag =
      error(op)
      << "expected ranks to agree on the way to a collective, found a "
         "predicate that is "
      << predicate.str();
  diag.attachNote(collective->getLoc()) << "the collective is here";
  return diag;
}

LogicalResult AxisChecker::runLoop(stablehlo::WhileOp op) {
  Block &cond = op.getCond().front(), &body = op.getBody().front();
  SmallVector<State> carried = lookup(op->getOperands());
  // States only get weaker, by at most two steps each.
  while (true) {
    for (auto [i, state] : llvm::enumerate(carried))
      states[cond.getArgument(i)] = states[body.getArgument(i)] = state;
    if (failed(run(cond)) || failed(run(body)))
      return failure();
    SmallVector<State> next;
    for (auto [state, init, value] : llvm::zip(
             carried, op->getOperands(), body.getTerminator()->getOperands()))
      next.push_back(join(state, lookup(value), init));
    if (next == carried)
      break;
    carried = std::move(next);
  }
  for (auto [result, state] : llvm::zip(op->getResults(), carried))
    states[result] = state;
  State predicate = lookup(cond.getTerminator()->getOperand(0));
  if (failed(requireAgreement(op, op.getBody(), predicate)))
    return failure();
  return requireAgreement(op, op.getCond(), predicate);
}

LogicalResult AxisChecker::runCase(stablehlo::CaseOp op) {
  State index = lookup(op.getIndex());
  SmallVector<State> results;
  for (Region &branch : op.getBranches()) {
    if (failed(requireAgreement(op, branch, index)) ||
        failed(run(branch.front())))
      return failure();
    OperandRange values = branch.front().getTerminator()->getOperands();
    if (results.empty())
      results = lookup(values);
    else
      for (auto [state, value] : llvm::zip(results, values))
        state = join(lookup(value), state, value);
  }
  for (auto [result, state] : llvm::zip(op->getResults(), results))
    states[result] =
        index.kind == State::Replicated || state.kind == State::Sharded
            ? state
            : State::varying();
  return success();
}

/// Whatever the schedule, all ranks see every part: the body is checked as if
/// they saw the same one at the same time.
LogicalResult AxisChecker::runFold(FoldOp op) {
  bool own = op.getAxisAttr() == axis;
  Block &body = op.getBody().front();
  states[body.getArgument(0)] = State::replicated();
  for (auto [i, part] : llvm::enumerate(op.getParts())) {
    State state = lookup(part);
    bool isShard = state.layout == Layout::Contiguous && state.minor.empty();
    if (own && (state.kind == State::Replicated || !isShard))
      return error(op) << "expected part " << i
                       << " to be sharded in contiguous chunks, found it "
                       << state.str();
    states[body.getArgument(1 + i)] = own ? State::replicated() : state;
  }
  if (failed(run(body)))
    return failure();
  for (auto [result, value] :
       llvm::zip(op.getResults(), body.getTerminator()->getOperands()))
    states[result] = lookup(value);
  return success();
}

LogicalResult AxisChecker::runFoldLoop(FoldLoopOp op) {
  bool own = op.getAxisAttr() == axis;
  Block &body = op.getBody().front();
  size_t parts = op.getParts().size();
  states[body.getArgument(0)] = State::replicated();
  for (auto [i, part] : llvm::enumerate(op.getParts()))
    states[body.getArgument(1 + i)] = own ? State::replicated() : lookup(part);
  SmallVector<State> carried = lookup(op.getInits());
  while (true) {
    for (auto [i, state] : llvm::enumerate(carried))
      states[body.getArgument(1 + parts + i)] = state;
    if (failed(run(body)))
      return failure();
    SmallVector<State> next;
    for (auto [state, init, value] :
         llvm::zip(carried, op.getInits(), body.getTerminator()->getOperands()))
      next.push_back(join(state, lookup(value), init));
    if (next == carried)
      break;
    carried = std::move(next);
  }
  for (auto [result, state] : llvm::zip(op.getResults(), carried))
    states[result] = state;
  return success();
}

LogicalResult AxisChecker::run(Block &block) {
  for (Operation &op : block.without_terminator()) {
    LogicalResult done = success();
    if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
      done = runLoop(loop);
    else if (auto choice = dyn_cast<stablehlo::CaseOp>(op))
      done = runCase(choice);
    else if (auto fold = dyn_cast<FoldOp>(op))
      done = runFold(fold);
    else if (auto loop = dyn_cast<FoldLoopOp>(op))
      done = runFoldLoop(loop);
    else {
      SmallVector<State> operands = lookup(op.getOperands());
      Transfer transferred = transfer(&op, operands, axis);
      if (!transferred.error.empty()) {
        InFlightDiagnostic diag = error(&op) << transferred.error;
        llvm::SmallPtrSet<Operation *, 4> seen;
        for (auto [operand, state] : llvm::zip(op.getOperands(), operands)) {
          Operation *def = operand.getDefiningOp();
          if (def && state.kind != State::Replicated && seen.insert(def).second)
            diag.attachNote(def->getLoc()) << "this operand is " << state.str();
        }
        return diag;
      }
      for (Value result : op.getResults())
        states[result] = transferred.state;
    }
    if (failed(done))
      return failure();
  }
  return success();
}

LogicalResult AxisChecker::check(func::FuncOp func) {
  for (BlockArgument arg : func.getArguments())
    states[arg] = promised(func.getArgAttr(arg.getArgNumber(), "tsp.placement"),
                           arg.getType());
  Block &body = func.getBody().front();
  if (failed(run(body)))
    return failure();
  Operation *ret = body.getTerminator();
  for (OpOperand &operand : ret->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    State want = promised(func.getResultAttr(i, "tsp.placement"),
                          operand.get().getType());
    State found = lookup(operand.get());
    bool fits = found == want || (want.kind == State::Sharded &&
                                  (found.kind == State::Varying ||
                                   isConstantAlong(operand.get(), want.dim)));
    if (!fits)
      return error(ret) << "expected result " << i << " to be " << want.str()
                        << ", found a value that is " << found.str();
  }
  return success();
}

namespace {
struct CheckPlacementsPass
    : public tsp::impl::CheckPlacementsBase<CheckPlacementsPass> {
  void runOnOperation() override {
    auto mesh = getOperation()->getAttrOfType<MeshAttr>("tsp.mesh");
    if (!mesh)
      return;
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal() || func->hasAttr("tsp.kernel") ||
          func->hasAttr("tsp.manual"))
        continue;
      for (auto [name, size] : llvm::zip(mesh.getAxes(), mesh.getSizes()))
        if (size > 1 && failed(AxisChecker(name).check(func)))
          return signalPassFailure();
    }
  }
};
} // namespace
