//===- Optimise.h - LLVM's default pipeline ---------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_SUPPORT_OPTIMISE_H
#define TSP_SUPPORT_OPTIMISE_H

#include "llvm/Passes/OptimizationLevel.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tsp {

/// Gives the module the machine's triple and data layout, and runs LLVM's
/// default pipeline of this level on it.
void optimise(llvm::Module &module, llvm::TargetMachine &machine,
              llvm::OptimizationLevel level);

} // namespace tsp

#endif // TSP_SUPPORT_OPTIMISE_H
