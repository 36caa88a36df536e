//===- Passes.h - passes that take in programs ------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_FRONTEND_PASSES_H
#define TSP_FRONTEND_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tsp {

#define GEN_PASS_DECL
#include "tsp/Passes/Frontend.h.inc"

#define GEN_PASS_REGISTRATION
#include "tsp/Passes/Frontend.h.inc"

} // namespace tsp

#endif // TSP_FRONTEND_PASSES_H
