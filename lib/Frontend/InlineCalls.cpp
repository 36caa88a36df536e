//===- InlineCalls.cpp - bodies in place of calls and composites ----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Frontend/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"

namespace tsp {
#define GEN_PASS_DEF_INLINECALLS
#include "tsp/Passes/Frontend.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

/// The function that an op stands for, or null when it is no call.
static FlatSymbolRefAttr getCallee(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return call.getCalleeAttr();
  if (auto composite = dyn_cast<stablehlo::CompositeOp>(op))
    return composite.getDecompositionAttr();
  return {};
}

namespace {
class Inliner {
public:
  explicit Inliner(ModuleOp module) : symbols(module) {}

  /// Inlines the calls of a function, the callees' own calls first.
  LogicalResult flatten(func::FuncOp function);

  int64_t numInlined = 0;

private:
  enum class State { None, Running, Done };

  LogicalResult inlineCall(Operation *call, func::FuncOp callee);
  LogicalResult reportRecursion(func::FuncOp function);

  SymbolTable symbols;
  DenseMap<Operation *, State> states;
  SmallVector<func::FuncOp> path;
};
} // namespace

LogicalResult Inliner::reportRecursion(func::FuncOp function) {
  InFlightDiagnostic diag = function.emitError("recursive calls are not "
                                               "supported: ");
  auto start = llvm::find(path, function);
  for (func::FuncOp caller : llvm::make_range(start, path.end()))
    diag << "@" << caller.getName() << " calls ";
  return diag << "@" << function.getName() << "; use lax.while_loop or lax.scan";
}

LogicalResult Inliner::flatten(func::FuncOp function) {
  State &state = states[function];
  if (state == State::Done)
    return success();
  if (state == State::Running)
    return reportRecursion(function);
  state = State::Running;
  path.push_back(function);

  SmallVector<Operation *> calls;
  function.walk([&](Operation *op) {
    if (getCallee(op))
      calls.push_back(op);
  });
  for (Operation *call : calls) {
    FlatSymbolRefAttr name = getCallee(call);
    auto callee = symbols.lookup<func::FuncOp>(name.getValue());
    if (!callee || callee.isExternal())
      return call->emitError("calls ") << name << ", which has no body in this "
                                          "module; export the whole program";
    if (failed(flatten(callee)) || failed(inlineCall(call, callee)))
      return failure();
  }
  path.pop_back();
  states[function] = State::Done;
  return success();
}

/// Clones the block of the callee before the call.
LogicalResult Inliner::inlineCall(Operation *call, func::FuncOp callee) {
  if (!callee.getBody().hasOneBlock())
    return callee.emitError("expected one block in a function that is called, "
                            "found ")
           << callee.getBody().getBlocks().size();
  if (TypeRange(callee.getArgumentTypes()) != call->getOperandTypes() ||
      TypeRange(callee.getResultTypes()) != call->getResultTypes()) {
    InFlightDiagnostic diag = call->emitError("expected the types of the call to "
                                              "be ")
                              << callee.getFunctionType();
    diag.attachNote(callee.getLoc()) << "the function is defined here";
    return diag;
  }
  OpBuilder builder(call);
  Block &body = callee.getBody().front();
  IRMapping mapping;
  mapping.map(body.getArguments(), call->getOperands());
  Location callLoc = call->getLoc();
  for (Operation &op : body.without_terminator()) {
    Operation *clone = builder.clone(op, mapping);
    clone->walk([&](Operation *inner) {
      inner->setLoc(CallSiteLoc::get(inner->getLoc(), callLoc));
    });
  }
  SmallVector<Value> results;
  for (Value result : body.getTerminator()->getOperands())
    results.push_back(mapping.lookupOrDefault(result));
  call->replaceAllUsesWith(results);
  call->erase();
  ++numInlined;
  return success();
}

namespace {
struct InlineCalls : tsp::impl::InlineCallsBase<InlineCalls> {
  void runOnOperation() override {
    Inliner inliner(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(inliner.flatten(function)))
        return signalPassFailure();
    numInlined = inliner.numInlined;
  }
};
} // namespace
