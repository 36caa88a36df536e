//===- Register.cpp - dialects and passes of the compiler -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Pipelines/Register.h"
#include "tsp/Dialect/Sdy/IR/SdyDialect.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Dialect/TSP/IR/TspDialect.h"
#include "tsp/Frontend/Frontend.h"
#include "tsp/Frontend/Passes.h"
#include "tsp/Frontend/Raise.h"
#include "tsp/Kernels/Kernels.h"
#include "tsp/Kernels/Passes.h"
#include "tsp/Sharding/Passes.h"
#include "tsp/Sharding/SchedulePasses.h"
#include "tsp/Sharding/ShardingRule.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"

void tsp::registerDialects(mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<tsp::TspDialect, stablehlo::StableHLODialect,
                  chlo::CHLODialect, sdy::SdyDialect>();
  registerShardingRules(registry);
}

void tsp::registerPasses() {
  mlir::registerAllPasses();
  registerTspSchedulePasses();
  registerTspFrontendPasses();
  registerTspKernelsPasses();
  registerTspShardingPasses();
  mlir::PassPipelineRegistration<ImportOptions>(
      "tsp-import", "Takes in a program as JAX prints it: flat functions of "
                    "supported ops, arguments with names and kinds",
      buildImportPipeline);
  registerTspRaisePasses();
  mlir::PassPipelineRegistration<>(
      "tsp-kernel-pipeline", "Takes kernels from tensors to LLVM functions",
      [](mlir::OpPassManager &manager) {
        buildKernelPipeline(manager, KernelOptions());
      });
}
