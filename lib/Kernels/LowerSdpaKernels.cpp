//===- LowerSdpaKernels.cpp - kernels that are an attention core ----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/Kernels.h"
#include "tsp/Kernels/Passes.h"
#include "tsp/Kernels/SdpaFromOp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tsp {
#define GEN_PASS_DEF_LOWERSDPAKERNELS
#include "tsp/Passes/Kernels.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

namespace {

class LowerSdpaKernels
    : public tsp::impl::LowerSdpaKernelsBase<LowerSdpaKernels> {
public:
  using LowerSdpaKernelsBase::LowerSdpaKernelsBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      FailureOr<SdpaOp> core = findSdpa(function);
      if (failed(core))
        return signalPassFailure();
      if (!*core)
        continue;
      lower(function, *core);
      ++numKernels;
    }
  }

private:
  void lower(func::FuncOp kernel, SdpaOp core) {
    SmallVector<Value> returned(
        kernel.getBody().front().getTerminator()->getOperands());
    Region tensorBody;
    KernelBuffers buffers = startBufferForm(kernel, tensorBody);
    OpBuilder builder = OpBuilder::atBlockEnd(&kernel.getBody().front());
    VectorEmitter e(builder, core.getLoc());

    auto input = [&](unsigned argument, int64_t offset) {
      Value flat = e.flat(buffers.inputs[argument]);
      return offset ? e.shifted(flat, offset) : flat;
    };
    auto output = [&](unsigned result) {
      return e.flat(buffers.outputs[result]);
    };
    SdpaSpec spec = describeSdpa(core, returned, {input, output});

    VectorTarget target;
    target.bytes = vectorBits / 8;
    target.registers = vectorBits >= 512 ? 32 : 16;
    SdpaPlan plan = planSdpa(spec, target);
    int64_t scratch =
        emitSdpa(e, spec, plan, buffers.begin, buffers.end, buffers.scratch);
    finishBufferForm(kernel, plan.grid, scratch);
  }
};

} // namespace
