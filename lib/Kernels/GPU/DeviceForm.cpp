//===- DeviceForm.cpp - kernels of a GPU ----------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/GPU/DeviceForm.h"
#include "tsp/Kernels/GPU/TargetDescription.h"
#include "tsp/Kernels/Kernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tsp;

bool tsp::isDeviceKernel(func::FuncOp function) {
  return function->hasAttr(kKernelAttr) && function->hasAttr(kDeviceGridAttr);
}

gpu::GPUModuleOp tsp::getDeviceModule(ModuleOp module) {
  if (auto device = module.lookupSymbol<gpu::GPUModuleOp>(kDeviceModule))
    return device;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  return gpu::GPUModuleOp::create(builder, module.getLoc(), kDeviceModule);
}

DeviceKernel tsp::startDeviceForm(func::FuncOp kernel, Region &tensorBody) {
  FunctionType type = kernel.getFunctionType();
  SmallVector<Type> buffers;
  for (TypeRange list : {type.getInputs(), type.getResults()})
    for (Type tensor : list)
      buffers.push_back(getBufferType(cast<RankedTensorType>(tensor)));
  tensorBody.takeBody(kernel.getBody());
  OpBuilder builder(kernel.getContext());
  kernel.setType(builder.getFunctionType(buffers, {}));
  kernel.removeResAttrsAttr();
  kernel.removeArgAttrsAttr();
  kernel.setPrivate();
  // From here on it says which buffers are results.
  if (!kernel->hasAttr(kTiedAttr))
    kernel->setAttr(kTiedAttr,
                    builder.getDenseI64ArrayAttr(
                        SmallVector<int64_t>(type.getNumResults(), -1)));

  gpu::GPUModuleOp module =
      getDeviceModule(kernel->getParentOfType<ModuleOp>());
  builder.setInsertionPointToEnd(module.getBody());
  buffers.push_back(MemRefType::get({0}, builder.getI8Type()));
  DeviceKernel device;
  device.function =
      gpu::GPUFuncOp::create(builder, kernel.getLoc(), kernel.getName(),
                             builder.getFunctionType(buffers, {}));
  device.function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                           builder.getUnitAttr());
  for (StringRef name : {kDeviceVariantAttr, kDeviceArchitectureAttr})
    if (Attribute attribute = kernel->getAttr(name))
      device.function->setAttr(name, attribute);
  auto arguments = device.function.getArguments();
  llvm::append_range(device.inputs, arguments.take_front(type.getNumInputs()));
  llvm::append_range(device.outputs,
                     arguments.drop_back().take_back(type.getNumResults()));
  device.workspace = arguments.back();
  return device;
}

func::FuncOp tsp::startVariant(func::FuncOp kernel,
                               const TargetDescription &target) {
  func::FuncOp variant = kernel.clone();
  OpBuilder builder(kernel.getContext());
  builder.setInsertionPointAfter(kernel);
  builder.insert(variant);
  variant.setName((kernel.getName() + "_" + target.name).str());
  variant->removeAttr(kDeviceNoVariantAttr);
  variant->setAttr(kDeviceArchitectureAttr, builder.getStringAttr(target.name));
  kernel->setAttr(kDeviceVariantAttr,
                  FlatSymbolRefAttr::get(variant.getNameAttr()));
  return variant;
}

bool tsp::hasCodeFor(Operation *kernel, StringRef architecture) {
  auto isFor = [&](Operation *function) {
    auto own = function->getAttrOfType<StringAttr>(kDeviceArchitectureAttr);
    return own && own.getValue() == architecture;
  };
  if (kernel->hasAttr(kDeviceArchitectureAttr))
    return isFor(kernel);
  while (auto name =
             kernel->getAttrOfType<FlatSymbolRefAttr>(kDeviceVariantAttr)) {
    kernel = SymbolTable::lookupNearestSymbolFrom(kernel, name);
    if (!kernel || isFor(kernel))
      return !kernel;
  }
  return true;
}

Value tsp::addSharedBuffer(DeviceKernel &kernel, ArrayRef<int64_t> shape,
                           Type elementType) {
  MLIRContext *context = kernel.function.getContext();
  auto space =
      gpu::AddressSpaceAttr::get(context, gpu::AddressSpace::Workgroup);
  auto type =
      MemRefType::get(shape, elementType, MemRefLayoutAttrInterface(), space);
  unsigned number = kernel.function.getNumWorkgroupAttributions();
  Value buffer =
      kernel.function.addWorkgroupAttribution(type, kernel.function.getLoc());
  kernel.function.setWorkgroupAttributionAttr(
      number, LLVM::LLVMDialect::getAlignAttrName(),
      IntegerAttr::get(IntegerType::get(context, 64), 128));
  return buffer;
}

/// libdevice's root is an approximation; the host's is rounded.
static void useExactRoots(gpu::GPUFuncOp function) {
  function.walk([](math::SqrtOp op) {
    OpBuilder builder(op);
    StringRef name =
        op.getType().isF64() ? "llvm.nvvm.sqrt.rn.d" : "llvm.nvvm.sqrt.rn.f";
    auto call = LLVM::CallIntrinsicOp::create(
        builder, op.getLoc(), op.getType(), builder.getStringAttr(name),
        op.getOperand());
    op.replaceAllUsesWith(call.getResult(0));
    op.erase();
  });
}

void tsp::finishDeviceForm(func::FuncOp kernel, DeviceKernel &device,
                           const DeviceLaunch &launch) {
  gpu::GPUFuncOp function = device.function;
  OpBuilder builder = OpBuilder::atBlockEnd(&function.getBody().back());
  gpu::ReturnOp::create(builder, function.getLoc());
  useExactRoots(function);
  int64_t workspace = llvm::alignTo(launch.workspaceBytes, 256);
  SmallVector<Type> types(function.getFunctionType().getInputs());
  // Maps come behind the workspace.
  unsigned number = device.inputs.size() + device.outputs.size();
  if (workspace > 0) {
    types[number] = MemRefType::get({workspace}, builder.getI8Type());
    device.workspace.setType(types[number]);
  } else {
    types.erase(types.begin() + number);
    function.getBody().front().eraseArgument(number);
    device.workspace = Value();
  }
  function.setFunctionType(builder.getFunctionType(types, {}));
  SmallVector<int32_t> block(launch.block.begin(), launch.block.end());
  function.setKnownBlockSize(block);

  kernel->setAttr(kDeviceGridAttr, builder.getDenseI64ArrayAttr(launch.grid));
  kernel->setAttr(kDeviceBlockAttr, builder.getDenseI64ArrayAttr(launch.block));
  kernel->setAttr(kDeviceSharedAttr,
                  builder.getI64IntegerAttr(launch.sharedBytes));
  kernel->setAttr(kDeviceWorkspaceAttr, builder.getI64IntegerAttr(workspace));
  if (launch.cluster != DeviceLaunch().cluster) {
    SmallVector<int32_t> cluster(launch.cluster.begin(), launch.cluster.end());
    function.setKnownClusterSize(cluster);
    kernel->setAttr(kDeviceClusterAttr,
                    builder.getDenseI64ArrayAttr(launch.cluster));
  }
  if (launch.tiles)
    kernel->setAttr(kDeviceTilesAttr, builder.getI64IntegerAttr(launch.tiles));
  setTensorMaps(kernel, device.maps);
}

DeviceLaunch tsp::getDeviceLaunch(func::FuncOp kernel) {
  DeviceLaunch launch;
  auto read = [&](StringRef name, std::array<int64_t, 3> &sizes) {
    if (auto attribute = kernel->getAttrOfType<DenseI64ArrayAttr>(name))
      llvm::copy(attribute.asArrayRef(), sizes.begin());
  };
  read(kDeviceGridAttr, launch.grid);
  read(kDeviceBlockAttr, launch.block);
  read(kDeviceClusterAttr, launch.cluster);
  launch.sharedBytes =
      kernel->getAttrOfType<IntegerAttr>(kDeviceSharedAttr).getInt();
  launch.workspaceBytes =
      kernel->getAttrOfType<IntegerAttr>(kDeviceWorkspaceAttr).getInt();
  if (auto tiles = kernel->getAttrOfType<IntegerAttr>(kDeviceTilesAttr))
    launch.tiles = tiles.getInt();
  return launch;
}
