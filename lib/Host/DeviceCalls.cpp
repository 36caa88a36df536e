//===- DeviceCalls.cpp - launches and scalars on a device -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What differs from the host target: kernels are launched by name with their
// grid, and the host program does not touch buffers itself.
//
//===----------------------------------------------------------------------===//

#include "CallPattern.h"
#include "tsp/Host/HostLiveness.h"
#include "tsp/Kernels/GPU/DeviceForm.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tsp;

static std::string getKernelGlobal(StringRef kernel) {
  return ("tsp_kernel_" + kernel).str();
}

static std::string getMapsGlobal(StringRef kernel) {
  return ("tsp_maps_" + kernel).str();
}

/// Constant data, whose initializer `fill` writes: it returns the value.
static void makeConstant(OpBuilder &builder, Location loc, StringRef name,
                         Type type, llvm::function_ref<Value()> fill) {
  auto global =
      LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true,
                             LLVM::Linkage::Internal, name, Attribute());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&global.getInitializerRegion());
  LLVM::ReturnOp::create(builder, loc, fill());
}

/// const tsp_tensor_map[], which are numbers only.
static void makeTensorMaps(OpBuilder &builder, func::FuncOp kernel) {
  SmallVector<int64_t> numbers;
  auto add = [&](ArrayRef<int64_t> values, size_t length) {
    llvm::append_range(numbers, values);
    numbers.append(length - values.size(), 0);
  };
  for (const DeviceTensorMap &map : getTensorMaps(kernel)) {
    llvm::append_range(numbers,
                       ArrayRef<int64_t>{int64_t(map.buffer), map.offset,
                                         *getTensorMapElement(map.element),
                                         int64_t(map.sizes.size())});
    add(map.sizes, 5);
    add(map.strides, 4);
    add(map.box, 5);
    numbers.push_back(map.swizzle);
  }
  auto type =
      LLVM::LLVMArrayType::get(builder.getI64Type(), int64_t(numbers.size()));
  makeConstant(builder, kernel.getLoc(), getMapsGlobal(kernel.getName()), type,
               [&]() -> Value {
                 return LLVM::ConstantOp::create(
                     builder, kernel.getLoc(), type,
                     builder.getI64TensorAttr(numbers));
               });
}

/// const tsp_device_kernel {name, grid, block, shared_bytes, workspace_bytes,
/// cluster, num_maps, maps, variant}, after what it points to.
static void makeDeviceKernel(OpBuilder &builder, const SymbolTable &symbols,
                             func::FuncOp kernel) {
  MLIRContext *context = builder.getContext();
  Location loc = kernel.getLoc();
  DeviceLaunch launch = getDeviceLaunch(kernel);
  int64_t numMaps = getTensorMaps(kernel).size();
  if (numMaps)
    makeTensorMaps(builder, kernel);
  auto variant = kernel->getAttrOfType<FlatSymbolRefAttr>(kDeviceVariantAttr);
  if (variant) {
    makeText(builder, loc, getTextName(variant.getValue()), variant.getValue());
    makeDeviceKernel(builder, symbols,
                     symbols.lookup<func::FuncOp>(variant.getValue()));
  }
  Type pointer = LLVM::LLVMPointerType::get(context),
       i64 = builder.getI64Type();
  Type sizes = LLVM::LLVMArrayType::get(i64, 3);
  Type type = LLVM::LLVMStructType::getLiteral(
      context, {pointer, sizes, sizes, i64, i64, sizes, i64, pointer, pointer});
  makeConstant(builder, loc, getKernelGlobal(kernel.getName()), type, [&] {
    Value value = LLVM::UndefOp::create(builder, loc, type);
    auto insert = [&](Value part, ArrayRef<int64_t> position) {
      value = LLVM::InsertValueOp::create(builder, loc, value, part, position);
    };
    auto insertNumber = [&](int64_t number, ArrayRef<int64_t> position) {
      insert(LLVM::ConstantOp::create(builder, loc, i64,
                                      builder.getI64IntegerAttr(number)),
             position);
    };
    auto insertAddress = [&](const std::string &symbol, int64_t position) {
      insert(symbol.empty()
                 ? Value(LLVM::ZeroOp::create(builder, loc, pointer))
                 : LLVM::AddressOfOp::create(builder, loc, pointer, symbol),
             {position});
    };
    insertAddress(getTextName(kernel.getName()), 0);
    for (int64_t i = 0; i < 3; ++i) {
      insertNumber(launch.grid[i], {1, i});
      insertNumber(launch.block[i], {2, i});
      insertNumber(launch.cluster[i], {5, i});
    }
    insertNumber(launch.sharedBytes, {3});
    insertNumber(launch.workspaceBytes, {4});
    insertNumber(numMaps, {6});
    insertAddress(numMaps ? getMapsGlobal(kernel.getName()) : "", 7);
    insertAddress(variant ? getKernelGlobal(variant.getValue()) : "", 8);
    return value;
  });
}

void tsp::makeDeviceKernels(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  SymbolTable symbols(module);
  llvm::StringSet<> seen;
  module.walk([&](BufferLaunchOp launch) {
    if (seen.insert(launch.getKernel()).second)
      makeDeviceKernel(builder, symbols,
                       symbols.lookup<func::FuncOp>(launch.getKernel()));
  });
}

namespace {
struct DeviceLaunchPattern : CallPattern<BufferLaunchOp> {
  using CallPattern::CallPattern;
  LogicalResult
  matchAndRewrite(BufferLaunchOp op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    int64_t count = 0;
    Value array = storeArguments(rewriter, op, adaptor, count);
    Value kernel = LLVM::AddressOfOp::create(
        rewriter, loc, LLVM::LLVMPointerType::get(getContext()),
        getKernelGlobal(op.getKernel()));
    call(rewriter, loc, abi::deviceLaunch,
         {rank(op), i32(rewriter, loc, abi::streamCompute), kernel,
          i64(rewriter, loc, count), array});
    rewriter.eraseOp(op);
    return success();
  }
};

/// A number of the host program, by way of the argument array.
struct WritePattern : CallPattern<memref::StoreOp> {
  using CallPattern::CallPattern;
  LogicalResult
  matchAndRewrite(memref::StoreOp op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value place = argumentArray(op);
    LLVM::StoreOp::create(rewriter, loc, adaptor.getValue(), place);
    call(rewriter, loc, abi::write,
         {rank(op), i32(rewriter, loc, space),
          i32(rewriter, loc, abi::streamCompute), adaptor.getMemref(), place,
          i64(rewriter, loc, getElementBytes(op.getValue().getType()))});
    rewriter.eraseOp(op);
    return success();
  }
};

struct ConstantPattern : CallPattern<memref::GetGlobalOp> {
  using CallPattern::CallPattern;
  LogicalResult
  matchAndRewrite(memref::GetGlobalOp op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value data = LLVM::AddressOfOp::create(
        rewriter, loc, LLVM::LLVMPointerType::get(getContext()),
        op.getNameAttr());
    Value bytes = i64(rewriter, loc, getBytes(op.getType()));
    rewriter.replaceOp(
        op, call(rewriter, loc, abi::constant,
                 {rank(op), i32(rewriter, loc, space), data, bytes}));
    return success();
  }
};
} // namespace

void tsp::populateDeviceCallPatterns(const LLVMTypeConverter &converter,
                                     RewritePatternSet &patterns, MeshAttr mesh,
                                     int space) {
  patterns.add<DeviceLaunchPattern, WritePattern, ConstantPattern>(
      converter, patterns.getContext(), mesh, space);
}
