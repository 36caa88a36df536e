//===- TspVerifiers.cpp - verifiers of folds and launches -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/TSP/IR/TspVerifiers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tsp;

/// What `tsp.fold` and `tsp.fold_loop` share: the parts, their intervals, and
/// what schedule `ring` asks for.
template <typename OpTy>
static LogicalResult verifyParts(OpTy op, std::optional<Schedule> schedule) {
  size_t n = op.getParts().size();
  for (ArrayRef<int64_t> list : {op.getPartDims(), op.getPartSizes(),
                                 op.getPartStarts(), op.getPartTotals()})
    if (list.size() != n)
      return op.emitOpError(
                 "(fold_c1) expected a dim, size, start and total for each of ")
             << n << " parts, found " << list.size();
  int64_t steps = op.getSteps(), prefetch = op.getPrefetch();
  if (steps < 1 || prefetch < 0)
    return op.emitOpError("(fold_c4) expected at least one step and a prefetch "
                          "of 0 or more, found ")
           << steps << " and " << prefetch;
  Block &body = op.getBody().front();
  if (body.getNumArguments() < 1 + n)
    return op.emitOpError("(fold_c5) expected a block argument for the part "
                          "number and for each of ")
           << n << " parts, found " << body.getNumArguments();
  auto number =
      RankedTensorType::get({}, Builder(op.getContext()).getI32Type());
  if (body.getArgument(0).getType() != number)
    return op.emitOpError("(fold_c5) expected block argument 0 of type ")
           << number << ", found " << body.getArgument(0).getType();
  for (size_t p = 0; p < n; ++p) {
    auto shard = cast<RankedTensorType>(op.getParts()[p].getType());
    int64_t dim = op.getPartDims()[p];
    if (failed(verifyDim(op, "part_dims", dim, shard)))
      return failure();
    SmallVector<int64_t> shape(shard.getShape());
    shape[dim] = op.getPartSizes()[p];
    auto expected = RankedTensorType::get(shape, shard.getElementType());
    if (body.getArgument(1 + p).getType() != expected)
      return op.emitOpError("(fold_c5) expected block argument ")
             << 1 + p << " of type " << expected << ", found "
             << body.getArgument(1 + p).getType();
    int64_t start = op.getPartStarts()[p],
            end = start + steps * op.getPartSizes()[p];
    if (start < 0 || end > op.getPartTotals()[p])
      return op.emitOpError("(fold_c6) expected part ")
             << p << " to stay inside its " << op.getPartTotals()[p]
             << " elements, found [" << start << ", " << end << ')';
    if (schedule == Schedule::Ring &&
        shard.getDimSize(dim) != op.getPartSizes()[p])
      return op.emitOpError("(fold_c2) schedule ring needs steps that are "
                            "whole shards: part ")
             << p << " has " << shard.getDimSize(dim) << " elements of dim "
             << dim << " in a shard and " << op.getPartSizes()[p]
             << " in a step";
  }
  if (schedule == Schedule::Ring) {
    WalkResult result = op.getBody().walk([&](Operation *inner) {
      auto axis = inner->getAttrOfType<StringAttr>("axis");
      if (axis && axis.getValue() == op.getAxis() && !isa<AxisIndexOp>(inner)) {
        auto diag = op.emitOpError("(fold_c2) under schedule ring ranks run "
                                   "different parts, so the "
                                   "body may not hold a collective over axis ")
                    << axis;
        diag.attachNote(inner->getLoc()) << "the collective is here";
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}

LogicalResult FoldOp::verify() {
  if (failed(verifyParts(*this, getSchedule())))
    return failure();
  size_t arguments = getBody().front().getNumArguments();
  if (arguments != 1 + getParts().size())
    return emitOpError("(fold_c5) expected ")
           << 1 + getParts().size() << " block arguments, found " << arguments;
  if (getCombines().size() != getNumResults())
    return emitOpError("(fold_c3) expected a combine for each of ")
           << getNumResults() << " results, found " << getCombines().size();
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  if (yield.getNumOperands() != getNumResults())
    return emitOpError("(fold_c3) expected ")
           << getNumResults() << " yielded values, found "
           << yield.getNumOperands();
  for (auto [combine, value, result] :
       llvm::zip(getCombines(), yield.getValues(), getResults())) {
    auto from = cast<RankedTensorType>(value.getType()),
         to = cast<RankedTensorType>(result.getType());
    SmallVector<int64_t> shape(from.getShape());
    if (auto concat = dyn_cast<ConcatAttr>(combine)) {
      if (failed(verifyDim(*this, "the dim of #tsp.concat", concat.getDim(),
                           from)))
        return failure();
      shape[concat.getDim()] *= getSteps();
    } else if (!isa<CombineKindAttr>(combine)) {
      return emitOpError(
                 "(fold_c3) expected #tsp.combine or #tsp.concat, found ")
             << combine;
    }
    if (to.getShape() != ArrayRef(shape))
      return emitOpError("(fold_c3) expected a result of shape ")
             << RankedTensorType::get(shape, to.getElementType()) << ", found "
             << to;
  }
  return success();
}

bool FoldLoopOp::runsAhead(Operation *op) {
  Operation *inBody = getBody().front().findAncestorOpInBlock(*op);
  return inBody && inBody->isBeforeInBlock(getFirstLate());
}

/// What may run a step ahead of the rest of a fold loop's body (fold_loop_c3).
static LogicalResult verifyAhead(FoldLoopOp op) {
  Block &body = op.getBody().front();
  int64_t ahead = op.getAhead(), count = body.getOperations().size();
  if (ahead < 0 || ahead >= count)
    return op.emitOpError("(fold_loop_c3) expected ahead to count ops of the body "
                          "before its end, 0 to ")
           << count - 1 << ", found " << ahead;
  if (op.getSchedule() == Schedule::Ring ||
      (op.getSchedule() == Schedule::Broadcast && op.getPrefetch() < 1))
    return op.emitOpError("(fold_loop_c3) expected schedule broadcast with a "
                          "prefetch, or gather, for ops that run ahead, found ")
           << stringifySchedule(op.getSchedule()) << " with prefetch "
           << op.getPrefetch();
  for (BlockArgument arg : body.getArguments().drop_front()) {
    bool isPart = arg.getArgNumber() <= op.getParts().size(), late = false;
    Operation *early = nullptr;
    for (Operation *user : arg.getUsers())
      if (op.runsAhead(user))
        early = user;
      else
        late = true;
    if (early && (!isPart || late))
      return early->emitOpError("(fold_loop_c3) runs a step ahead and reads ")
             << (isPart ? "a part that later ops read too"
                        : "a value that the steps carry");
  }
  for (Operation &inner : body)
    if (op.runsAhead(&inner) && isa<WaitOp>(inner))
      return inner.emitOpError("(fold_loop_c3) runs a step ahead, where nothing "
                               "may be waited for");
  return success();
}

LogicalResult FoldLoopOp::verify() {
  if (failed(verifyParts(*this, getSchedule())))
    return failure();
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  auto carried =
      getBody().front().getArguments().drop_front(1 + getParts().size());
  if (!llvm::equal(getInits().getTypes(), getResultTypes()) ||
      !llvm::equal(yield.getValues().getTypes(), getResultTypes()) ||
      !llvm::equal(TypeRange(ValueRange(carried)), getResultTypes()))
    return emitOpError("(fold_loop_c2) expected inits, carried block "
                       "arguments, yielded "
                       "values and results of equal types, found ")
           << TypeRange(getInits()) << "; " << TypeRange(ValueRange(carried))
           << "; " << TypeRange(yield.getValues()) << "; " << getResultTypes();
  return getAhead() ? verifyAhead(*this) : success();
}

// Types are compared as long as the kernel works on tensors; kernel codegen
// turns it into a function on pointers, whose launches keep their tensor types.
LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &tables) {
  Operation *symbol = tables.lookupNearestSymbolFrom(*this, getKernelAttr());
  if (!symbol || !symbol->hasAttr("tsp.kernel"))
    return emitOpError("(launch_c1) expected a kernel named ")
           << getKernelAttr() << ", found "
           << (symbol ? "a function that is none" : "nothing");
  auto kernel = dyn_cast<func::FuncOp>(symbol);
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  if (!kernel || !llvm::all_of(kernel.getArgumentTypes(), isTensor) ||
      !llvm::all_of(kernel.getResultTypes(), isTensor))
    return success();
  if (!llvm::equal(kernel.getArgumentTypes(), getInputs().getTypes()) ||
      !llvm::equal(kernel.getResultTypes(), getResultTypes()))
    return emitOpError("(launch_c2) expected operands and results of the "
                       "kernel's type ")
           << kernel.getFunctionType() << ", found "
           << FunctionType::get(getContext(), getInputs().getTypes(),
                                getResultTypes());
  return success();
}
