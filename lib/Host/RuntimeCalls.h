//===- RuntimeCalls.h - buffer ops as calls of the runtime ------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_HOST_RUNTIMECALLS_H
#define TSP_LIB_HOST_RUNTIMECALLS_H

#include "tsp/Dialect/TSP/IR/TspDialect.h"
#include "tsp/Host/RuntimeABI.h"

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/DialectConversion.h"

namespace tsp {

/// Declares every function of the runtime that compiled code calls.
void declareRuntime(mlir::ModuleOp module);

/// Global that holds the zero-ended text of a name.
std::string getTextName(llvm::StringRef name);
void makeText(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef symbol,
              llvm::StringRef text);

/// A text for the name of each launched kernel, which the trace shows.
void makeKernelNames(mlir::ModuleOp module);

/// A `tsp_device_kernel` for each launched kernel in device form.
void makeDeviceKernels(mlir::ModuleOp module);

/// tsp.buffer ops, stores of scalars and constants to calls, inside functions whose
/// first argument is the rank and whose first alloca takes the arguments of
/// launches. `space`: of all buffers.
void populateRuntimeCallPatterns(const mlir::LLVMTypeConverter &converter,
                                 mlir::RewritePatternSet &patterns, MeshAttr mesh, int space);

} // namespace tsp

#endif // TSP_LIB_HOST_RUNTIMECALLS_H
