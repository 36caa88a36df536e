//===- DropAnnotations.cpp - remove what says nothing about values --------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/Sdy/IR/SdyDialect.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Frontend/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"

namespace tsp {
#define GEN_PASS_DEF_DROPANNOTATIONS
#include "tsp/Passes/Frontend.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

/// Custom calls that return their operand, marked with a wish.
static bool isMarker(stablehlo::CustomCallOp op) {
  bool isKnown = llvm::is_contained(
      {"Sharding", "annotate_device_placement", "LayoutConstraint"},
      op.getCallTargetName());
  return isKnown && op.getNumOperands() == 1 &&
         TypeRange(op.getOperandTypes()) == op.getResultTypes();
}

/// `shape_assertion` of a condition that holds at compile time.
static bool isKeptPromise(stablehlo::CustomCallOp op) {
  return op.getCallTargetName() == "shape_assertion" &&
         op.getNumOperands() > 0 && op.getNumResults() == 0 &&
         matchPattern(op.getOperand(0), m_One());
}

/// Attributes of JAX and XLA by their prefix.
static bool isForeign(StringRef name) {
  return name.starts_with("mhlo.") || name.starts_with("jax.") ||
         name.starts_with("stablehlo.") || name.starts_with("tf.");
}

static void dropForeignAttrs(Operation *op) {
  for (NamedAttribute attr : llvm::to_vector(op->getDiscardableAttrs()))
    if (isForeign(attr.getName()))
      op->removeDiscardableAttr(attr.getName());
}

/// Drops them from the arguments and results of a function.
static void dropForeignAttrs(func::FuncOp function) {
  auto filtered = [&](DictionaryAttr attrs) {
    SmallVector<NamedAttribute> kept;
    if (attrs)
      for (NamedAttribute attr : attrs)
        if (!isForeign(attr.getName()))
          kept.push_back(attr);
    return DictionaryAttr::get(function.getContext(), kept);
  };
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    function.setArgAttrs(index, filtered(function.getArgAttrDict(index)));
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    function.setResultAttrs(index, filtered(function.getResultAttrDict(index)));
}

namespace {
struct DropAnnotations : tsp::impl::DropAnnotationsBase<DropAnnotations> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto replicas = module->getAttrOfType<IntegerAttr>("mhlo.num_replicas");
    if (replicas && replicas.getInt() > 1) {
      module.emitError("expected 1 replica, found ")
          << replicas.getInt()
          << " (pmap); write the program with jit and shardings or shard_map";
      return signalPassFailure();
    }
    module.walk([&](Operation *op) {
      dropForeignAttrs(op);
      if (auto function = dyn_cast<func::FuncOp>(op)) {
        dropForeignAttrs(function);
        return;
      }
      auto call = dyn_cast<stablehlo::CustomCallOp>(op);
      if (!isa<stablehlo::OptimizationBarrierOp>(op) &&
          !(call && (isMarker(call) || isKeptPromise(call))))
        return;
      if (op->getNumResults())
        op->replaceAllUsesWith(op->getOperands());
      op->erase();
      ++numDropped;
    });
  }
};
} // namespace
