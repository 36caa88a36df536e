//===- LowerGemmKernels.cpp - kernels that are a matrix product -----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmFromDot.h"
#include "tsp/Kernels/Kernels.h"
#include "tsp/Kernels/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace tsp {
#define GEN_PASS_DEF_LOWERGEMMKERNELS
#include "tsp/Passes/Kernels.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

namespace {

/// What happens to a product on its way to the kernel's result: element types
/// it is rounded to, and where its dims end up.
struct ResultChain {
  SmallVector<Type> types;
  SmallVector<int64_t> strides; ///< of the dot's dims in the result's buffer
};

/// Follows the result of a kernel up to its dot_general.
std::optional<ResultChain> followResult(Value result,
                                        stablehlo::DotGeneralOp dot) {
  auto type = cast<RankedTensorType>(result.getType());
  ResultChain chain{{}, rowMajorStrides(type.getShape())};
  while (result.getDefiningOp() != dot) {
    Operation *op = result.getDefiningOp();
    if (!isa_and_nonnull<stablehlo::ConvertOp, stablehlo::TransposeOp,
                         stablehlo::ReshapeOp>(op))
      return std::nullopt;
    Value operand = op->getOperand(0);
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(operand.getType()).getShape();
    if (isa<stablehlo::ConvertOp>(op)) {
      chain.types.push_back(getElementTypeOrSelf(result.getType()));
    } else if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
      SmallVector<int64_t> strides(shape.size());
      for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
        strides[dim] = chain.strides[i];
      chain.strides = strides;
    } else {
      auto strides =
          reshapeStrides(cast<RankedTensorType>(result.getType()).getShape(),
                         chain.strides, shape);
      if (!strides)
        return std::nullopt;
      chain.strides = *strides;
    }
    result = operand;
  }
  chain.types.push_back(getElementTypeOrSelf(result.getType()));
  std::reverse(chain.types.begin(), chain.types.end());
  for (Type t : chain.types)
    if (!t.isF64() && !t.isF32() && !t.isF16() && !t.isBF16())
      return std::nullopt;
  return chain;
}

class LowerGemmKernels
    : public tsp::impl::LowerGemmKernelsBase<LowerGemmKernels> {
public:
  using LowerGemmKernelsBase::LowerGemmKernelsBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isTensorKernel(function) && lower(function))
        ++numKernels;
  }

private:
  /// Rewrites a kernel that is one product; leaves others as they are.
  bool lower(func::FuncOp kernel) {
    if (!llvm::hasSingleElement(kernel.getBody()))
      return false;
    Block &body = kernel.getBody().front();
    auto dots = body.getOps<stablehlo::DotGeneralOp>();
    if (!llvm::hasSingleElement(dots) ||
        body.getTerminator()->getNumOperands() != 1)
      return false;
    stablehlo::DotGeneralOp dot = *dots.begin();
    for (Type type : {dot.getLhs().getType(), dot.getRhs().getType(),
                      dot.getResult().getType()}) {
      auto ranked = cast<RankedTensorType>(type);
      if (!ranked.hasStaticShape() || ranked.getNumElements() == 0)
        return false;
    }
    Type compute = dotComputeType(dot);
    auto chain = followResult(body.getTerminator()->getOperand(0), dot);
    if (!compute || !chain)
      return false;
    DotProduct product = takeApart(dot, compute, chain->strides);
    auto a = dyn_cast<BlockArgument>(product.baseA);
    auto b = dyn_cast<BlockArgument>(product.baseB);
    if (!a || !b)
      return false;

    VectorTarget target;
    target.bytes = vectorBits / 8;
    target.registers = vectorBits >= 512 ? 32 : 16;
    Region tensorBody;
    KernelBuffers buffers = startBufferForm(kernel, tensorBody);
    OpBuilder builder = OpBuilder::atBlockEnd(&kernel.getBody().front());
    VectorEmitter e(builder, dot.getLoc());
    auto buffer = [&](BlockArgument argument, int64_t offset) {
      Value flat = e.flat(buffers.inputs[argument.getArgNumber()]);
      return offset ? e.shifted(flat, offset) : flat;
    };
    product.spec.a.flat = buffer(a, product.offsetA);
    product.spec.b.flat = buffer(b, product.offsetB);
    Value output = e.flat(buffers.outputs.front());
    GemmPlan plan = planGemm(product.spec, target);
    emitGemm(e, product.spec, plan, buffers.begin, buffers.end, buffers.scratch,
             [&](VectorEmitter &e, const GemmRow &row) {
               storeRow(e, row, product, *chain, plan.lanes, output);
             });
    finishBufferForm(kernel, plan.grid, plan.scratchBytes);
    return true;
  }

  static void storeRow(VectorEmitter &e, const GemmRow &row,
                       const DotProduct &product, const ResultChain &chain,
                       int64_t lanes, Value output) {
    Value at = e.offset(e.index(0), row.outer, product.outerStrides);
    at = e.add(at, e.mul(row.m, product.mStride));
    at = e.add(at, e.mul(row.n, product.nStride));
    auto round = [&](Value value) {
      for (Type type : chain.types) {
        if (type != chain.types.back())
          value = e.widen(e.narrow(value, type), type, product.spec.compute);
        else
          value = e.narrow(value, type);
      }
      return value;
    };
    if (product.nStride == 1) {
      e.loop(0, row.width, lanes, [&](Value x) {
        Value mask = row.count ? e.mask(e.sub(row.count, x), lanes) : Value();
        Value sum = e.loadVector(row.sums, e.add(row.at, x), lanes);
        e.storeVector(round(sum), output, e.add(at, x), mask);
      });
      return;
    }
    e.loop(e.index(0), row.count ? row.count : e.index(row.width), 1,
           [&](Value x) {
             Value sum = e.load(row.sums, e.add(row.at, x));
             e.store(round(sum), output, e.add(at, e.mul(x, product.nStride)));
           });
  }
};

} // namespace
