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
    SmallVector<const TargetDescription *> targets;
    for (const std::string &name : architectures) {
      targets.push_back(findTargetDescription(name));
      if (!targets.back()) {
        getOperation().emitError("no architecture named '")
            << name << "'; choose one of " << listTargetNames();
        return signalPassFailure();
      }
    }
    if (targets.empty())
      targets.push_back(findTargetDescription("sm_80"));
    // Variants come into the module on the way.
    for (auto function :
         llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      FailureOr<SdpaOp> core = findSdpa(function);
      if (failed(core))
        return signalPassFailure();
      if (!*core)
        continue;
      if (failed(check(*core)))
        return signalPassFailure();
      for (const TargetDescription *target : targets)
        if (target->hasWgmma)
          lowerVariant(function, *core, *target);
      lower(function, *core, [&](const SdpaSpec &spec, bool aligned) {
        return planDeviceSdpa(spec, aligned, *targets.front());
      });
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

  using Planner = llvm::function_ref<DeviceSdpaPlan(const SdpaSpec &, bool)>;

  /// The form for one architecture beside the general one, if it has one.
  static void lowerVariant(func::FuncOp kernel, SdpaOp core,
                           const TargetDescription &target) {
    bool aligned = true;
    SdpaSpec spec = describeSdpa(
        core, kernel.getBody().front().getTerminator()->getOperands(),
        {[&](unsigned argument, int64_t offset) {
           aligned &= isAligned(offset);
           return Value(kernel.getArgument(argument));
         },
         [&](unsigned) { return core.getO(); }});
    std::string reason;
    std::optional<DeviceSdpaPlan> plan =
        planWarpgroupSdpa(spec, aligned, target, reason);
    if (!plan) {
      if (!reason.empty())
        kernel->setAttr(kDeviceNoVariantAttr,
                        StringAttr::get(kernel.getContext(), reason));
      return;
    }
    func::FuncOp variant = startVariant(kernel, target);
    lower(variant, *variant.getOps<SdpaOp>().begin(),
          [&](const SdpaSpec &, bool) { return *plan; });
  }

  /// Copies read 16 bytes at a time.
  static bool isAligned(int64_t elements) { return elements % 8 == 0; }

  static void lower(func::FuncOp kernel, SdpaOp core, Planner makePlan) {
    SmallVector<Value> returned(
        kernel.getBody().front().getTerminator()->getOperands());
    Region tensorBody;
    DeviceKernel device = startDeviceForm(kernel, tensorBody);
    OpBuilder builder =
        OpBuilder::atBlockEnd(&device.function.getBody().front());
    DeviceEmitter e(builder, core.getLoc());
    bool aligned = true;
    // Which buffer a pointer is to, and elements from its start.
    DenseMap<Value, std::pair<unsigned, int64_t>> places;
    auto input = [&](unsigned argument, int64_t offset) {
      aligned &= isAligned(offset);
      Value pointer = e.pointer(device.inputs[argument], offset);
      places[pointer] = {argument, offset};
      return pointer;
    };
    auto output = [&](unsigned result) {
      return e.pointer(device.outputs[result]);
    };
    SdpaSpec spec = describeSdpa(core, returned, {input, output});
    DeviceSdpaPlan plan = makePlan(spec, aligned);
    auto addMap = [&](const SdpaTensor &tensor, int64_t width) {
      DeviceTensorMap map = describeSdpaMap(spec, tensor, width, plan);
      auto [buffer, offset] = places.at(tensor.flat);
      map.buffer = buffer;
      map.offset = offset * 2;
      return addTensorMap(device, map);
    };
    SdpaMaps maps;
    if (plan.form == DeviceSdpaForm::Warpgroup)
      maps = {addMap(spec.k, spec.width), addMap(spec.v, spec.valueWidth)};
    emitDeviceSdpa(e, spec, plan, maps);
    tensorBody.dropAllReferences();
    finishDeviceForm(kernel, device, plan.launch);
  }
};
} // namespace
