//===- ModelDescription.h - the description that a binary holds -*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_HOST_MODELDESCRIPTION_H
#define TSP_HOST_MODELDESCRIPTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace tsp {

/// Describes an entry on buffers (tsp-plan-buffers) by the schema of the runtime
/// header: arguments, results, placements, arena. Returns the JSON object's text.
std::string describeEntry(mlir::func::FuncOp entry);

/// The whole description, from the entries' texts that tsp-buffers-to-llvm has
/// left on the module. `cpuFeatures`: what the code needs (getCpuFeatures).
std::string describeModel(mlir::ModuleOp module, llvm::StringRef strategy, double compileSeconds,
                          llvm::ArrayRef<std::string> cpuFeatures);

/// Bytes of the constants of a module on buffers, each once. In a device's memory
/// they are kept beside the buffers; tsp-buffers-to-llvm leaves their size on the
/// module.
int64_t getConstantBytes(mlir::ModuleOp module);
inline constexpr llvm::StringLiteral kDeviceConstantsAttr = "tsp.device_constants";

/// Name of an element type in descriptions; its number in `tsp_dtype`.
llvm::StringRef getDtypeName(mlir::Type elementType);
int64_t getDtypeNumber(mlir::Type elementType);

} // namespace tsp

#endif // TSP_HOST_MODELDESCRIPTION_H
