//===- BuffersToLLVM.cpp - entries on buffers to calls of the runtime -----===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeCalls.h"
#include "tsp/Host/BufferPlan.h"
#include "tsp/Host/Host.h"
#include "tsp/Host/ModelDescription.h"
#include "tsp/Kernels/GPU/DeviceForm.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectResourceBlobManager.h"

namespace tsp {
#define GEN_PASS_DEF_BUFFERSTOLLVM
#include "tsp/Passes/Host.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

//===----------------------------------------------------------------------===//
// Memrefs are plain pointers
//===----------------------------------------------------------------------===//

namespace {
struct ViewPattern : OpConversionPattern<memref::ViewOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(memref::ViewOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::GEPOp>(
        op, LLVM::LLVMPointerType::get(getContext()), rewriter.getI8Type(), adaptor.getSource(),
        ArrayRef<LLVM::GEPArg>{adaptor.getByteShift()});
    return success();
  }
};

struct ReinterpretPattern : OpConversionPattern<memref::ReinterpretCastOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(memref::ReinterpretCastOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, adaptor.getSource());
    return success();
  }
};
} // namespace

/// The bytes of a constant as kernels read them: i1, i4 and ui4 take a byte.
static LogicalResult getConstantBytes(memref::GlobalOp global, std::string &bytes) {
  Attribute value = *global.getInitialValue();
  auto type = cast<ShapedType>(global.getType());
  int64_t size = getElementBytes(type.getElementType());
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || (int64_t)blob->getData().size() != getBytes(type))
      return global.emitError("expected a resource of ")
             << getBytes(type) << " bytes, found "
             << (blob ? (int64_t)blob->getData().size() : 0);
    bytes.assign(blob->getData().data(), blob->getData().size());
    return success();
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense)
    return global.emitError("expected a dense constant, found ") << value;
  bytes.reserve(getBytes(type));
  auto add = [&](APInt element) {
    uint64_t word = element.getZExtValue();
    bytes.append(reinterpret_cast<const char *>(&word), size);
  };
  if (isa<FloatType>(type.getElementType()))
    for (APFloat element : dense.getValues<APFloat>())
      add(element.bitcastToAPInt());
  else
    for (APInt element : dense.getValues<APInt>())
      add(element);
  return success();
}

/// Turns memref.global into a constant array of bytes.
static LogicalResult lowerGlobals(ModuleOp module) {
  for (auto global : llvm::make_early_inc_range(module.getOps<memref::GlobalOp>())) {
    std::string bytes;
    if (failed(getConstantBytes(global, bytes)))
      return failure();
    OpBuilder builder(global);
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
    LLVM::GlobalOp::create(builder, global.getLoc(), type, /*isConstant=*/true,
                           LLVM::Linkage::Internal, global.getSymName(),
                           builder.getStringAttr(bytes), bufferAlign);
    global.erase();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// Moves the body into `void tsp_entry_<name>(rank, args, results, arena)`; the
/// memrefs become loaded pointers.
static LLVM::LLVMFuncOp makeEntry(func::FuncOp entry) {
  OpBuilder builder(entry);
  Location loc = entry.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(entry.getContext());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(entry.getContext()),
                                          {pointer, pointer, pointer, pointer});
  auto function = LLVM::LLVMFuncOp::create(builder, loc,
                                           (abi::entryPrefix + entry.getName()).str(), type);
  function->setAttr("tsp.plan", entry->getAttr("tsp.plan"));
  unsigned numInputs = entry->getAttrOfType<IntegerAttr>("tsp.entry").getInt();
  function.getBody().takeBody(entry.getBody());
  Block &block = function.getBody().front();
  unsigned count = block.getNumArguments();
  for (unsigned i = 0; i < 4; ++i)
    block.insertArgument(i, pointer, loc);
  builder.setInsertionPointToStart(&block);

  // One array takes the arguments of every launch.
  int64_t most = 1;
  function.walk([&](BufferLaunchOp launch) {
    most = std::max<int64_t>(most, launch->getNumOperands());
  });
  Value size = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                        builder.getI64IntegerAttr(most));
  LLVM::AllocaOp::create(builder, loc, pointer, pointer, size, /*alignment=*/8);

  for (unsigned i = 0; i < count; ++i) {
    BlockArgument old = block.getArgument(4 + i);
    Value address = block.getArgument(3);
    if (i + 1 < count) {
      bool isInput = i < numInputs;
      Value slot = LLVM::GEPOp::create(
          builder, loc, pointer, pointer, block.getArgument(isInput ? 1 : 2),
          ArrayRef<LLVM::GEPArg>{int32_t(isInput ? i : i - numInputs)});
      address = LLVM::LoadOp::create(builder, loc, pointer, slot);
    }
    Value memref = UnrealizedConversionCastOp::create(builder, loc, old.getType(), address)
                       .getResult(0);
    old.replaceAllUsesWith(memref);
  }
  block.eraseArguments(4, count);
  function.walk([](func::ReturnOp end) {
    OpBuilder atEnd(end);
    LLVM::ReturnOp::create(atEnd, end.getLoc(), ValueRange());
    end.erase();
  });
  entry.erase();
  return function;
}

/// `const tsp_entry_point tsp_entry_table[]`, ended by {null, null}.
static void makeTable(ModuleOp module, ArrayRef<LLVM::LLVMFuncOp> entries) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Location loc = module.getLoc();
  MLIRContext *context = module.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto point = LLVM::LLVMStructType::getLiteral(context, {pointer, pointer});
  auto type = LLVM::LLVMArrayType::get(point, entries.size() + 1);
  for (LLVM::LLVMFuncOp entry : entries)
    makeText(builder, loc, getTextName(entry.getName()), entry.getName());
  auto table = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true,
                                      LLVM::Linkage::External, abi::entryTable, Attribute());
  builder.createBlock(&table.getInitializerRegion());
  Value value = LLVM::ZeroOp::create(builder, loc, type);
  for (unsigned i = 0; i < entries.size(); ++i) {
    LLVM::LLVMFuncOp entry = entries[i];
    Value name = LLVM::AddressOfOp::create(builder, loc, pointer, getTextName(entry.getName()));
    Value address = LLVM::AddressOfOp::create(builder, loc, pointer, entry.getName());
    value = LLVM::InsertValueOp::create(builder, loc, value, name, ArrayRef<int64_t>{i, 0});
    value = LLVM::InsertValueOp::create(builder, loc, value, address,
                                        ArrayRef<int64_t>{i, 1});
  }
  LLVM::ReturnOp::create(builder, loc, value);
}

namespace {
struct BuffersToLLVM : tsp::impl::BuffersToLLVMBase<BuffersToLLVM> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    MLIRContext *context = &getContext();
    SmallVector<func::FuncOp> entries;
    for (auto function : module.getOps<func::FuncOp>())
      if (function->hasAttr("tsp.entry"))
        entries.push_back(function);
    Builder attributes(context);
    if (device)
      module->setAttr(kDeviceConstantsAttr,
                      attributes.getI64IntegerAttr(tsp::getConstantBytes(module)));
    if (failed(checkKernels(module)) || failed(lowerGlobals(module)))
      return signalPassFailure();

    SmallVector<Attribute> descriptions;
    SmallVector<LLVM::LLVMFuncOp> functions;
    for (func::FuncOp entry : entries) {
      descriptions.push_back(attributes.getStringAttr(describeEntry(entry)));
      functions.push_back(makeEntry(entry));
    }
    module->setAttr("tsp.entries", attributes.getArrayAttr(descriptions));

    LowerToLLVMOptions options(context);
    LLVMTypeConverter converter(context, options);
    converter.addConversion([&](MemRefType) -> Type { return LLVM::LLVMPointerType::get(context); });
    RewritePatternSet patterns(context);
    patterns.add<ViewPattern, ReinterpretPattern>(converter, context);
    declareRuntime(module);
    makeKernelNames(module);
    if (device)
      makeDeviceKernels(module);
    populateRuntimeCallPatterns(converter, patterns, getRankMesh(module),
                                device ? abi::spaceDevice : abi::spaceHost);
    populateSCFToControlFlowConversionPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    ConversionTarget target(*context);
    target.addLegalDialect<LLVM::LLVMDialect>();
    target.addLegalOp<UnrealizedConversionCastOp>();
    target.addIllegalDialect<scf::SCFDialect, cf::ControlFlowDialect, arith::ArithDialect,
                             memref::MemRefDialect, TspDialect>();
    FrozenRewritePatternSet frozen(std::move(patterns));
    for (LLVM::LLVMFuncOp function : functions) {
      if (failed(applyPartialConversion(function, target, frozen)))
        return signalPassFailure();
      SmallVector<UnrealizedConversionCastOp> casts;
      function.walk([&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
      reconcileUnrealizedCasts(casts);
    }
    makeTable(module, functions);
    if (device)
      dropDeviceKernels(module);
  }

  /// All that is left of them are the launches' descriptions.
  void dropDeviceKernels(ModuleOp module) {
    int64_t workspace = 0;
    for (auto kernel : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (isDeviceKernel(kernel)) {
        workspace = std::max(workspace, getDeviceLaunch(kernel).workspaceBytes);
        kernel.erase();
      }
    module->setAttr(kDeviceWorkspaceAttr, Builder(module).getI64IntegerAttr(workspace));
  }

  /// Launches need what kernel codegen has found out.
  LogicalResult checkKernels(ModuleOp module) {
    SymbolTable symbols(module);
    WalkResult result = module.walk([&](BufferLaunchOp launch) {
      if (device) {
        auto kernel = symbols.lookup<func::FuncOp>(launch.getKernel());
        if (kernel && isDeviceKernel(kernel))
          return WalkResult::advance();
        launch.emitOpError("expected kernel ") << launch.getKernelAttr() << " in device form";
        return WalkResult::interrupt();
      }
      auto kernel = symbols.lookup<LLVM::LLVMFuncOp>(launch.getKernel());
      if (kernel && kernel->getAttrOfType<IntegerAttr>("tsp.grid") &&
          kernel->getAttrOfType<IntegerAttr>("tsp.scratch"))
        return WalkResult::advance();
      launch.emitOpError("expected kernel ")
          << launch.getKernelAttr() << " as an LLVM function with tsp.grid and tsp.scratch, found "
          << (kernel ? "one without these" : "none");
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }
};
} // namespace
