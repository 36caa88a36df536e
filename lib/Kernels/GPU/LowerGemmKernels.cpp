//===- LowerGemmKernels.cpp - matrix products to device form --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Emit.h"
#include "WarpgroupGemm.h"
#include "tsp/Kernels/GPU/DeviceForm.h"
#include "tsp/Kernels/GPU/Passes.h"
#include "tsp/Kernels/Kernels.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tsp {
#define GEN_PASS_DEF_GPULOWERGEMMKERNELS
#include "tsp/Passes/GPU.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

Value tsp::readElement(DeviceEmitter &e, Value stored, Type element, Type to) {
  if (element == to)
    return stored;
  Value value = fromStorage(e.b, e.loc, stored, element);
  if (to.isF64() && value.getType().isF32())
    return e.widen(value, e.b.getF32Type(), to);
  return e.narrow(value, to);
}

void tsp::placeTile(DeviceGemm &gemm, Value number) {
  DeviceEmitter &e = gemm.e;
  const DeviceGemmPlan &plan = gemm.plan;
  int64_t tiles = plan.tilesM * plan.tilesN;
  Value tile = e.rem(number, tiles), rest = e.div(number, tiles);
  Value strip = e.div(tile, plan.group * plan.tilesN);
  Value inStrip = e.rem(tile, plan.group * plan.tilesN);
  Value firstM = e.mul(strip, plan.group);
  // The last strip may have fewer tiles below each other.
  Value group = e.min(e.sub(e.i32(plan.tilesM), firstM), e.i32(plan.group));
  if (plan.tilesM % plan.group == 0)
    group = e.i32(plan.group);
  Value inM = arith::RemUIOp::create(e.b, e.loc, inStrip, group),
        tileN = arith::DivUIOp::create(e.b, e.loc, inStrip, group);
  gemm.m = e.mul(e.add(firstM, inM), plan.bm);
  gemm.n = e.mul(tileN, plan.bn);

  ArrayRef<int64_t> sizes = gemm.spec().outer;
  gemm.outer.resize(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    gemm.outer[i] = i == 0 ? rest : e.rem(rest, sizes[i]);
    rest = e.div(rest, sizes[i]);
  }
}

/// Points to the elements of the tile's outer dims.
static void shiftSides(DeviceGemm &gemm) {
  DeviceEmitter &e = gemm.e;
  auto shift = [&](Value &pointer, const GemmOperand &operand) {
    int64_t bytes = operand.element.getIntOrFloatBitWidth() / 8;
    for (auto [index, stride] : llvm::zip_equal(gemm.outer, operand.outer))
      if (pointer && stride != 0)
        pointer = e.shifted(pointer, e.mul(e.wide(index), stride * bytes));
  };
  shift(gemm.a, gemm.spec().a);
  shift(gemm.b, gemm.spec().b);
}

/// The generator of a plan's loops.
using GemmEmitter =
    llvm::function_ref<void(DeviceGemm &gemm, DeviceKernel &device)>;

static void emitGeneralGemm(DeviceGemm &gemm, DeviceKernel &) {
  placeTile(gemm, gemm.e.block(0));
  shiftSides(gemm);
  switch (gemm.plan.kind) {
  case DeviceGemmPlan::tensorCore:
    return emitTensorCoreGemm(gemm);
  case DeviceGemmPlan::vectorUnit:
    return emitVectorUnitGemm(gemm);
  case DeviceGemmPlan::rows:
    return emitRowsGemm(gemm);
  }
}

namespace {
class GpuLowerGemmKernels
    : public tsp::impl::GpuLowerGemmKernelsBase<GpuLowerGemmKernels> {
public:
  using GpuLowerGemmKernelsBase::GpuLowerGemmKernelsBase;

  void runOnOperation() override {
    std::optional<TargetDescription> target = findTarget();
    if (!target)
      return signalPassFailure();
    for (func::FuncOp function : getTensorKernels(getOperation())) {
      std::optional<GemmKernel> kernel =
          matchGemmKernel(function, /*takesBytes=*/true);
      if (!kernel)
        continue;
      for (const TargetDescription *special : warpgroupTargets())
        if (failed(lowerVariant(function, *kernel, *special)))
          return signalPassFailure();
      for (const TargetDescription *special : fp8Targets(*target))
        if (failed(lowerFp8Variant(function, *kernel, *special)))
          return signalPassFailure();
      std::optional<DeviceGemmPlan> plan =
          planDeviceGemm(*kernel, widestResult(function), *target);
      if (!plan)
        continue;
      if (failed(lower(function, *kernel, *plan, emitGeneralGemm)))
        return signalPassFailure();
      ++numKernels;
    }
  }

private:
  /// The first architecture, with no more than all have.
  std::optional<TargetDescription> findTarget() {
    std::vector<std::string> names(architectures.begin(), architectures.end());
    if (names.empty())
      names.push_back("sm_80");
    std::optional<TargetDescription> result;
    for (const std::string &name : names) {
      const TargetDescription *target = findTargetDescription(name);
      if (!target) {
        getOperation().emitError("architectures: expected some of ")
            << listTargetNames() << ", found '" << name << "'";
        return std::nullopt;
      }
      if (!result)
        result = *target;
      result->sharedPerBlock =
          std::min(result->sharedPerBlock, target->sharedPerBlock);
      result->hasFp8Mma &= target->hasFp8Mma;
    }
    return result;
  }

  /// Architectures for which there are variants.
  SmallVector<const TargetDescription *> warpgroupTargets() {
    SmallVector<const TargetDescription *> targets;
    for (const std::string &name : architectures)
      if (const TargetDescription *target = findTargetDescription(name);
          target->hasWgmma)
        targets.push_back(target);
    return targets;
  }

  /// Architectures that multiply f8 where `general` does not.
  SmallVector<const TargetDescription *>
  fp8Targets(const TargetDescription &general) {
    SmallVector<const TargetDescription *> targets;
    for (const std::string &name : architectures)
      if (const TargetDescription *target = findTargetDescription(name);
          target->hasFp8Mma && !general.hasFp8Mma)
        targets.push_back(target);
    return targets;
  }

  static int64_t widestResult(func::FuncOp function) {
    int64_t bytes = 1;
    for (Type type : function.getResultTypes()) {
      Type stored = getStorageType(getElementTypeOrSelf(type));
      bytes = std::max<int64_t>(bytes, stored.getIntOrFloatBitWidth() / 8);
    }
    return bytes;
  }

  /// The variant for an architecture with warpgroups, if they can do it.
  static LogicalResult lowerVariant(func::FuncOp function,
                                    const GemmKernel &kernel,
                                    const TargetDescription &target) {
    std::string reason;
    std::optional<WarpgroupGemmPlan> plan =
        planWarpgroupGemm(kernel, widestResult(function), target, reason);
    if (!plan) {
      if (!reason.empty())
        function->setAttr(kDeviceNoVariantAttr,
                          StringAttr::get(function.getContext(), reason));
      return success();
    }
    func::FuncOp variant = startVariant(function, target);
    std::optional<GemmKernel> same = matchGemmKernel(variant);
    return lower(
        variant, *same, *plan,
        [&](DeviceGemm &gemm, DeviceKernel &device) {
          WarpgroupMaps maps;
          maps.a = addTensorMap(device, plan->sideA.map);
          maps.b = addTensorMap(device, plan->sideB.map);
          if (plan->result)
            maps.result = addTensorMap(device, *plan->result);
          emitWarpgroupGemm(gemm, *plan, maps);
        },
        plan->cluster);
  }

  /// The variant for an architecture that multiplies f8, if the kernel does.
  static LogicalResult lowerFp8Variant(func::FuncOp function,
                                       const GemmKernel &kernel,
                                       const TargetDescription &target) {
    std::optional<DeviceGemmPlan> plan =
        planDeviceGemm(kernel, widestResult(function), target);
    if (!plan || !plan->multipliesF8())
      return success();
    func::FuncOp variant = startVariant(function, target);
    std::optional<GemmKernel> same = matchGemmKernel(variant);
    return lower(variant, *same, *plan, emitGeneralGemm);
  }

  static LogicalResult lower(func::FuncOp function, const GemmKernel &kernel,
                             const DeviceGemmPlan &plan, GemmEmitter emit,
                             int64_t cluster = 1) {
    Region tensorBody;
    DeviceKernel device = startDeviceForm(function, tensorBody);
    Block *block = &device.function.getBody().front();
    GemmResults results(kernel, tensorBody.front(), device.inputs,
                        device.outputs, block);
    OpBuilder builder = OpBuilder::atBlockEnd(block);
    DeviceEmitter e(builder, kernel.dot->getLoc());
    DeviceGemm gemm{e,       kernel, plan, results, {}, {}, nullptr,
                    nullptr, {},     {},   {},      {}, {}, {}};
    const DotProduct &product = kernel.product;
    if (kernel.a)
      gemm.a =
          e.pointer(device.inputs[kernel.a.getArgNumber()], product.offsetA);
    if (kernel.b)
      gemm.b =
          e.pointer(device.inputs[kernel.b.getArgNumber()], product.offsetB);
    std::optional<DevicePrologue> computeA, computeB;
    auto prologue = [&](const GemmOperand &operand,
                        std::optional<DevicePrologue> &prologue) {
      return &prologue.emplace(kernel, operand, tensorBody.front(),
                               device.inputs, block);
    };
    if (!kernel.a)
      gemm.computeA = prologue(product.spec.a, computeA);
    if (!kernel.b)
      gemm.computeB = prologue(product.spec.b, computeB);
    gemm.output = e.pointer(device.outputs.front());
    gemm.shared = gemm.staging = e.sharedMemory();
    emit(gemm, device);
    tensorBody.dropAllReferences();
    DeviceLaunch launch;
    launch.grid = {plan.grid, 1, 1};
    if (plan.tiles > plan.grid)
      launch.tiles = plan.tiles;
    launch.block = {plan.threads, 1, 1};
    launch.cluster = {cluster, 1, 1};
    launch.sharedBytes = plan.sharedBytes;
    finishDeviceForm(function, device, launch);
    return failure(results.failed() || (computeA && computeA->failed()) ||
                   (computeB && computeB->failed()));
  }
};
} // namespace
