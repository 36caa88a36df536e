//===- RuntimeKernels.cpp - kernels that the runtime launches -------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks that share a device combine their buffers by a kernel:
//
//   tsp_reduce_<combine>_<dtype>(dst, srcs, i64 count, i64 ranks)
//     for i = thread; i < count; i += threads:
//       value = srcs[0][i]
//       for rank = 1 to ranks: value = combine(value, srcs[rank][i])
//       dst[i] = value
//
// tsp_runtime.h says what each combine is; 16-bit floats are computed in f32.
//
//===----------------------------------------------------------------------===//

#include "tsp/Dialect/TSP/IR/TspDialect.h"
#include "tsp/Kernels/GPU/DeviceForm.h"
#include "tsp/Kernels/GPU/Passes.h"
#include "tsp/Kernels/Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tsp {
#define GEN_PASS_DEF_GPUADDRUNTIMEKERNELS
#include "tsp/Passes/GPU.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

namespace {
/// Writes the kernel of one combine and element type.
class ReduceKernel {
public:
  ReduceKernel(CombineKind combine, Type element, Location loc)
      : combine(combine), element(element), storage(getStorageType(element)),
        builder(loc, element.getContext()) {}

  void emit(gpu::GPUModuleOp module, StringRef name) {
    Type pointer = LLVM::LLVMPointerType::get(element.getContext());
    Type i64 = builder.getI64Type();
    builder.setInsertionPointToEnd(module.getBody());
    auto function = gpu::GPUFuncOp::create(
        builder, name,
        builder.getFunctionType({pointer, pointer, i64, i64}, {}));
    function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                      builder.getUnitAttr());
    function.setKnownBlockSize(ArrayRef<int32_t>{kThreads, 1, 1});
    builder.setInsertionPointToStart(&function.getBody().front());
    Value zero = constant(0), one = constant(1);
    Value thread = toI64(gpu::ThreadIdOp::create(builder, gpu::Dimension::x));
    Value block = toI64(gpu::BlockIdOp::create(builder, gpu::Dimension::x));
    Value blocks = toI64(gpu::GridDimOp::create(builder, gpu::Dimension::x));
    Value size = constant(kThreads);
    Value begin = arith::AddIOp::create(
        builder, arith::MulIOp::create(builder, block, size), thread);
    Value step = arith::MulIOp::create(builder, blocks, size);
    Value dst = function.getArgument(0), srcs = function.getArgument(1);
    auto elements =
        scf::ForOp::create(builder, begin, function.getArgument(2), step);
    builder.setInsertionPointToStart(elements.getBody());
    Value at = elements.getInductionVar();
    Value first = load(srcs, zero, at);
    auto ranks =
        scf::ForOp::create(builder, one, function.getArgument(3), one, first);
    builder.setInsertionPointToStart(ranks.getBody());
    Value next = load(srcs, ranks.getInductionVar(), at);
    scf::YieldOp::create(builder,
                         combineValues(ranks.getRegionIterArg(0), next));
    builder.setInsertionPointAfter(ranks);
    store(ranks.getResult(0), dst, at);
    builder.setInsertionPointAfter(elements);
    gpu::ReturnOp::create(builder);
  }

private:
  /// Threads of a block, as the runtime launches it.
  static constexpr int64_t kThreads = 256;

  Value constant(int64_t value) {
    return arith::ConstantIntOp::create(builder, value, 64);
  }
  Value toI64(Value index) {
    return arith::IndexCastOp::create(builder, builder.getI64Type(), index);
  }
  Value address(Type type, Value base, Value number) {
    return LLVM::GEPOp::create(builder, base.getType(), type, base,
                               ArrayRef<LLVM::GEPArg>{number});
  }

  bool isNarrowFloat() const { return element.isF16() || element.isBF16(); }

  Value load(Value srcs, Value rank, Value at) {
    Value source = LLVM::LoadOp::create(builder, srcs.getType(),
                                        address(srcs.getType(), srcs, rank));
    // What is loaded may be any pointer, unless one says that it is global.
    auto global = LLVM::LLVMPointerType::get(
        builder.getContext(),
        static_cast<unsigned>(NVVM::NVVMMemorySpace::Global));
    source = LLVM::AddrSpaceCastOp::create(builder, global, source);
    Value value =
        LLVM::LoadOp::create(builder, storage, address(storage, source, at));
    return isNarrowFloat()
               ? arith::ExtFOp::create(builder, builder.getF32Type(), value)
                     .getResult()
               : value;
  }

  void store(Value value, Value dst, Value at) {
    if (isNarrowFloat())
      value = arith::TruncFOp::create(builder, storage, value);
    LLVM::StoreOp::create(builder, value, address(storage, dst, at));
  }

  Value combineValues(Value a, Value b) {
    if (isa<FloatType>(element))
      switch (combine) {
      case CombineKind::Max:
        return arith::MaximumFOp::create(builder, a, b);
      case CombineKind::Min:
        return arith::MinimumFOp::create(builder, a, b);
      default:
        return arith::AddFOp::create(builder, a, b);
      }
    if (element.isInteger(1)) {
      if (combine == CombineKind::Min)
        return arith::AndIOp::create(builder, a, b);
      return arith::OrIOp::create(builder, a, b);
    }
    bool isUnsigned = element.isUnsignedInteger();
    switch (combine) {
    case CombineKind::Max:
      return isUnsigned ? arith::MaxUIOp::create(builder, a, b).getResult()
                        : arith::MaxSIOp::create(builder, a, b).getResult();
    case CombineKind::Min:
      return isUnsigned ? arith::MinUIOp::create(builder, a, b).getResult()
                        : arith::MinSIOp::create(builder, a, b).getResult();
    default:
      return wrap(arith::AddIOp::create(builder, a, b));
    }
  }

  /// Four bits in a byte wrap like four bits.
  Value wrap(Value sum) {
    if (element.getIntOrFloatBitWidth() != 4)
      return sum;
    auto byte = [&](int64_t value) -> Value {
      return arith::ConstantIntOp::create(builder, value, 8);
    };
    if (element.isUnsignedInteger())
      return arith::AndIOp::create(builder, sum, byte(15));
    return arith::ShRSIOp::create(
        builder, arith::ShLIOp::create(builder, sum, byte(4)), byte(4));
  }

  CombineKind combine;
  Type element, storage;
  ImplicitLocOpBuilder builder;
};

class GpuAddRuntimeKernels
    : public tsp::impl::GpuAddRuntimeKernelsBase<GpuAddRuntimeKernels> {
public:
  using GpuAddRuntimeKernelsBase::GpuAddRuntimeKernelsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    WalkResult result = module.walk([&](Operation *op) {
      if (auto reduce = dyn_cast<AllReduceOp>(op))
        return WalkResult(
            add(op, reduce.getCombine(), reduce.getInput().getType()));
      if (auto reduce = dyn_cast<ReduceScatterOp>(op))
        return WalkResult(
            add(op, reduce.getCombine(), reduce.getInput().getType()));
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  LogicalResult add(Operation *op, CombineKind combine, Type type) {
    Type element = cast<ShapedType>(type).getElementType();
    if (combine != CombineKind::Sum && combine != CombineKind::Max &&
        combine != CombineKind::Min)
      return op->emitOpError(
                 "the cuda target combines ranks by sum, max and min, found ")
             << stringifyCombineKind(combine);
    if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8)
      return op->emitOpError("the cuda target does not combine ")
             << element << " across ranks; convert to f32 before";
    std::string name;
    llvm::raw_string_ostream(name)
        << "tsp_reduce_" << stringifyCombineKind(combine) << "_" << element;
    gpu::GPUModuleOp device = getDeviceModule(getOperation());
    if (!device.lookupSymbol(name)) {
      ReduceKernel(combine, element, op->getLoc()).emit(device, name);
      ++numKernels;
    }
    return success();
  }
};
} // namespace
