//===- Kernels.cpp - the forms of a kernel --------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Kernels/Kernels.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

bool tsp::isTensorKernel(func::FuncOp function) {
  return function->hasAttr(kKernelAttr) && !function->hasAttr(kGridAttr) &&
         !function.isExternal();
}

SmallVector<func::FuncOp> tsp::getTensorKernels(ModuleOp module) {
  return llvm::filter_to_vector(module.getOps<func::FuncOp>(), isTensorKernel);
}

Type tsp::getStorageType(Type elementType) {
  unsigned width = elementType.getIntOrFloatBitWidth();
  if (isa<FloatType>(elementType) && width > 8)
    return elementType;
  return IntegerType::get(elementType.getContext(), std::max(width, 8u));
}

MemRefType tsp::getBufferType(RankedTensorType type) {
  // Bare pointers stand for memrefs with canonical strides, which an empty one
  // of a higher rank does not have.
  Type storage = getStorageType(type.getElementType());
  if (type.getNumElements() == 0)
    return MemRefType::get({0}, storage);
  return MemRefType::get(type.getShape(), storage);
}

tsp::KernelBuffers tsp::startBufferForm(func::FuncOp kernel,
                                        Region &tensorBody) {
  FunctionType type = kernel.getFunctionType();
  Location loc = kernel.getLoc();
  tensorBody.takeBody(kernel.getBody());
  Block *block = new Block;
  kernel.getBody().push_back(block);

  KernelBuffers buffers;
  auto addBuffers = [&](TypeRange types, SmallVectorImpl<Value> &list) {
    for (Type t : types)
      list.push_back(
          block->addArgument(getBufferType(cast<RankedTensorType>(t)), loc));
  };
  addBuffers(type.getInputs(), buffers.inputs);
  addBuffers(type.getResults(), buffers.outputs);
  Type index = IndexType::get(kernel.getContext());
  buffers.begin = block->addArgument(index, loc);
  buffers.end = block->addArgument(index, loc);
  Type byte = IntegerType::get(kernel.getContext(), 8);
  buffers.scratch = block->addArgument(MemRefType::get({0}, byte), loc);
  return buffers;
}

void tsp::finishBufferForm(func::FuncOp kernel, int64_t grid,
                           int64_t scratchBytes) {
  scratchBytes = llvm::alignTo(scratchBytes, 64);
  Block &block = kernel.getBody().front();
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  func::ReturnOp::create(builder, kernel.getLoc());
  block.getArguments().back().setType(
      MemRefType::get({scratchBytes}, builder.getI8Type()));
  kernel.setType(builder.getFunctionType(block.getArgumentTypes(), {}));
  kernel.removeResAttrsAttr();
  kernel.removeArgAttrsAttr();
  kernel->setAttr(kGridAttr, builder.getI64IntegerAttr(grid));
  kernel->setAttr(kScratchAttr, builder.getI64IntegerAttr(scratchBytes));
}
