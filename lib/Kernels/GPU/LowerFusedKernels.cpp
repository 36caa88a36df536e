//===- LowerFusedKernels.cpp - StableHLO kernels to code for a GPU --------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../FusedLowering.h"
#include "DeviceNest.h"
#include "DeviceWholeOps.h"
#include "tsp/Kernels/GPU/Passes.h"
#include "tsp/Kernels/Kernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace tsp {
#define GEN_PASS_DEF_GPULOWERFUSEDKERNELS
#include "tsp/Passes/GPU.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

namespace {

/// Threads of a block, and of one that has to do with few others: for long
/// rows, or as the only block of a kernel whose parts wait for each other.
constexpr int64_t kThreads = 256;
constexpr int64_t kThreadsOfFewBlocks = 512;

class DeviceLowering final : public FusedLowering {
public:
  DeviceLowering(func::FuncOp kernel, Region &body, ElementEmitter &emitter,
                 DeviceKernel &device)
      : FusedLowering(kernel, body, emitter), code(emitter, device) {
    lower(device.inputs, device.outputs);
  }

  DeviceLaunch finish() {
    DeviceLaunch launch;
    launch.grid = {grid, 1, 1};
    code.finish(launch);
    return launch;
  }

private:
  std::unique_ptr<Nest> plan(ArrayRef<Target> targets) override {
    auto planFor = [&](int64_t numThreads) {
      return std::make_unique<DeviceNest>(emitter, code, numThreads, targets);
    };
    if (code.isOneBlock())
      return planFor(kThreadsOfFewBlocks);
    std::unique_ptr<DeviceNest> nest = planFor(kThreads);
    // All nests of a kernel have blocks of one size.
    if (targets.size() == body.front().getTerminator()->getNumOperands() &&
        nest->hasLongRows())
      return planFor(kThreadsOfFewBlocks);
    return nest;
  }
  Value allocate(int64_t count, Type elementType) override {
    return code.allocate(count, elementType);
  }

  /// Blocks are divided among the nests.
  void emitApart(MutableArrayRef<std::unique_ptr<Nest>> nests) override {
    code.start(static_cast<DeviceNest &>(*nests.front()).getNumThreads());
    int64_t numBlocks = 0, first = 0;
    for (std::unique_ptr<Nest> &nest : nests)
      numBlocks += nest->getGrid();
    for (std::unique_ptr<Nest> &nest : nests) {
      code.forUnits(nest->getGrid(), first, numBlocks, [&](LinearIndex unit) {
        static_cast<DeviceNest &>(*nest).emitUnit(unit);
      });
      first += nest->getGrid();
    }
    grid = std::max<int64_t>(numBlocks, 1);
  }

  void emitAlone(Operation *op, ArrayRef<Value> outputs,
                 Value inPlace) override {
    code.start(kThreads);
    grid = emitDeviceWholeOp(code, op, outputs, inPlace);
  }

  void emitInOrder(llvm::function_ref<void()> parts) override {
    code.setOneBlock();
    code.start(kThreadsOfFewBlocks);
    parts();
  }
  void emitPart(Nest &nest) override {
    code.forUnits(nest.getGrid(), 0, nest.getGrid(), [&](LinearIndex unit) {
      static_cast<DeviceNest &>(nest).emitUnit(unit);
    });
  }
  void emitPart(Operation *op, ArrayRef<Value> outputs) override {
    emitDeviceWholeOp(code, op, outputs, Value());
  }

  BlockCode code;
  int64_t grid = 1;
};

LogicalResult lowerKernel(func::FuncOp kernel) {
  Region body;
  DeviceKernel device = startDeviceForm(kernel, body);
  ElementEmitter emitter(&device.function.getBody().front(),
                         kernel->getParentOfType<ModuleOp>());
  DeviceLowering lowering(kernel, body, emitter, device);
  body.dropAllReferences();
  if (emitter.failed())
    return failure();
  finishDeviceForm(kernel, device, lowering.finish());
  return success();
}

class GpuLowerFusedKernels
    : public tsp::impl::GpuLowerFusedKernelsBase<GpuLowerFusedKernels> {
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
