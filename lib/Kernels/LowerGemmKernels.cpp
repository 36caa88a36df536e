//===- LowerGemmKernels.cpp - kernels that are a matrix product -----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmPrologue.h"
#include "GemmResults.h"
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

class LowerGemmKernels
    : public tsp::impl::LowerGemmKernelsBase<LowerGemmKernels> {
public:
  using LowerGemmKernelsBase::LowerGemmKernelsBase;

  void runOnOperation() override {
    for (func::FuncOp kernel : getTensorKernels(getOperation())) {
      bool failed = false;
      if (lower(kernel, failed))
        ++numKernels;
      if (failed)
        return signalPassFailure();
    }
  }

private:
  /// Rewrites a kernel that is one product; leaves others as they are.
  bool lower(func::FuncOp function, bool &failed) {
    std::optional<GemmKernel> kernel = matchGemmKernel(function);
    if (!kernel)
      return false;
    DotProduct &product = kernel->product;

    VectorTarget target;
    target.bytes = vectorBits / 8;
    target.registers = vectorBits >= 512 ? 32 : 16;
    Region tensorBody;
    KernelBuffers buffers = startBufferForm(function, tensorBody);
    Block *block = &function.getBody().front();
    OpBuilder builder = OpBuilder::atBlockEnd(block);
    VectorEmitter e(builder, kernel->dot.getLoc());
    std::unique_ptr<GemmPrologue> prologues[2];
    auto setSource = [&](GemmOperand &operand, BlockArgument argument,
                         int64_t offset,
                         std::unique_ptr<GemmPrologue> &prologue) {
      if (argument) {
        Value flat = e.flat(buffers.inputs[argument.getArgNumber()]);
        operand.flat = offset ? e.shifted(flat, offset) : flat;
        return;
      }
      prologue = std::make_unique<GemmPrologue>(
          *kernel, operand, tensorBody.front(), buffers.inputs, block);
      operand.run = prologue->findRun();
      operand.compute = [&prologue](OpBuilder &at, const GemmPlace &place) {
        return prologue->emit(at, place, /*alongK=*/false, 1).front();
      };
    };
    setSource(product.spec.a, kernel->a, product.offsetA, prologues[0]);
    setSource(product.spec.b, kernel->b, product.offsetB, prologues[1]);
    GemmPlan plan = planGemm(product.spec, target);
    GemmResults results(*kernel, tensorBody.front(), buffers.inputs,
                        buffers.outputs, block);
    Value output = e.flat(buffers.outputs.front());
    GemmStore store = [&](VectorEmitter &e, const GemmRow &row) {
      if (kernel->roundings)
        storeRow(e, row, *kernel, plan.lanes, output);
      else
        storeElements(e, row, plan.lanes, results);
    };
    emitGemm(e, product.spec, plan, buffers.begin, buffers.end, buffers.scratch,
             store);
    failed = results.failed() ||
             llvm::any_of(prologues, [](const auto &prologue) {
               return prologue && prologue->failed();
             });
    tensorBody.dropAllReferences();
    finishBufferForm(function, plan.grid, plan.scratchBytes);
    return true;
  }

  /// An epilogue, element by element, in loops that LLVM vectorises.
  static void storeElements(VectorEmitter &e, const GemmRow &row, int64_t lanes,
                            GemmResults &results) {
    Value count = row.count ? row.count : e.index(row.width);
    e.elementLoop(e.index(0), count, lanes, [&](Value x) {
      Value sum = e.load(row.sums, e.add(row.at, x));
      results.store(e.b, {row.outer, row.m, e.add(row.n, x)}, sum);
    });
  }

  static void storeRow(VectorEmitter &e, const GemmRow &row,
                       const GemmKernel &kernel, int64_t lanes, Value output) {
    const DotProduct &product = kernel.product;
    Value at = e.offset(e.index(0), row.outer, product.outerStrides);
    at = e.add(at, e.mul(row.m, product.mStride));
    at = e.add(at, e.mul(row.n, product.nStride));
    auto round = [&](Value value) {
      for (Type type : *kernel.roundings) {
        if (type != kernel.roundings->back())
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
