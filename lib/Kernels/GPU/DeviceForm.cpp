//===- DeviceForm.cpp - kernels of a GPU ----------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/GPU/DeviceForm.h"
#include "tsp/Kernels/Kernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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
  auto arguments = device.function.getArguments();
  llvm::append_range(device.inputs, arguments.take_front(type.getNumInputs()));
  llvm::append_range(device.outputs,
                     arguments.drop_back().take_back(type.getNumResults()));
  device.workspace = arguments.back();
  return device;
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

void tsp::finishDeviceForm(func::FuncOp kernel, DeviceKernel &device,
                           const DeviceLaunch &launch) {
  gpu::GPUFuncOp function = device.function;
  OpBuilder builder = OpBuilder::atBlockEnd(&function.getBody().back());
  gpu::ReturnOp::create(builder, function.getLoc());
  int64_t workspace = llvm::alignTo(launch.workspaceBytes, 256);
  SmallVector<Type> types(function.getFunctionType().getInputs());
  unsigned last = types.size() - 1;
  if (workspace > 0) {
    types[last] = MemRefType::get({workspace}, builder.getI8Type());
    device.workspace.setType(types[last]);
  } else {
    types.pop_back();
    function.getBody().front().eraseArgument(last);
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
}

DeviceLaunch tsp::getDeviceLaunch(func::FuncOp kernel) {
  DeviceLaunch launch;
  llvm::copy(
      kernel->getAttrOfType<DenseI64ArrayAttr>(kDeviceGridAttr).asArrayRef(),
      launch.grid.begin());
  llvm::copy(
      kernel->getAttrOfType<DenseI64ArrayAttr>(kDeviceBlockAttr).asArrayRef(),
      launch.block.begin());
  launch.sharedBytes =
      kernel->getAttrOfType<IntegerAttr>(kDeviceSharedAttr).getInt();
  launch.workspaceBytes =
      kernel->getAttrOfType<IntegerAttr>(kDeviceWorkspaceAttr).getInt();
  return launch;
}
