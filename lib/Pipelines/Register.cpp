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
#include "tsp/Host/Host.h"
#include "tsp/Kernels/GPU/Passes.h"
#include "tsp/Kernels/Kernels.h"
#include "tsp/Kernels/Passes.h"
#include "tsp/Pipelines/Pipelines.h"
#include "tsp/Sharding/Passes.h"
#include "tsp/Sharding/SchedulePasses.h"
#include "tsp/Sharding/ShardingRule.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

namespace {
/// PipelineOptions as tsp-opt reads them: --tsp-phase-shard="strategy=tsp".
struct PhaseFlags : mlir::PassPipelineOptions<PhaseFlags> {
  Option<std::string> strategy{*this, "strategy", llvm::cl::desc("use of mesh axes"),
                               llvm::cl::init("none")};
  ListOption<std::string> params{*this, "params", llvm::cl::desc("patterns of parameters")};
  Option<bool> remarks{*this, "remarks", llvm::cl::desc("say why"), llvm::cl::init(false)};
  ListOption<std::string> architectures{*this, "architectures",
                                        llvm::cl::desc("of the cuda target; none: host")};
};
} // namespace

void tsp::registerDialects(mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  registry.insert<tsp::TspDialect, stablehlo::StableHLODialect,
                  chlo::CHLODialect, sdy::SdyDialect>();
  registerShardingRules(registry);
}

void tsp::registerPasses() {
  mlir::registerAllPasses();
  registerTspSchedulePasses();
  registerTspFrontendPasses();
  registerTspKernelsPasses();
  registerTspGPUPasses();
  registerTspShardingPasses();
  mlir::PassPipelineRegistration<ImportOptions>(
      "tsp-import", "Takes in a program as JAX prints it: flat functions of "
                    "supported ops, arguments with names and kinds",
      buildImportPipeline);
  registerTspRaisePasses();
  registerTspHostPasses();
  for (const Phase &phase : getPhases())
    mlir::PassPipelineRegistration<PhaseFlags>(
        ("tsp-phase-" + phase.name).str(), phase.summary,
        [build = phase.build](mlir::OpPassManager &manager, const PhaseFlags &flags) {
          PipelineOptions options;
          options.strategy = flags.strategy;
          options.params.assign(flags.params.begin(), flags.params.end());
          options.remarks = flags.remarks;
          options.architectures.assign(flags.architectures.begin(), flags.architectures.end());
          build(manager, options);
        });
  mlir::PassPipelineRegistration<>(
      "tsp-kernel-pipeline", "Takes kernels from tensors to LLVM functions",
      [](mlir::OpPassManager &manager) {
        buildKernelPipeline(manager, KernelOptions());
      });
  mlir::PassPipelineRegistration<>(
      "tsp-gpu-kernel-pipeline", "Takes kernels from tensors to functions of the NVVM dialect",
      [](mlir::OpPassManager &manager) {
        buildDeviceKernelPipeline(manager, DeviceKernelOptions());
      });
}
