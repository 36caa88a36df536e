//===- LowerSdpaKernels.cpp - attention cores to device form --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceSdpa.h"
#include "tsp/Kernels/GPU/Passes.h"
#include "tsp/Kernels/Kernels.h"
#include "tsp/Kernels/SdpaFromOp.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tsp {
#define GEN_PASS_DEF_GPULOWERSDPAKERNELS
#include "tsp/Passes/GPU.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

namespace {
class GpuLowerSdpaKernels
    : public tsp::impl::GpuLowerSdpaKernelsBase<GpuLowerSdpaKernels> {
public:
  using GpuLowerSdpaKernelsBase::GpuLowerSdpaKernelsBase;

  void runOnOperation() override {
    const TargetDescription *target = findTargetDescription(architecture);
    if (!target) {
      getOperation().emitError("no architecture named '")
          << architecture << "'; choose one of " << listTargetNames();
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      FailureOr<SdpaOp> core = findSdpa(function);
      if (failed(core))
        return signalPassFailure();
      if (!*core)
        continue;
      if (failed(check(*core)))
        return signalPassFailure();
      lower(function, *core, *target);
      ++numKernels;
    }
  }

private:
  static LogicalResult check(SdpaOp core) {
    auto q = core.getQ().getType(), v = core.getV().getType();
    Type element = q.getElementType();
    if (!element.isF64() && !element.isF32() && !element.isF16() &&
        !element.isBF16())
      return core.emitOpError("on the cuda target takes f64, f32, f16 or bf16, "
                              "found ")
             << element;
    int64_t most = element.isF64() ? 512 : 1024;
    if (std::max(q.getDimSize(3), v.getDimSize(3)) > most)
      return core.emitOpError("on the cuda target has heads of at most ")
             << most << " elements, found " << q.getDimSize(3) << " and "
             << v.getDimSize(3);
    return success();
  }

  void lower(func::FuncOp kernel, SdpaOp core,
             const TargetDescription &target) {
    SmallVector<Value> returned(
        kernel.getBody().front().getTerminator()->getOperands());
    Region tensorBody;
    DeviceKernel device = startDeviceForm(kernel, tensorBody);
    OpBuilder builder =
        OpBuilder::atBlockEnd(&device.function.getBody().front());
    DeviceEmitter e(builder, core.getLoc());
    bool aligned = true;
    auto input = [&](unsigned argument, int64_t offset) {
      aligned &= offset % 8 == 0;
      return e.pointer(device.inputs[argument], offset);
    };
    auto output = [&](unsigned result) {
      return e.pointer(device.outputs[result]);
    };
    SdpaSpec spec = describeSdpa(core, returned, {input, output});
    DeviceSdpaPlan plan = planDeviceSdpa(spec, aligned, target);
    emitDeviceSdpa(e, spec, plan);
    tensorBody.dropAllReferences();
    finishDeviceForm(kernel, device, plan.launch);
  }
};
} // namespace
