//===- FinalizeKernels.cpp - device form to the NVVM dialect --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/GPU/DeviceForm.h"
#include "tsp/Kernels/GPU/Passes.h"
#include "tsp/Kernels/GPU/TargetDescription.h"
#include "tsp/Kernels/Kernels.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace tsp {
#define GEN_PASS_DEF_GPUFINALIZEKERNELS
#include "tsp/Passes/GPU.h.inc"
} // namespace tsp

using namespace mlir;
using namespace tsp;

/// Upstream's conversions, for a gpu.module.
static void addConversions(OpPassManager &manager) {
  manager.addPass(createConvertVectorToSCFPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createConvertNVGPUToNVVMPass());
  ConvertGpuOpsToNVVMOpsOptions bare;
  bare.useBarePtrCallConv = true;
  manager.addPass(createConvertGpuOpsToNVVMOps(bare));
  // What libdevice has no function for: bits counted, signs copied.
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertNVVMToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

static int64_t getStaticShared(gpu::GPUFuncOp function) {
  int64_t bytes = 0;
  for (BlockArgument buffer : function.getWorkgroupAttributions()) {
    auto type = cast<MemRefType>(buffer.getType());
    int64_t bits = type.getNumElements();
    if (auto vector = dyn_cast<VectorType>(type.getElementType()))
      bits *= vector.getNumElements() * vector.getElementTypeBitWidth();
    else
      bits *= type.getElementTypeBitWidth();
    bytes += llvm::alignTo(llvm::divideCeil(bits, 8), 128);
  }
  return bytes;
}

/// Of dynamic shared memory: tiles with a swizzle of 128 bytes repeat after so
/// many ("Shared Memory Matrix Layout").
static constexpr int64_t kSharedAlignment = 1024;

/// What every device refuses.
static LogicalResult checkLimits(gpu::GPUFuncOp function) {
  if (int64_t bytes = getStaticShared(function); bytes > kMaxStaticShared)
    return function.emitOpError("has ")
           << bytes << " bytes of static shared memory, more than "
           << kMaxStaticShared << "; use gpu.dynamic_shared_memory";
  int64_t threads = 1;
  for (int32_t size :
       function.getKnownBlockSize().value_or(ArrayRef<int32_t>()))
    threads *= size;
  if (threads > 1024)
    return function.emitOpError("has blocks of ")
           << threads << " threads, more than 1024";
  return success();
}

static LogicalResult checkGrid(func::FuncOp kernel) {
  DeviceLaunch launch = getDeviceLaunch(kernel);
  for (auto [size, most] : llvm::zip_equal(launch.grid, kMaxGrid))
    if (size > most)
      return kernel.emitError("kernel @")
             << kernel.getName() << " has a grid of [" << launch.grid
             << "] blocks, more than devices take, which is [" << kMaxGrid
             << "]; divide the tensors into parts";
  return success();
}

/// Clusters of up to 8 blocks run everywhere ("Thread Block Clusters" of the
/// CUDA C++ Programming Guide); the grid must be whole ones.
static LogicalResult checkCluster(func::FuncOp kernel) {
  DeviceLaunch launch = getDeviceLaunch(kernel);
  int64_t blocks = 1;
  for (auto [size, of] : llvm::zip_equal(launch.cluster, launch.grid)) {
    if (size < 1 || of % size != 0)
      return kernel.emitError("kernel @")
             << kernel.getName() << " has a grid of [" << launch.grid
             << "] blocks, which is not made of clusters of [" << launch.cluster
             << "]";
    blocks *= size;
  }
  if (blocks > 8)
    return kernel.emitError("kernel @")
           << kernel.getName() << " has clusters of " << blocks
           << " blocks, more than 8";
  return success();
}

/// Kernels are shaped for the first architecture; others may have less memory.
static LogicalResult checkShared(func::FuncOp kernel, gpu::GPUFuncOp function,
                                 ArrayRef<std::string> architectures) {
  int64_t bytes = getStaticShared(function);
  if (int64_t dynamic = getDeviceLaunch(kernel).sharedBytes)
    bytes = llvm::alignTo(bytes, kSharedAlignment) + dynamic;
  for (StringRef name : architectures) {
    const TargetDescription *target = findTargetDescription(name);
    if (!target || bytes <= target->sharedPerBlock || !hasCodeFor(kernel, name))
      continue;
    InFlightDiagnostic error = kernel.emitError("kernel @")
                               << kernel.getName() << " needs " << bytes
                               << " bytes of shared memory, but a block on "
                               << name << " has at most "
                               << target->sharedPerBlock;
    if (!kernel->hasAttr(kDeviceArchitectureAttr))
      error << "; kernels are shaped for the first architecture: give " << name
            << " first, or compile for it alone";
    return error;
  }
  return success();
}

/// A tensor map is a parameter of 128 bytes, read where it lies (PTX ISA,
/// "Tensor-map"; CUDA C++ guide, "__grid_constant__").
static void annotateMap(LLVM::LLVMFuncOp function, unsigned number) {
  Builder builder(function.getContext());
  Type bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 128);
  function.setArgAttr(number, LLVM::LLVMDialect::getByValAttrName(),
                      TypeAttr::get(bytes));
  function.setArgAttr(number, NVVM::NVVMDialect::getGridConstantAttrName(),
                      builder.getUnitAttr());
}

/// Says of each pointer what host program and buffer plan promise.
static void annotateArguments(LLVM::LLVMFuncOp function, func::FuncOp kernel) {
  Builder builder(function.getContext());
  auto tied = kernel->getAttrOfType<DenseI64ArrayAttr>(kTiedAttr);
  ArrayRef<int64_t> ties = tied ? tied.asArrayRef() : ArrayRef<int64_t>();
  // The workspace, if any, comes behind inputs and results, then the maps.
  unsigned numBuffers = kernel.getNumArguments(),
           numInputs = numBuffers - ties.size(),
           firstMap = function.getNumArguments() - getTensorMaps(kernel).size();
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        builder.getI64IntegerAttr(64));
    if (i >= firstMap) {
      annotateMap(function, i);
      continue;
    }
    bool isInput = i < numInputs;
    bool shared = isInput ? llvm::is_contained(ties, i)
                          : i < numBuffers && ties[i - numInputs] >= 0;
    if (shared)
      continue;
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        builder.getUnitAttr());
    if (isInput)
      function.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(),
                          builder.getUnitAttr());
  }
}

namespace {
class GpuFinalizeKernels
    : public tsp::impl::GpuFinalizeKernelsBase<GpuFinalizeKernels> {
public:
  using GpuFinalizeKernelsBase::GpuFinalizeKernelsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> kernels;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (isTensorKernel(function)) {
        refuse(function);
        return signalPassFailure();
      }
      if (isDeviceKernel(function))
        kernels.push_back(function);
    }
    auto device = module.lookupSymbol<gpu::GPUModuleOp>(kDeviceModule);
    if (!device)
      return;
    for (auto function : device.getOps<gpu::GPUFuncOp>())
      if (failed(checkLimits(function)))
        return signalPassFailure();
    for (func::FuncOp kernel : kernels)
      if (failed(checkTensorMaps(kernel)) || failed(checkGrid(kernel)) ||
          failed(checkCluster(kernel)) ||
          failed(checkShared(
              kernel, device.lookupSymbol<gpu::GPUFuncOp>(kernel.getName()),
              llvm::to_vector(architectures))))
        return signalPassFailure();

    OpPassManager conversions(gpu::GPUModuleOp::getOperationName());
    addConversions(conversions);
    if (failed(runPipeline(conversions, device)))
      return signalPassFailure();

    SymbolTable symbols(device);
    for (func::FuncOp kernel : kernels) {
      auto function = symbols.lookup<LLVM::LLVMFuncOp>(kernel.getName());
      annotateArguments(function, kernel);
      // Without a number ptxas spills to fit more blocks than one.
      StringRef blocks = NVVM::NVVMDialect::getMinctasmAttrName();
      if (!function->hasAttr(blocks))
        function->setAttr(blocks, Builder(&getContext()).getI32IntegerAttr(1));
      ++numKernels;
    }
    finishSharedMemory(device);
  }

private:
  /// Dynamic shared memory is a declaration: its size is known at the launch
  /// only.
  static void finishSharedMemory(gpu::GPUModuleOp device) {
    for (auto global : device.getOps<LLVM::GlobalOp>()) {
      if (global.getAddrSpace() !=
          static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared))
        continue;
      auto type = dyn_cast<LLVM::LLVMArrayType>(global.getType());
      bool isDynamic = type && type.getNumElements() == 0;
      global.setAlignment(
          std::max<int64_t>(global.getAlignment().value_or(0),
                            isDynamic ? kSharedAlignment : 128));
      if (isDynamic)
        global.setLinkage(LLVM::Linkage::External);
    }
  }

  /// No generator has taken this kernel.
  static void refuse(func::FuncOp kernel) {
    Operation *root = &kernel.getBody().front().front();
    kernel.walk([&](Operation *op) {
      if (op != kernel && !op->hasTrait<OpTrait::IsTerminator>() &&
          op->getBlock() == &kernel.getBody().front())
        root = op;
    });
    root->emitError("the cuda target has no kernel for '")
        << root->getName() << "' on " << root->getResultTypes()
        << "; compile for --target=host, or write it with other ops";
  }
};
} // namespace
