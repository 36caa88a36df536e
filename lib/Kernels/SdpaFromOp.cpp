//===- SdpaFromOp.cpp - what an attention kernel computes -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/SdpaFromOp.h"
#include "tsp/Kernels/Kernels.h"

using namespace mlir;
using namespace tsp;

FailureOr<SdpaOp> tsp::findSdpa(func::FuncOp kernel) {
  if (!isTensorKernel(kernel) || !llvm::hasSingleElement(kernel.getBody()))
    return SdpaOp();
  auto cores = kernel.getBody().front().getOps<SdpaOp>();
  if (cores.empty())
    return SdpaOp();
  SdpaOp core = *cores.begin();
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
  return core;
}

namespace {
/// Which dim of a tensor is what, in the order of SdpaTensor; -1: none.
struct DimRoles {
  int64_t batch, row, head, last;
};
} // namespace

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

SdpaSpec tsp::describeSdpa(SdpaOp core, ValueRange returned,
                           const SdpaBuffers &buffers) {
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
  Builder builder(core.getContext());
  bool isDouble = getElementTypeOrSelf(core.getQ().getType()).isF64();
  spec.compute = isDouble ? Type(builder.getF64Type()) : builder.getF32Type();

  auto input = [&](Value value, DimRoles roles) {
    if (!value)
      return SdpaTensor();
    StridedView view = viewThrough(value, false);
    unsigned number = cast<BlockArgument>(view.base).getArgNumber();
    return strided(buffers.input(number, view.offset), value, view.strides,
                   roles);
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

  for (auto [number, value] : llvm::enumerate(returned)) {
    SdpaTensor &result = value == core.getO() ? spec.o : spec.lse;
    result =
        strided(buffers.output(number), value, rowMajorStrides(shape(value)),
                {0, 1, 2, value == core.getO() ? 3 : -1});
  }
  return spec;
}
