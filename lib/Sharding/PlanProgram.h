//===- PlanProgram.h - plans of all entries of a program --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_SHARDING_PLANPROGRAM_H
#define TSP_LIB_SHARDING_PLANPROGRAM_H

#include "mlir/IR/BuiltinOps.h"

namespace tsp {

/// Set on a module whose ops carry a plan.
inline constexpr llvm::StringLiteral kPlanned = "tsp.planned";

/// Plans all public functions and writes the plans into the IR. Parameters and
/// states of one name have one placement in all of them.
mlir::LogicalResult planProgram(mlir::ModuleOp module, llvm::StringRef strategy,
                                bool remarks);

} // namespace tsp

#endif // TSP_LIB_SHARDING_PLANPROGRAM_H
