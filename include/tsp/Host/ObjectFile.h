//===- ObjectFile.h - LLVM dialect to object files --------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_HOST_OBJECTFILE_H
#define TSP_HOST_OBJECTFILE_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace tsp {

struct ObjectOptions {
  /// "native", "generic" (the architecture's baseline) or a name LLVM knows.
  std::string cpu = "native";
  /// Threads that compile; 0: one a core.
  unsigned threads = 0;
};

/// Compiles a module of the LLVM dialect (kernels and entries) into object files
/// in `directory`. Kernels are spread over several of them, compiled at the same
/// time with full optimisation; the entries are straight-line code and take the
/// fast way.
mlir::FailureOr<std::vector<std::string>> compileObjects(mlir::ModuleOp module,
                                                         const ObjectOptions &options,
                                                         llvm::StringRef directory);

/// Writes the object that holds a model's description.
mlir::LogicalResult compileDescription(mlir::ModuleOp module, llvm::StringRef json,
                                       const ObjectOptions &options, llvm::StringRef path);

/// Writes the code of the device's kernels as an object of its own
/// (tsp_device_code).
mlir::LogicalResult compileDeviceImage(mlir::ModuleOp module, llvm::StringRef fatbin,
                                       const ObjectOptions &options, llvm::StringRef path);

/// The module as optimised LLVM IR text.
mlir::LogicalResult printLLVM(mlir::ModuleOp module, const ObjectOptions &options,
                              llvm::raw_ostream &os);

/// What code for this CPU may use that not all of its architecture have, by the
/// names of /proc/cpuinfo.
std::vector<std::string> getCpuFeatures(const ObjectOptions &options);

/// Names that LLVM knows for this machine's architecture, to check an option.
bool isKnownCpu(llvm::StringRef cpu);

} // namespace tsp

#endif // TSP_HOST_OBJECTFILE_H
