//===- FinalizeKernels.cpp - kernels on buffers to the kernel ABI ---------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/Kernels.h"
#include "tsp/Kernels/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace tsp {
#define GEN_PASS_DEF_FINALIZEKERNELS
#include "tsp/Passes/Kernels.h.inc"
} // namespace tsp

using namespace mlir;

namespace {

/// What the entry function takes over from the kernel that it stands for.
struct KernelAttributes {
  StringAttr name;
  SmallVector<NamedAttribute> discardable;
};

bool isBufferKernel(func::FuncOp function) {
  return function->hasAttr(tsp::kKernelAttr) &&
         function->hasAttr(tsp::kGridAttr) && !function.isExternal();
}

/// Upstream's conversions to the LLVM dialect, for a module of kernels.
void addConversions(OpPassManager &manager) {
  manager.addPass(createConvertVectorToSCFPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createUBToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions bare;
  bare.useBarePtrCallConv = true;
  manager.addPass(createConvertFuncToLLVMPass(bare));
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
}

class FinalizeKernels
    : public tsp::impl::FinalizeKernelsBase<FinalizeKernels> {
public:
  using FinalizeKernelsBase::FinalizeKernelsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> kernels;
    for (auto function : module.getOps<func::FuncOp>())
      if (isBufferKernel(function))
        kernels.push_back(function);
    if (kernels.empty())
      return;

    // The conversions are passes on modules: they see the kernels alone.
    auto nested = ModuleOp::create(module.getLoc());
    module.push_back(nested);
    SmallVector<KernelAttributes> attributes;
    for (func::FuncOp kernel : kernels) {
      attributes.push_back(takeAttributes(kernel));
      kernel->moveBefore(nested.getBody(), nested.getBody()->end());
    }
    for (auto global : llvm::make_early_inc_range(module.getOps<memref::GlobalOp>()))
      if (global->hasAttr(tsp::kKernelAttr)) {
        global->removeAttr(tsp::kKernelAttr);
        global->moveBefore(nested.getBody(), nested.getBody()->begin());
      }
    OpPassManager conversions(ModuleOp::getOperationName());
    addConversions(conversions);
    if (failed(runPipeline(conversions, nested)))
      return signalPassFailure();

    SymbolTable symbols(nested);
    for (const KernelAttributes &kernel : attributes) {
      auto body = symbols.lookup<LLVM::LLVMFuncOp>(kernel.name);
      finishBody(body);
      makeEntry(body, kernel);
      ++numKernels;
    }
    for (Operation &op : llvm::make_early_inc_range(*nested.getBody()))
      moveToModule(&op, module, nested);
    nested.erase();
  }

private:
  static KernelAttributes takeAttributes(func::FuncOp kernel) {
    KernelAttributes result{kernel.getSymNameAttr(), {}};
    for (NamedAttribute attribute : kernel->getDiscardableAttrs())
      result.discardable.push_back(attribute);
    for (NamedAttribute attribute : result.discardable)
      kernel->removeDiscardableAttr(attribute.getName());
    return result;
  }

  /// Buffers of the body are disjoint; the body stays a function of its own so
  /// that LLVM sees this on the arguments.
  void finishBody(LLVM::LLVMFuncOp body) {
    Builder builder(body.getContext());
    for (unsigned i = 0, e = body.getNumArguments(); i < e; ++i)
      if (isa<LLVM::LLVMPointerType>(body.getArgumentTypes()[i])) {
        body.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        builder.getUnitAttr());
        body.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        builder.getI64IntegerAttr(64));
      }
    body.setPreferVectorWidth(builder.getStringAttr(Twine(vectorBits)));
    body.setLinkage(LLVM::Linkage::Internal);
    body.setNoInline(true);
    body.setVisibility(SymbolTable::Visibility::Private);
    body.setSymName((body.getSymName() + ".body").str());
  }

  static void makeEntry(LLVM::LLVMFuncOp body, const KernelAttributes &kernel) {
    OpBuilder builder(body);
    Location loc = body.getLoc();
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    Type i64 = builder.getI64Type();
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(builder.getContext()),
        {pointer, i64, i64, pointer});
    builder.setInsertionPointAfter(body);
    auto entry = LLVM::LLVMFuncOp::create(builder, loc, kernel.name, type);
    for (NamedAttribute attribute : kernel.discardable)
      entry->setDiscardableAttr(attribute.getName(), attribute.getValue());

    builder.setInsertionPointToStart(entry.addEntryBlock(builder));
    SmallVector<Value> operands;
    unsigned numBuffers = body.getNumArguments() - 3;
    for (unsigned i = 0; i < numBuffers; ++i) {
      Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer,
                                       entry.getArgument(0),
                                       ArrayRef<LLVM::GEPArg>{int32_t(i)});
      operands.push_back(LLVM::LoadOp::create(builder, loc, pointer, slot));
    }
    llvm::append_range(operands, entry.getArguments().drop_front());
    LLVM::CallOp::create(builder, loc, body, operands);
    LLVM::ReturnOp::create(builder, loc, ValueRange{});
  }

  /// Kernels go back; of what the conversions declared (libm), one of each.
  static void moveToModule(Operation *op, ModuleOp module, ModuleOp nested) {
    auto symbol = dyn_cast<SymbolOpInterface>(op);
    Operation *known = symbol ? SymbolTable::lookupSymbolIn(module, symbol.getNameAttr())
                              : nullptr;
    if (known && isa<FunctionOpInterface>(op) &&
        cast<FunctionOpInterface>(op).isExternal()) {
      op->erase();
      return;
    }
    op->moveBefore(nested);
  }
};

} // namespace
