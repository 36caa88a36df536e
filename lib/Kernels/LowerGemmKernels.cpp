//===- LowerGemmKernels.cpp - kernels that are a matrix product -----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmEpilogue.h"
#include "GemmFromDot.h"
#include "tsp/Kernels/Kernels.h"
#include "tsp/Kernels/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
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
  SmallVector<StridedDim> dims; ///< of the dot in the result's buffer
};

/// Follows the result of a kernel up to its dot_general.
std::optional<ResultChain> followResult(Value result,
                                        stablehlo::DotGeneralOp dot) {
  auto type = cast<RankedTensorType>(result.getType());
  ResultChain chain{{}, rowMajorDims(type.getShape())};
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
      SmallVector<StridedDim> dims(shape.size());
      for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
        dims[dim] = chain.dims[i];
      chain.dims = dims;
    } else {
      auto dims = reshapeDims(chain.dims, shape);
      if (!dims)
        return std::nullopt;
      chain.dims = *dims;
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
    SmallVector<func::FuncOp> kernels;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isTensorKernel(function))
        kernels.push_back(function);
    for (func::FuncOp kernel : kernels) {
      bool failed = false;
      if (lower(kernel, failed))
        ++numKernels;
      if (failed)
        return signalPassFailure();
    }
  }

private:
  /// Rewrites a kernel that is one product; leaves others as they are.
  bool lower(func::FuncOp kernel, bool &failed) {
    if (!llvm::hasSingleElement(kernel.getBody()))
      return false;
    Block &body = kernel.getBody().front();
    auto dots = body.getOps<stablehlo::DotGeneralOp>();
    if (!llvm::hasSingleElement(dots))
      return false;
    stablehlo::DotGeneralOp dot = *dots.begin();
    for (Type type : {dot.getLhs().getType(), dot.getRhs().getType(),
                      dot.getResult().getType()}) {
      auto ranked = cast<RankedTensorType>(type);
      if (!ranked.hasStaticShape() || ranked.getNumElements() == 0)
        return false;
    }
    Type compute = dotComputeType(dot);
    if (!compute)
      return false;

    SmallVector<Value> results(body.getTerminator()->getOperands());
    std::optional<ResultChain> chain;
    if (results.size() == 1)
      chain = followResult(results.front(), dot);
    if (!chain && !isEpilogue(results, dot))
      return false;
    DotProduct product =
        takeApart(dot, compute,
                  chain ? chain->dims : rowMajorDims(dot.getType().getShape()));
    auto a = dyn_cast<BlockArgument>(product.baseA);
    auto b = dyn_cast<BlockArgument>(product.baseB);
    if (!a || !b)
      return false;

    VectorTarget target;
    target.bytes = vectorBits / 8;
    target.registers = vectorBits >= 512 ? 32 : 16;
    Region tensorBody;
    KernelBuffers buffers = startBufferForm(kernel, tensorBody);
    Block *block = &kernel.getBody().front();
    OpBuilder builder = OpBuilder::atBlockEnd(block);
    VectorEmitter e(builder, dot.getLoc());
    auto buffer = [&](BlockArgument argument, int64_t offset) {
      Value flat = e.flat(buffers.inputs[argument.getArgNumber()]);
      return offset ? e.shifted(flat, offset) : flat;
    };
    product.spec.a.flat = buffer(a, product.offsetA);
    product.spec.b.flat = buffer(b, product.offsetB);
    GemmPlan plan = planGemm(product.spec, target);
    GemmStore store;
    Value output = e.flat(buffers.outputs.front());
    std::optional<GemmEpilogue> epilogue;
    if (chain)
      store = [&](VectorEmitter &e, const GemmRow &row) {
        storeRow(e, row, product, *chain, plan.lanes, output);
      };
    else
      store = epilogue
                  .emplace(dot, product, tensorBody.front(), buffers, block,
                           plan.lanes)
                  .getStore();
    emitGemm(e, product.spec, plan, buffers.begin, buffers.end, buffers.scratch,
             store);
    failed = epilogue && epilogue->failed();
    tensorBody.dropAllReferences();
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
