//===- RuntimeCalls.cpp - buffer ops as calls of the runtime --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallPattern.h"
#include "tsp/Host/HostLiveness.h"
#include "tsp/Host/ModelDescription.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tsp;

static Type getType(MLIRContext *context, char letter) {
  switch (letter) {
  case 'v':
    return LLVM::LLVMVoidType::get(context);
  case 'i':
    return IntegerType::get(context, 32);
  case 'l':
    return IntegerType::get(context, 64);
  default:
    return LLVM::LLVMPointerType::get(context);
  }
}

LLVM::LLVMFunctionType tsp::getFunctionType(MLIRContext *context, RuntimeFunction function) {
  StringRef letters = function.signature;
  SmallVector<Type> types;
  for (char letter : letters.drop_front())
    types.push_back(getType(context, letter));
  return LLVM::LLVMFunctionType::get(getType(context, letters.front()), types);
}

void tsp::declareRuntime(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  for (RuntimeFunction function :
       {abi::launch, abi::deviceLaunch, abi::axisIndex, abi::copy, abi::read, abi::write,
        abi::constant, abi::allGather, abi::reduceScatter, abi::allReduce, abi::allToAll,
        abi::broadcast, abi::sendRecv, abi::wait})
    LLVM::LLVMFuncOp::create(builder, module.getLoc(), function.name,
                             getFunctionType(module.getContext(), function));
}

std::string tsp::getTextName(StringRef name) { return ("tsp_name_" + name).str(); }

void tsp::makeText(OpBuilder &builder, Location loc, StringRef symbol, StringRef text) {
  std::string bytes = text.str() + '\0';
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
  LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, symbol,
                         builder.getStringAttr(bytes));
}

void tsp::makeKernelNames(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  llvm::StringSet<> seen;
  module.walk([&](BufferLaunchOp launch) {
    if (seen.insert(launch.getKernel()).second)
      makeText(builder, module.getLoc(), getTextName(launch.getKernel()), launch.getKernel());
  });
}

namespace {
int64_t product(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

/// Elements before `dim`; bytes of one element of it.
int64_t getOuter(MemRefType type, int64_t dim) { return product(type.getShape().take_front(dim)); }
int64_t getInnerBytes(MemRefType type, int64_t dim) {
  return product(type.getShape().drop_front(dim + 1)) * getElementBytes(type.getElementType());
}

struct LaunchPattern : CallPattern<BufferLaunchOp> {
  using CallPattern::CallPattern;
  LogicalResult matchAndRewrite(BufferLaunchOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto pointer = LLVM::LLVMPointerType::get(getContext());
    auto kernel = SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(op, op.getKernelAttr());
    int64_t count = 0;
    Value array = storeArguments(rewriter, op, adaptor, count);
    Value name = LLVM::AddressOfOp::create(rewriter, loc, pointer, getTextName(op.getKernel()));
    Value address = LLVM::AddressOfOp::create(rewriter, loc, pointer, op.getKernel());
    auto number = [&](StringRef attribute) {
      return i64(rewriter, loc, kernel->getAttrOfType<IntegerAttr>(attribute).getInt());
    };
    call(rewriter, loc, abi::launch,
         {rank(op), i32(rewriter, loc, abi::streamCompute), name, address, number("tsp.grid"),
          number("tsp.scratch"), i64(rewriter, loc, count), array});
    rewriter.eraseOp(op);
    return success();
  }
};

/// Buffers of the host target are its own memory.
struct StorePattern : CallPattern<memref::StoreOp> {
  using CallPattern::CallPattern;
  LogicalResult matchAndRewrite(memref::StoreOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::StoreOp>(op, adaptor.getValue(), adaptor.getMemref());
    return success();
  }
};

struct GetGlobalPattern : CallPattern<memref::GetGlobalOp> {
  using CallPattern::CallPattern;
  LogicalResult matchAndRewrite(memref::GetGlobalOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::AddressOfOp>(
        op, LLVM::LLVMPointerType::get(getContext()), op.getNameAttr());
    return success();
  }
};

struct CopyPattern : CallPattern<BufferCopyOp> {
  using CallPattern::CallPattern;
  LogicalResult matchAndRewrite(BufferCopyOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    call(rewriter, loc, abi::copy,
         {rank(op), i32(rewriter, loc, space), i32(rewriter, loc, abi::streamCompute),
          adaptor.getTarget(), adaptor.getSource(),
          i64(rewriter, loc, getBytes(op.getSource().getType()))});
    rewriter.eraseOp(op);
    return success();
  }
};

struct ReadPattern : CallPattern<BufferReadOp> {
  using CallPattern::CallPattern;
  LogicalResult matchAndRewrite(BufferReadOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<IntegerType>(op.getValue().getType());
    Value place = argumentArray(op);
    call(rewriter, loc, abi::read,
         {rank(op), i32(rewriter, loc, space), i32(rewriter, loc, abi::streamCompute),
          place, adaptor.getSource(), i64(rewriter, loc, getElementBytes(type))});
    Type stored = type.getWidth() == 1 ? rewriter.getI8Type() : type;
    Value value = LLVM::LoadOp::create(rewriter, loc, stored, place);
    if (stored != type)
      value = LLVM::TruncOp::create(rewriter, loc, type, value);
    rewriter.replaceOp(op, value);
    return success();
  }
};

struct AxisIndexPattern : CallPattern<BufferAxisIndexOp> {
  using CallPattern::CallPattern;
  LogicalResult matchAndRewrite(BufferAxisIndexOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value axis = i32(rewriter, op.getLoc(), mesh.getAxisIndex(op.getAxis()));
    rewriter.replaceOp(op, call(rewriter, op.getLoc(), abi::axisIndex, {rank(op), axis}));
    return success();
  }
};

struct WaitPattern : CallPattern<BufferWaitOp> {
  using CallPattern::CallPattern;
  LogicalResult matchAndRewrite(BufferWaitOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Value stream = i32(rewriter, op.getLoc(), abi::streamCompute);
    call(rewriter, op.getLoc(), abi::wait, {rank(op), stream, adaptor.getEvent()});
    rewriter.eraseOp(op);
    return success();
  }
};

struct AllGatherPattern : CallPattern<BufferAllGatherOp> {
  using CallPattern::CallPattern;
  LogicalResult matchAndRewrite(BufferAllGatherOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getSource().getType());
    SmallVector<Value> arguments = begin(rewriter, op);
    arguments.append({adaptor.getTarget(), adaptor.getSource(),
                      i64(rewriter, loc, getOuter(type, op.getDim())),
                      i64(rewriter, loc, op.getTotal()),
                      i64(rewriter, loc, getInnerBytes(type, op.getDim())),
                      i32(rewriter, loc, (int64_t)op.getLayout()), i64(rewriter, loc, op.getUnit())});
    rewriter.replaceOp(op, call(rewriter, loc, abi::allGather, arguments));
    return success();
  }
};

struct ReduceScatterPattern : CallPattern<BufferReduceScatterOp> {
  using CallPattern::CallPattern;
  LogicalResult matchAndRewrite(BufferReduceScatterOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getSource().getType());
    SmallVector<Value> arguments = begin(rewriter, op);
    arguments.append({i32(rewriter, loc, (int64_t)op.getCombine()), adaptor.getTarget(),
                      adaptor.getSource(), i64(rewriter, loc, getOuter(type, op.getDim())),
                      i64(rewriter, loc, op.getTotal()),
                      i64(rewriter, loc, getInnerBytes(type, op.getDim())),
                      i32(rewriter, loc, (int64_t)op.getLayout()), i64(rewriter, loc, op.getUnit())});
    rewriter.replaceOp(op, call(rewriter, loc, abi::reduceScatter, arguments));
    return success();
  }
};

struct AllReducePattern : CallPattern<BufferAllReduceOp> {
  using CallPattern::CallPattern;
  LogicalResult matchAndRewrite(BufferAllReduceOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getSource().getType());
    SmallVector<Value> arguments = begin(rewriter, op);
    arguments.append({i32(rewriter, loc, (int64_t)op.getCombine()), adaptor.getTarget(),
                      adaptor.getSource(), i64(rewriter, loc, type.getNumElements())});
    rewriter.replaceOp(op, call(rewriter, loc, abi::allReduce, arguments));
    return success();
  }
};

struct AllToAllPattern : CallPattern<BufferAllToAllOp> {
  using CallPattern::CallPattern;
  LogicalResult matchAndRewrite(BufferAllToAllOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getSource().getType());
    // The runtime names the two dims by their order.
    bool splitFirst = op.getSplitDim() < op.getConcatDim();
    int64_t dims[2] = {(int64_t)op.getSplitDim(), (int64_t)op.getConcatDim()};
    int64_t totals[2] = {(int64_t)op.getSplitTotal(), (int64_t)op.getConcatTotal()};
    int64_t units[2] = {(int64_t)op.getSplitUnit(), (int64_t)op.getConcatUnit()};
    int64_t layouts[2] = {(int64_t)op.getSplitLayout(), (int64_t)op.getConcatLayout()};
    int first = splitFirst ? 0 : 1, second = 1 - first;
    int64_t mid = product(type.getShape().slice(dims[first] + 1, dims[second] - dims[first] - 1));
    SmallVector<Value> arguments = begin(rewriter, op);
    arguments.append({adaptor.getTarget(), adaptor.getSource(),
                      i64(rewriter, loc, getOuter(type, dims[first])),
                      i64(rewriter, loc, totals[first]), i64(rewriter, loc, mid),
                      i64(rewriter, loc, totals[second]),
                      i64(rewriter, loc, getInnerBytes(type, dims[second])),
                      i32(rewriter, loc, splitFirst ? 0 : 1),
                      i32(rewriter, loc, layouts[first]), i64(rewriter, loc, units[first]),
                      i32(rewriter, loc, layouts[second]), i64(rewriter, loc, units[second])});
    rewriter.replaceOp(op, call(rewriter, loc, abi::allToAll, arguments));
    return success();
  }
};

struct BroadcastPattern : CallPattern<BufferBroadcastOp> {
  using CallPattern::CallPattern;
  LogicalResult matchAndRewrite(BufferBroadcastOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getSource().getType());
    auto part = cast<MemRefType>(op.getTarget().getType());
    SmallVector<Value> arguments = begin(rewriter, op);
    arguments.append({adaptor.getTarget(), adaptor.getSource(),
                      i64(rewriter, loc, getOuter(type, op.getDim())),
                      i64(rewriter, loc, op.getTotal()),
                      i64(rewriter, loc, getInnerBytes(type, op.getDim())),
                      i32(rewriter, loc, (int64_t)Layout::Contiguous),
                      i64(rewriter, loc, op.getUnit()), adaptor.getOffset(),
                      i64(rewriter, loc, part.getDimSize(op.getDim()))});
    rewriter.replaceOp(op, call(rewriter, loc, abi::broadcast, arguments));
    return success();
  }
};

struct SendRecvPattern : CallPattern<BufferSendRecvOp> {
  using CallPattern::CallPattern;
  LogicalResult matchAndRewrite(BufferSendRecvOp op, Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<Value> arguments = begin(rewriter, op);
    arguments.append({adaptor.getTarget(), adaptor.getSource(),
                      i64(rewriter, loc, getBytes(op.getSource().getType())),
                      i64(rewriter, loc, op.getShift())});
    rewriter.replaceOp(op, call(rewriter, loc, abi::sendRecv, arguments));
    return success();
  }
};
} // namespace

void tsp::populateRuntimeCallPatterns(const LLVMTypeConverter &converter,
                                      RewritePatternSet &patterns, MeshAttr mesh, int space) {
  patterns.add<CopyPattern, ReadPattern, AxisIndexPattern, WaitPattern, AllGatherPattern,
               ReduceScatterPattern, AllReducePattern, AllToAllPattern, BroadcastPattern,
               SendRecvPattern>(converter, patterns.getContext(), mesh, space);
  if (space == abi::spaceHost)
    patterns.add<LaunchPattern, StorePattern, GetGlobalPattern>(converter, patterns.getContext(),
                                                                mesh, space);
  else
    populateDeviceCallPatterns(converter, patterns, mesh, space);
}
