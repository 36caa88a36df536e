//===- RuntimeKernels.cpp - kernels that the runtime launches -------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Devices combine what several ranks have by a kernel:
//
//   tsp_reduce_<combine>_<dtype>_<D>(dst, src0, src1, .., i64 count)
//     for i = thread; i < count; i += threads:
//       dst[i] = combine(combine(src0[i], src1[i]), src2[i]) ..
//
// tsp_runtime.h says what each combine is; narrow floats are computed in f32.
//
//===----------------------------------------------------------------------===//

#include "../Emit.h"
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
/// Writes the kernel of one combine, element type and number of ranks.
class ReduceKernel {
public:
  ReduceKernel(CombineKind combine, Type element, int64_t ranks, Location loc)
      : combine(combine), element(element), storage(getStorageType(element)),
        ranks(ranks), builder(loc, element.getContext()) {}

  void emit(gpu::GPUModuleOp module, StringRef name) {
    Type pointer = LLVM::LLVMPointerType::get(element.getContext());
    SmallVector<Type> types(1 + ranks, pointer);
    types.push_back(builder.getI64Type());
    builder.setInsertionPointToEnd(module.getBody());
    auto function = gpu::GPUFuncOp::create(builder, name,
                                           builder.getFunctionType(types, {}));
    function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                      builder.getUnitAttr());
    function.setKnownBlockSize(ArrayRef<int32_t>{kThreads, 1, 1});
    builder.setInsertionPointToStart(&function.getBody().front());
    SmallVector<Value> buffers;
    for (Value buffer : function.getArguments().drop_back())
      buffers.push_back(toGlobal(buffer));
    Value thread = toI64(gpu::ThreadIdOp::create(builder, gpu::Dimension::x));
    Value block = toI64(gpu::BlockIdOp::create(builder, gpu::Dimension::x));
    Value blocks = toI64(gpu::GridDimOp::create(builder, gpu::Dimension::x));
    Value size = arith::ConstantIntOp::create(builder, kThreads, 64);
    Value begin = arith::AddIOp::create(
        builder, arith::MulIOp::create(builder, block, size), thread);
    Value step = arith::MulIOp::create(builder, blocks, size);
    auto elements = scf::ForOp::create(builder, begin,
                                       function.getArguments().back(), step);
    builder.setInsertionPointToStart(elements.getBody());
    Value at = elements.getInductionVar();
    Value result = load(buffers[1], at);
    for (Value source : ArrayRef(buffers).drop_front(2))
      result = combineValues(result, load(source, at));
    store(result, buffers[0], at);
    builder.setInsertionPointAfter(elements);
    gpu::ReturnOp::create(builder);
  }

private:
  /// Threads of a block, as the runtime launches it.
  static constexpr int64_t kThreads = 256;

  Value toI64(Value index) {
    return arith::IndexCastOp::create(builder, builder.getI64Type(), index);
  }
  Value toGlobal(Value pointer) {
    auto global = LLVM::LLVMPointerType::get(
        builder.getContext(),
        static_cast<unsigned>(NVVM::NVVMMemorySpace::Global));
    return LLVM::AddrSpaceCastOp::create(builder, global, pointer);
  }
  Value address(Value base, Value number) {
    return LLVM::GEPOp::create(builder, base.getType(), storage, base,
                               ArrayRef<LLVM::GEPArg>{number});
  }

  /// Integers are combined as memory holds them.
  Value load(Value source, Value at) {
    Value value = LLVM::LoadOp::create(builder, storage, address(source, at));
    return isa<FloatType>(element)
               ? fromStorage(builder, builder.getLoc(), value, element)
               : value;
  }

  void store(Value value, Value dst, Value at) {
    if (isa<FloatType>(element))
      value = toStorage(builder, builder.getLoc(), value, element);
    LLVM::StoreOp::create(builder, value, address(dst, at));
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
  int64_t ranks;
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
        return WalkResult(add(reduce));
      if (auto reduce = dyn_cast<ReduceScatterOp>(op))
        return WalkResult(add(reduce));
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  template <typename OpTy> LogicalResult add(OpTy op) {
    // The ranks' buffers are parameters of the kernel, beside dst and count.
    constexpr int64_t mostRanks = kMaxParameterBytes / 8 - 2;
    CombineKind combine = op.getCombine();
    Type element = op.getInput().getType().getElementType();
    auto mesh = getOperation()->getAttrOfType<MeshAttr>("tsp.mesh");
    int64_t ranks = mesh ? mesh.getAxisSize(op.getAxis()) : 1;
    if (combine != CombineKind::Sum && combine != CombineKind::Max &&
        combine != CombineKind::Min)
      return op.emitOpError("expected single values to be combined by sum, max "
                            "or min, found ")
             << stringifyCombineKind(combine);
    if (ranks > mostRanks)
      return op.emitOpError("the cuda target combines at most ")
             << mostRanks << " ranks, found " << ranks << " on axis "
             << op.getAxisAttr() << "; reduce over two axes, one by one";
    std::string name;
    llvm::raw_string_ostream(name)
        << "tsp_reduce_" << stringifyCombineKind(combine) << "_" << element
        << "_" << ranks;
    gpu::GPUModuleOp device = getDeviceModule(getOperation());
    if (!device.lookupSymbol(name)) {
      ReduceKernel(combine, element, ranks, op.getLoc()).emit(device, name);
      ++numKernels;
    }
    return success();
  }
};
} // namespace
