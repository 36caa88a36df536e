//===- CallPattern.h - an op on buffers as a call of the runtime -*- C++
//-*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_HOST_CALLPATTERN_H
#define TSP_LIB_HOST_CALLPATTERN_H

#include "RuntimeCalls.h"
#include "tsp/Host/ModelDescription.h"

namespace tsp {

/// The type of a function of the runtime.
mlir::LLVM::LLVMFunctionType getFunctionType(mlir::MLIRContext *context,
                                             RuntimeFunction function);

/// What all patterns use: constants, the rank, calls.
template <typename OpTy> struct CallPattern : mlir::OpConversionPattern<OpTy> {
  using Adaptor = typename OpTy::Adaptor;
  CallPattern(const mlir::LLVMTypeConverter &converter,
              mlir::MLIRContext *context, MeshAttr mesh, int space)
      : mlir::OpConversionPattern<OpTy>(converter, context), mesh(mesh),
        space(space) {}

  static mlir::LLVM::LLVMFuncOp function(mlir::Operation *op) {
    return op->getParentOfType<mlir::LLVM::LLVMFuncOp>();
  }
  static mlir::Value rank(mlir::Operation *op) {
    return function(op).getArgument(0);
  }
  static mlir::Value argumentArray(mlir::Operation *op) {
    return *function(op)
                .getBody()
                .front()
                .template getOps<mlir::LLVM::AllocaOp>()
                .begin();
  }
  static mlir::Value i32(mlir::OpBuilder &builder, mlir::Location loc,
                         int64_t value) {
    return mlir::LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                          builder.getI32IntegerAttr(value));
  }
  static mlir::Value i64(mlir::OpBuilder &builder, mlir::Location loc,
                         int64_t value) {
    return mlir::LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                          builder.getI64IntegerAttr(value));
  }
  static mlir::LLVM::CallOp call(mlir::OpBuilder &builder, mlir::Location loc,
                                 RuntimeFunction callee,
                                 mlir::ValueRange arguments) {
    return mlir::LLVM::CallOp::create(
        builder, loc, getFunctionType(builder.getContext(), callee),
        callee.name, arguments);
  }

  /// Puts the pointers of a launch into the argument array.
  static mlir::Value storeArguments(mlir::OpBuilder &builder, BufferLaunchOp op,
                                    BufferLaunchOp::Adaptor adaptor,
                                    int64_t &count) {
    auto pointer = mlir::LLVM::LLVMPointerType::get(builder.getContext());
    mlir::Value array = argumentArray(op);
    for (mlir::ValueRange list : {adaptor.getInputs(), adaptor.getOutputs()})
      for (mlir::Value buffer : list) {
        mlir::Value slot = mlir::LLVM::GEPOp::create(
            builder, op.getLoc(), pointer, pointer, array,
            mlir::ArrayRef<mlir::LLVM::GEPArg>{int32_t(count++)});
        mlir::LLVM::StoreOp::create(builder, op.getLoc(), buffer, slot);
      }
    return array;
  }

  MeshAttr mesh;
  int space; // of all buffers
};

/// Launches, scalars and constants where buffers are in a device's memory.
void populateDeviceCallPatterns(const mlir::LLVMTypeConverter &converter,
                                mlir::RewritePatternSet &patterns,
                                MeshAttr mesh, int space);

} // namespace tsp

#endif // TSP_LIB_HOST_CALLPATTERN_H
