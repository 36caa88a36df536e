//===- FormKernels.cpp - the program of a rank as launches of kernels -----===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormClusters.h"
#include "FormOutline.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Dialect/TSP/IR/TspDialect.h"
#include "tsp/Kernels/Kernels.h"
#include "tsp/Kernels/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tsp {
#define GEN_PASS_DEF_FORMKERNELS
#include "tsp/Passes/Kernels.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

namespace {

struct FormKernels : tsp::impl::FormKernelsBase<FormKernels> {
  using FormKernelsBase::FormKernelsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> functions;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function->hasAttr(kKernelAttr) && !function.isExternal())
        functions.push_back(function);
    for (func::FuncOp function : functions)
      if (failed(check(function.getBody())))
        return signalPassFailure();
    for (func::FuncOp function : functions) {
      RecomputeRules rules;
      formKernels(function.getBody(), rules);
      eraseOutlined(function.getBody());
    }
    int64_t kept = mergeEqualKernels(module, launched);
    numLaunches += launched.size();
    numKernels += kept;
    if (remarks)
      module.emitRemark("form-kernels: ")
          << launched.size() << " launches of " << kept << " different kernels";
  }

private:
  /// Every op must either stay on the host or go to a kernel.
  LogicalResult check(Region &region) {
    for (Operation &op : region.getOps()) {
      OpClass opClass = classify(&op);
      if (opClass == OpClass::Unknown)
        return op.emitError("'") << op.getName() << "' can be neither computed by a kernel "
                                    "nor run by the host program: it should have been "
                                    "rewritten before kernels are formed";
      for (Type type : op.getResultTypes())
        if (opClass != OpClass::Host && !cast<ShapedType>(type).hasStaticShape())
          return op.emitError("'") << op.getName() << "' needs a static shape to be "
                                      "computed by a kernel, found " << type;
      if (opClass == OpClass::Host)
        for (Region &inner : op.getRegions())
          if (failed(check(inner)))
            return failure();
    }
    return success();
  }

  /// Users come before producers, so inner regions first, from the last on.
  void formKernels(Region &region, RecomputeRules &rules) {
    if (region.empty())
      return;
    Block &block = region.front();
    for (Operation &op : llvm::reverse(block)) {
      if (classify(&op) != OpClass::Host)
        continue;
      for (Region &inner : llvm::reverse(op.getRegions()))
        formKernels(inner, rules);
      if (isa<FoldLoopOp, stablehlo::WhileOp>(op))
        hoistInvariants(&op);
    }
    for (const std::unique_ptr<Cluster> &cluster : ClusterBuilder(rules).build(block))
      launched.push_back(outlineCluster(*cluster, rules, getOperation()));
  }

  /// Moves launches that read nothing of a loop, and views of such values, out of
  /// it. A `while` may run no step: then they cost, but change nothing.
  void hoistInvariants(Operation *loop) {
    for (Region &region : loop->getRegions())
      for (Operation &op : llvm::make_early_inc_range(region.front())) {
        bool isInvariant = llvm::all_of(op.getOperands(), [&](Value operand) {
          return !loop->isAncestor(operand.getParentBlock()->getParentOp());
        });
        if (!isInvariant || !isa<LaunchOp, stablehlo::ReshapeOp>(op))
          continue;
        op.moveBefore(loop);
        numHoisted += isa<LaunchOp>(op);
      }
  }

  /// What is left of the ops that are in kernels now.
  void eraseOutlined(Region &region) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(region.front()))) {
      bool host = classify(&op) == OpClass::Host;
      for (Region &inner : op.getRegions())
        if (host && !inner.empty())
          eraseOutlined(inner);
      if (op.use_empty() && (!host || isMemoryEffectFree(&op)) &&
          !op.hasTrait<OpTrait::IsTerminator>())
        op.erase();
    }
  }

  SmallVector<LaunchedKernel> launched;
};

} // namespace
