//===- RuntimeCalls.cpp - buffer ops as calls of the runtime --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallPattern.h"
#include "tsp/Host/BufferPlan.h"
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
        abi::broadcast, abi::sendRecv, abi::staging, abi::wait})
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

/// Arguments of a call, written one after the other.
struct Arguments {
  OpBuilder &builder;
  Location loc;
  SmallVector<Value> list;

  void number(Type type, int64_t value) {
    list.push_back(LLVM::ConstantOp::create(builder, loc, type,
                                            builder.getIntegerAttr(type, value)));
  }
  void i32(int64_t value) { number(builder.getI32Type(), value); }
  void i64(int64_t value) { number(builder.getI64Type(), value); }

  /// A value as [outer][total][inner bytes] around the dim that is sharded.
  void sizes(MemRefType type, int64_t dim, int64_t total) {
    i64(getOuter(type, dim));
    i64(total);
    i64(getInnerBytes(type, dim));
  }
  void placement(Layout layout, int64_t unit) {
    i32(int64_t(layout));
    i64(unit);
  }
};

// What a collective's function takes behind the buffers; returns the function.

RuntimeFunction addArguments(BufferAllGatherOp op, BufferAllGatherOp::Adaptor, Arguments &add) {
  add.sizes(cast<MemRefType>(op.getSource().getType()), op.getDim(), op.getTotal());
  add.placement(op.getLayout(), op.getUnit());
  return abi::allGather;
}

RuntimeFunction addArguments(BufferReduceScatterOp op, BufferReduceScatterOp::Adaptor,
                             Arguments &add) {
  add.sizes(cast<MemRefType>(op.getSource().getType()), op.getDim(), op.getTotal());
  add.placement(op.getLayout(), op.getUnit());
  return abi::reduceScatter;
}

RuntimeFunction addArguments(BufferAllReduceOp op, BufferAllReduceOp::Adaptor, Arguments &add) {
  add.i64(cast<MemRefType>(op.getSource().getType()).getNumElements());
  return abi::allReduce;
}

RuntimeFunction addArguments(BufferAllToAllOp op, BufferAllToAllOp::Adaptor, Arguments &add) {
  auto type = cast<MemRefType>(op.getSource().getType());
  struct {
    int64_t dim, total, unit;
    Layout layout;
  } split{int64_t(op.getSplitDim()), int64_t(op.getSplitTotal()), int64_t(op.getSplitUnit()),
          op.getSplitLayout()},
      concat{int64_t(op.getConcatDim()), int64_t(op.getConcatTotal()),
             int64_t(op.getConcatUnit()), op.getConcatLayout()};
  // The runtime names the two dims by their order.
  bool splitFirst = split.dim < concat.dim;
  auto &first = splitFirst ? split : concat, &second = splitFirst ? concat : split;
  add.i64(getOuter(type, first.dim));
  add.i64(first.total);
  add.i64(product(type.getShape().slice(first.dim + 1, second.dim - first.dim - 1)));
  add.i64(second.total);
  add.i64(getInnerBytes(type, second.dim));
  add.i32(splitFirst ? 0 : 1);
  add.placement(first.layout, first.unit);
  add.placement(second.layout, second.unit);
  return abi::allToAll;
}

RuntimeFunction addArguments(BufferBroadcastOp op, BufferBroadcastOp::Adaptor adaptor,
                             Arguments &add) {
  add.sizes(cast<MemRefType>(op.getSource().getType()), op.getDim(), op.getTotal());
  add.placement(Layout::Contiguous, op.getUnit());
  add.list.push_back(adaptor.getOffset());
  add.i64(cast<MemRefType>(op.getTarget().getType()).getDimSize(op.getDim()));
  return abi::broadcast;
}

RuntimeFunction addArguments(BufferSendRecvOp op, BufferSendRecvOp::Adaptor, Arguments &add) {
  add.i64(getBytes(op.getSource().getType()));
  add.i64(op.getShift());
  return abi::sendRecv;
}

template <typename OpTy> struct CollectivePattern : CallPattern<OpTy> {
  using CallPattern<OpTy>::CallPattern;
  LogicalResult matchAndRewrite(OpTy op, typename OpTy::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    this->giveStaging(rewriter, op);
    auto type = cast<MemRefType>(op.getSource().getType());
    Arguments add{rewriter, op.getLoc(), {this->rank(op)}};
    add.i32(this->space);
    add.i32(abi::streamComm);
    add.i32(this->mesh.getAxisIndex(op.getAxis()));
    add.i32(getDtypeNumber(type.getElementType()));
    if (auto combine = op->template getAttrOfType<CombineKindAttr>("combine"))
      add.i32(int64_t(combine.getValue()));
    add.list.append({adaptor.getTarget(), adaptor.getSource()});
    RuntimeFunction function = addArguments(op, adaptor, add);
    rewriter.replaceOp(op, this->call(rewriter, op.getLoc(), function, add.list));
    return success();
  }

  /// Names the part of the arena in which the transfer packs.
  static void giveStaging(OpBuilder &builder, OpTy op) {
    auto place = op->template getAttrOfType<DenseI64ArrayAttr>(kStagingAttr);
    if (!place)
      return;
    Location loc = op.getLoc();
    Value arena = CallPattern<OpTy>::function(op).getArgument(3);
    Value memory = LLVM::GEPOp::create(builder, loc, arena.getType(), builder.getI8Type(), arena,
                                       CallPattern<OpTy>::i64(builder, loc, place[0]));
    CallPattern<OpTy>::call(builder, loc, abi::staging,
                            {CallPattern<OpTy>::rank(op), memory,
                             CallPattern<OpTy>::i64(builder, loc, place[1])});
  }
};
} // namespace

void tsp::populateRuntimeCallPatterns(const LLVMTypeConverter &converter,
                                      RewritePatternSet &patterns, MeshAttr mesh, int space) {
  patterns.add<CopyPattern, ReadPattern, AxisIndexPattern, WaitPattern,
               CollectivePattern<BufferAllGatherOp>, CollectivePattern<BufferReduceScatterOp>,
               CollectivePattern<BufferAllReduceOp>, CollectivePattern<BufferAllToAllOp>,
               CollectivePattern<BufferBroadcastOp>, CollectivePattern<BufferSendRecvOp>>(
      converter, patterns.getContext(), mesh, space);
  if (space == abi::spaceHost)
    patterns.add<LaunchPattern, StorePattern, GetGlobalPattern>(converter, patterns.getContext(),
                                                                mesh, space);
  else
    populateDeviceCallPatterns(converter, patterns, mesh, space);
}
