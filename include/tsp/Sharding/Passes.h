//===- Passes.h - passes from one program to that of a rank -----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_SHARDING_PASSES_H
#define TSP_SHARDING_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tsp {

#define GEN_PASS_DECL
#include "tsp/Passes/Sharding.h.inc"

#define GEN_PASS_REGISTRATION
#include "tsp/Passes/Sharding.h.inc"

} // namespace tsp

#endif // TSP_SHARDING_PASSES_H
