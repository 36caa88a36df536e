//===- Raise.h - passes between plain ops and tsp ops -----------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_FRONTEND_RAISE_H
#define TSP_FRONTEND_RAISE_H

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Dialect/TSP/IR/TspDialect.h"

#include "mlir/Pass/Pass.h"

namespace tsp {

#define GEN_PASS_DECL
#include "tsp/Passes/Raise.h.inc"

#define GEN_PASS_REGISTRATION
#include "tsp/Passes/Raise.h.inc"

} // namespace tsp

#endif // TSP_FRONTEND_RAISE_H
