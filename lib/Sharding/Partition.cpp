//===- Partition.cpp - the partitioner ------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Localize.h"
#include "PlanProgram.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Sharding/Passes.h"

namespace tsp {
#define GEN_PASS_DEF_TSPPARTITION
#include "tsp/Passes/Sharding.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

namespace {

struct PartitionPass : public tsp::impl::TspPartitionBase<PartitionPass> {
  using TspPartitionBase::TspPartitionBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module->hasAttr(kPlanned) &&
        failed(planProgram(module, strategy, remarks)))
      return signalPassFailure();
    module->removeAttr(kPlanned);
    MeshAttr mesh = getMesh(module);
    for (func::FuncOp func :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (!func.isPublic() || func.isExternal())
        continue;
      FailureOr<Plan> plan = Plan::take(func, mesh);
      if (failed(plan) || failed(write(func, *plan, mesh)))
        return signalPassFailure();
    }
  }

private:
  LogicalResult write(func::FuncOp func, const Plan &plan, MeshAttr mesh) {
    auto ret = cast<func::ReturnOp>(func.getBody().front().getTerminator());
    SmallVector<Type> inputs, outputs;
    for (BlockArgument arg : func.getArguments())
      inputs.push_back(localType(cast<RankedTensorType>(arg.getType()),
                                 plan.placement(arg)));
    for (auto [operand, placement] :
         llvm::zip(ret.getOperands(), plan.op(ret).operands))
      outputs.push_back(
          localType(cast<RankedTensorType>(operand.getType()), placement));
    OpBuilder builder(func);
    auto local =
        cast<func::FuncOp>(builder.cloneWithoutRegions(*func.getOperation()));
    local.setFunctionType(builder.getFunctionType(inputs, outputs));
    for (BlockArgument arg : func.getArguments()) {
      unsigned i = arg.getArgNumber();
      auto type = cast<RankedTensorType>(arg.getType());
      local.setArgAttr(i, "tsp.placement",
                       toAttr(plan.placement(arg), type, mesh));
      local.setArgAttr(i, "tsp.global_type", TypeAttr::get(type));
    }
    for (auto [i, operand] : llvm::enumerate(ret.getOperands())) {
      auto type = cast<RankedTensorType>(operand.getType());
      local.setResultAttr(i, "tsp.placement",
                          toAttr(plan.op(ret).operands[i], type, mesh));
      local.setResultAttr(i, "tsp.global_type", TypeAttr::get(type));
    }
    if (failed(Localizer(mesh, plan, poison).run(func, local)))
      return failure();
    func.erase();
    return success();
  }
};

} // namespace
