//===- Passes.h - passes that make and lower kernels ------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_KERNELS_PASSES_H
#define TSP_KERNELS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tsp {

#define GEN_PASS_DECL
#include "tsp/Passes/Kernels.h.inc"

#define GEN_PASS_REGISTRATION
#include "tsp/Passes/Kernels.h.inc"

} // namespace tsp

#endif // TSP_KERNELS_PASSES_H
