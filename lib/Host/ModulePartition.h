//===- ModulePartition.h - parts of a module, to compile at once *- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_HOST_MODULEPARTITION_H
#define TSP_LIB_HOST_MODULEPARTITION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <vector>

namespace tsp {

struct ModulePart {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  bool entries = false; // the host program, and not kernels
};

/// Copies a module of the LLVM dialect into one part for the entries and up to
/// `count` parts of kernels of about equal size. Helpers and constants go with
/// each part that uses them; kernels are visible inside the final binary only.
std::vector<ModulePart> partitionModule(mlir::ModuleOp module, unsigned count);

} // namespace tsp

#endif // TSP_LIB_HOST_MODULEPARTITION_H
