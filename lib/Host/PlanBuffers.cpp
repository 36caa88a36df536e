//===- PlanBuffers.cpp - a buffer for every value of the entries ----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferEmitter.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Host/Host.h"
#include "tsp/Host/ReceivedBytes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

namespace tsp {
#define GEN_PASS_DEF_PLANBUFFERS
#include "tsp/Passes/Host.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

/// The first problem that a user could have made, before any of the plan's code
/// relies on it.
static LogicalResult checkEntry(func::FuncOp entry, MeshAttr mesh) {
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() && tensor.getElementType().isIntOrFloat();
  };
  if (!entry.getBody().hasOneBlock())
    return entry.emitError("expected an entry of one block, found ")
           << entry.getBody().getBlocks().size();
  for (Type type : llvm::concat<const Type>(entry.getArgumentTypes(), entry.getResultTypes()))
    if (!isStatic(type))
      return entry.emitError("expected arguments and results that are static tensors, found ")
             << type;
  WalkResult result = entry.walk([&](Operation *op) {
    if (auto launch = dyn_cast<LaunchOp>(op); launch && !lookupKernel(launch)) {
      op->emitOpError("expected a kernel named ") << launch.getKernelAttr() << ", found nothing";
      return WalkResult::interrupt();
    }
    auto axis = op->getAttrOfType<StringAttr>("axis");
    if (axis && isa<TspDialect>(op->getDialect()) && mesh.getAxisIndex(axis) < 0) {
      op->emitOpError("expected an axis of the mesh ") << mesh << ", found " << axis;
      return WalkResult::interrupt();
    }
    if (auto wait = dyn_cast<WaitOp>(op); wait && !getStart(wait)) {
      op->emitOpError("expected the future of a transfer that this program starts");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// A loop that starts from a fill writes over it, and so has its own, right before
/// it: filling once more is as cheap as the copy that it saves, and no fill stays
/// alive for the next loop.
static void placeFills(func::FuncOp entry) {
  entry.walk([](Operation *loop) {
    if (!isa<FoldLoopOp, stablehlo::WhileOp>(loop))
      return;
    for (OpOperand &operand : loop->getOpOperands()) {
      auto fill = operand.get().getDefiningOp<LaunchOp>();
      if (!fill || !fill.getInputs().empty() || fill->getNumResults() != 1)
        continue;
      if (!operand.get().hasOneUse()) {
        OpBuilder builder(loop);
        operand.set(builder.clone(*fill)->getResult(0));
      } else {
        fill->moveBefore(loop);
      }
    }
  });
}

/// {arena_bytes, peak_bytes, staging_bytes, copies, at_peak = [{bytes, buffer}, ..],
/// received_bytes = {collective = bytes, ..}}
static DictionaryAttr describePlan(Builder &builder, const BufferPlan &plan, int64_t copies,
                                   const std::map<std::string, int64_t> &received) {
  SmallVector<NamedAttribute> transfers;
  for (const auto &[name, bytes] : received)
    transfers.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(bytes)));
  SmallVector<Attribute> atPeak;
  for (const Buffer *buffer : plan.getBuffersAtPeak())
    atPeak.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("bytes", builder.getI64IntegerAttr(buffer->memory.bytes)),
         builder.getNamedAttr("buffer", builder.getStringAttr(buffer->label))}));
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("arena_bytes", builder.getI64IntegerAttr(plan.getArenaBytes())),
       builder.getNamedAttr("peak_bytes", builder.getI64IntegerAttr(plan.getPeakBytes())),
       builder.getNamedAttr("staging_bytes", builder.getI64IntegerAttr(plan.getStagingBytes())),
       builder.getNamedAttr("copies", builder.getI64IntegerAttr(copies)),
       builder.getNamedAttr("at_peak", builder.getArrayAttr(atPeak)),
       builder.getNamedAttr("received_bytes", builder.getDictionaryAttr(transfers))});
}

static void remarkPlan(func::FuncOp entry, const BufferPlan &plan, int64_t copies) {
  auto remark = entry.emitRemark("arena of ")
                << plan.getArenaBytes() << " bytes, " << plan.getPeakBytes()
                << " of them alive at the peak; " << copies << " copies";
  SmallVector<const Buffer *> atPeak = plan.getBuffersAtPeak();
  for (const Buffer *buffer : ArrayRef(atPeak).take_front(8)) {
    Location loc = buffer->values.empty() ? entry.getLoc() : buffer->values.front().getLoc();
    remark.attachNote(loc) << buffer->memory.bytes << " bytes at the peak: " << buffer->label;
  }
}

namespace {
struct PlanBuffers : tsp::impl::PlanBuffersBase<PlanBuffers> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    MeshAttr mesh = getRankMesh(module);
    SmallVector<func::FuncOp> entries;
    for (auto function : module.getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal() && !function->hasAttr("tsp.kernel"))
        entries.push_back(function);
    for (func::FuncOp entry : entries) {
      if (failed(checkEntry(entry, mesh)))
        return signalPassFailure();
      placeFills(entry);
      std::map<std::string, int64_t> received = countReceivedBytes(entry, mesh);
      BufferEmitter emitter(entry, mesh, symbols);
      FailureOr<func::FuncOp> function = emitter.emit();
      if (failed(function))
        return signalPassFailure();
      Builder builder(module.getContext());
      (*function)->setAttr("tsp.plan", describePlan(builder, emitter.getPlan(),
                                                    emitter.getNumCopies(), received));
      if (remarks)
        remarkPlan(entry, emitter.getPlan(), emitter.getNumCopies());
      numCopies += emitter.getNumCopies();
      symbols.remove(entry);
      entry.erase();
    }
  }
};
} // namespace
