//===- LowerFusedKernels.cpp - StableHLO kernels to loops on buffers ------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusedLowering.h"
#include "LoopNest.h"
#include "WholeOps.h"
#include "tsp/Kernels/Kernels.h"
#include "tsp/Kernels/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace tsp {
#define GEN_PASS_DEF_LOWERFUSEDKERNELS
#include "tsp/Passes/Kernels.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

namespace {

class HostLowering : public FusedLowering {
public:
  HostLowering(func::FuncOp kernel, Region &body, ElementEmitter &emitter,
               const KernelBuffers &buffers)
      : FusedLowering(kernel, body, emitter), begin(buffers.begin),
        end(buffers.end), scratch(buffers.scratch) {
    lower(buffers.inputs, buffers.outputs);
  }

  int64_t getGrid() const { return grid; }
  int64_t getScratchBytes() const { return scratch.getBytes(); }

private:
  std::unique_ptr<Nest> plan(ArrayRef<Target> targets) override {
    return std::make_unique<LoopNest>(emitter, scratch, targets);
  }
  Value allocate(int64_t count, Type elementType) override {
    return scratch.allocate(emitter, count, elementType);
  }

  /// The grid is that of one after the other.
  void emitApart(MutableArrayRef<std::unique_ptr<Nest>> nests) override {
    grid = 0;
    for (std::unique_ptr<Nest> &nest : nests)
      grid += nest->getGrid();
    int64_t first = 0;
    OpBuilder &builder = emitter.getBuilder();
    Location loc = kernel.getLoc();
    for (std::unique_ptr<Nest> &nest : nests) {
      auto toOwn = [&](Value unit) -> Value {
        if (nests.size() == 1)
          return unit;
        unit = arith::SubIOp::create(builder, loc, unit,
                                     emitter.constantIndex(first));
        unit = arith::MaxSIOp::create(builder, loc, unit,
                                      emitter.constantIndex(0));
        return arith::MinSIOp::create(builder, loc, unit,
                                      emitter.constantIndex(nest->getGrid()));
      };
      static_cast<LoopNest &>(*nest).emit(toOwn(begin), toOwn(end));
      first += nest->getGrid();
    }
  }

  void emitAlone(Operation *op, ArrayRef<Value> outputs,
                 Value inPlace) override {
    grid = getWholeOpGrid(op);
    emitWholeOp(emitter, scratch, op, outputs, inPlace, begin, end);
  }

  /// One unit, which computes everything.
  void emitInOrder(llvm::function_ref<void()> parts) override {
    grid = 1;
    emitter.emitLoop(begin, end, 0, 0, {}, [&](LinearIndex, ValueRange) {
      parts();
      return SmallVector<Value>();
    });
  }
  void emitPart(Nest &nest) override {
    static_cast<LoopNest &>(nest).emit(emitter.constantIndex(0),
                                       emitter.constantIndex(nest.getGrid()));
  }
  void emitPart(Operation *op, ArrayRef<Value> outputs) override {
    emitWholeOp(emitter, scratch, op, outputs, Value(),
                emitter.constantIndex(0),
                emitter.constantIndex(getWholeOpGrid(op)));
  }

  Value begin, end;
  ScratchPlan scratch;
  int64_t grid = 1;
};

LogicalResult lowerKernel(func::FuncOp kernel) {
  Region body;
  KernelBuffers buffers = startBufferForm(kernel, body);
  ElementEmitter emitter(&kernel.getBody().front(),
                         kernel->getParentOfType<ModuleOp>());
  HostLowering lowering(kernel, body, emitter, buffers);
  body.dropAllReferences();
  if (emitter.failed())
    return failure();
  finishBufferForm(kernel, lowering.getGrid(), lowering.getScratchBytes());
  return success();
}

class LowerFusedKernels
    : public tsp::impl::LowerFusedKernelsBase<LowerFusedKernels> {
public:
  void runOnOperation() override {
    for (func::FuncOp kernel : getTensorKernels(getOperation())) {
      if (failed(lowerKernel(kernel)))
        return signalPassFailure();
      ++numKernels;
    }
  }
};

} // namespace
