//===- Host.h - host code: passes -------------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_HOST_HOST_H
#define TSP_HOST_HOST_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace tsp {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tsp/Passes/Host.h.inc"

} // namespace tsp

#endif // TSP_HOST_HOST_H
