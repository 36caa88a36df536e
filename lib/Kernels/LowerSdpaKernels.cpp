//===- LowerSdpaKernels.cpp - kernels that are an attention core ----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Kernels/Kernels.h"
#include "tsp/Kernels/Passes.h"
#include "tsp/Kernels/Sdpa.h"

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

/// Which dim of a tensor is what, in the order of SdpaTensor; -1: none.
struct DimRoles {
  int64_t batch, row, head, last;
};

class LowerSdpaKernels
    : public tsp::impl::LowerSdpaKernelsBase<LowerSdpaKernels> {
public:
  using LowerSdpaKernelsBase::LowerSdpaKernelsBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!isTensorKernel(function) ||
          !llvm::hasSingleElement(function.getBody()))
        continue;
      auto cores = function.getBody().front().getOps<SdpaOp>();
      if (cores.empty())
        continue;
      if (failed(lower(function, *cores.begin())))
        return signalPassFailure();
      ++numKernels;
    }
  }

private:
  /// All operands are seen through views to arguments, and all results of the
  /// kernel are results of `core`.
  static LogicalResult check(func::FuncOp kernel, SdpaOp core) {
    for (Value operand : core->getOperands()) {
      StridedView view = viewThrough(operand, /*throughWidening=*/false);
      if (!isa<BlockArgument>(view.base))
        return core.emitOpError("operand ")
               << operand
               << " must be an argument of the kernel, or a view of one";
    }
    for (Value mask : {core.getBias(), core.getMask()})
      if (mask && viewThrough(mask, false).strides.back() > 1)
        return core.emitOpError(
            "bias and mask must be contiguous along the keys");
    for (Value result : kernel.getBody().front().getTerminator()->getOperands())
      if (result.getDefiningOp() != core)
        return core.emitOpError("must give all results of its kernel");
    return success();
  }

  LogicalResult lower(func::FuncOp kernel, SdpaOp core) {
    if (failed(check(kernel, core)))
      return failure();
    SmallVector<Value> returned(
        kernel.getBody().front().getTerminator()->getOperands());
    Region tensorBody;
    KernelBuffers buffers = startBufferForm(kernel, tensorBody);
    OpBuilder builder = OpBuilder::atBlockEnd(&kernel.getBody().front());
    VectorEmitter e(builder, core.getLoc());

    SdpaSpec spec;
    auto shape = [](Value value) {
      return cast<RankedTensorType>(value.getType()).getShape();
    };
    spec.batch = shape(core.getQ())[0];
    spec.queries = shape(core.getQ())[1];
    spec.queryHeads = shape(core.getQ())[2];
    spec.width = shape(core.getQ())[3];
    spec.keys = shape(core.getK())[1];
    spec.keyHeads = shape(core.getK())[2];
    spec.valueWidth = shape(core.getV())[3];
    spec.scale = core.getScale().convertToDouble();
    if (auto softcap = core.getSoftcap())
      spec.softcap = softcap->convertToDouble();
    spec.causal = core.getCausal();
    if (auto window = core.getWindow())
      spec.window = int64_t(*window);
    spec.empty = core.getEmpty();
    bool isDouble = getElementTypeOrSelf(core.getQ().getType()).isF64();
    spec.compute = isDouble ? builder.getF64Type() : builder.getF32Type();

    auto input = [&](Value value, DimRoles roles) {
      if (!value)
        return SdpaTensor();
      StridedView view = viewThrough(value, false);
      unsigned number = cast<BlockArgument>(view.base).getArgNumber();
      Value flat = e.flat(buffers.inputs[number]);
      if (view.offset)
        flat = e.shifted(flat, view.offset);
      return strided(flat, value, view.strides, roles);
    };
    spec.q = input(core.getQ(), {0, 1, 2, 3});
    spec.k = input(core.getK(), {0, 1, 2, 3});
    spec.v = input(core.getV(), {0, 1, 2, 3});
    spec.bias = input(core.getBias(), {0, 2, 1, 3});
    spec.mask = input(core.getMask(), {0, 2, 1, 3});
    auto vectorOf = [&](Value value) {
      if (!value)
        return SdpaTensor();
      bool hasBatch = shape(value).size() == 2;
      return input(value, {hasBatch ? 0 : -1, hasBatch ? 1 : 0, -1, -1});
    };
    spec.qPositions = vectorOf(core.getQPositions());
    spec.kPositions = vectorOf(core.getKvPositions());
    spec.qSegments = vectorOf(core.getQSegments());
    spec.kSegments = vectorOf(core.getKvSegments());

    for (auto [value, buffer] : llvm::zip_equal(returned, buffers.outputs)) {
      SdpaTensor &result = value == core.getO() ? spec.o : spec.lse;
      result = strided(e.flat(buffer), value, rowMajorStrides(shape(value)),
                       {0, 1, 2, value == core.getO() ? 3 : -1});
    }

    VectorTarget target;
    target.bytes = vectorBits / 8;
    target.registers = vectorBits >= 512 ? 32 : 16;
    SdpaPlan plan = planSdpa(spec, target);
    int64_t scratch =
        emitSdpa(e, spec, plan, buffers.begin, buffers.end, buffers.scratch);
    finishBufferForm(kernel, plan.grid, scratch);
    return success();
  }

  static SdpaTensor strided(Value flat, Value tensor, ArrayRef<int64_t> strides,
                            DimRoles roles) {
    auto type = cast<RankedTensorType>(tensor.getType());
    SdpaTensor result;
    result.flat = flat;
    result.element = type.getElementType();
    // A dim of size 1 is repeated.
    auto stride = [&](int64_t dim) {
      return dim < 0 || type.getDimSize(dim) == 1 ? 0 : strides[dim];
    };
    result.batch = stride(roles.batch);
    result.row = stride(roles.row);
    result.head = stride(roles.head);
    result.last = roles.last < 0 ? 0 : strides[roles.last];
    return result;
  }
};

} // namespace
