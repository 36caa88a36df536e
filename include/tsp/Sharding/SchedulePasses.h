//===- SchedulePasses.h - passes on folds -----------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_SHARDING_SCHEDULEPASSES_H
#define TSP_SHARDING_SCHEDULEPASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tsp {

#define GEN_PASS_DECL
#include "tsp/Passes/Schedule.h.inc"

#define GEN_PASS_REGISTRATION
#include "tsp/Passes/Schedule.h.inc"

} // namespace tsp

#endif // TSP_SHARDING_SCHEDULEPASSES_H
