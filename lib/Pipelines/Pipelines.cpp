//===- Pipelines.cpp - the phases of the compiler -------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The map. Each phase takes what the one before it leaves:
//
//   import     flat functions of supported ops; arguments with names and kinds
//   raised     attention as tsp.sdpa
//   sharded    every value with its placement, every op with what it does
//   local      the program of one rank: local shapes, collectives, folds
//   scheduled  folds as loops that say how their parts are moved
//   kernels    launches of kernels, collectives, loops; collectives started
//              early
//   codegen    the kernels as LLVM functions (cuda: as NVVM functions of a
//              gpu.module); the host program as before
//   buffers    every value has its place in one arena; still no target named
//   runtime    entries as LLVM functions that call the runtime
//
//===----------------------------------------------------------------------===//

#include "tsp/Pipelines/Pipelines.h"
#include "tsp/Frontend/Frontend.h"
#include "tsp/Frontend/Raise.h"
#include "tsp/Host/Host.h"
#include "tsp/Kernels/GPU/Passes.h"
#include "tsp/Kernels/GPU/TargetDescription.h"
#include "tsp/Kernels/Kernels.h"
#include "tsp/Kernels/Passes.h"
#include "tsp/Sharding/Passes.h"
#include "tsp/Sharding/SchedulePasses.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tsp;

static void buildImport(OpPassManager &manager, const PipelineOptions &options) {
  ImportOptions importOptions;
  importOptions.params = options.params;
  buildImportPipeline(manager, importOptions);
}

/// Before sharding: the partitioner knows the roles of attention's dims, and
/// folds blocks that name their axis as it folds what JAX wrote.
static void buildRaise(OpPassManager &manager, const PipelineOptions &options) {
  manager.addPass(createExpandBlocks());
  RaiseAttentionOptions raise;
  raise.remarks = options.remarks;
  manager.addPass(createRaiseAttention(raise));
  manager.addPass(createRaiseLosses());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

/// The program's own shardings first: they are seeds beside the strategy's.
static void buildSharded(OpPassManager &manager, const PipelineOptions &options) {
  manager.addPass(createTspImportShardings());
  TspPlanOptions plan;
  plan.strategy = options.strategy;
  plan.remarks = options.remarks;
  manager.addPass(createTspPlan(plan));
}

/// Collectives of shard_map are converted once its body is part of the program.
/// Simplified once more: a strategy leaves constants and views behind.
static void buildLocal(OpPassManager &manager, const PipelineOptions &) {
  manager.addPass(createTspPartition());
  manager.addPass(createTspConvertCollectives());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createCheckPlacements());
}

/// Schedules are chosen for folds as a whole; what a step costs is known before
/// it becomes a loop.
static void buildSchedule(OpPassManager &manager, const PipelineOptions &options) {
  manager.addNestedPass<func::FuncOp>(createSinkIntoFolds());
  SelectScheduleOptions select;
  select.schedules.assign(options.schedules.begin(), options.schedules.end());
  select.prefetch = options.prefetch;
  select.remarks = options.remarks;
  manager.addPass(createSelectSchedule(select));
  manager.addNestedPass<func::FuncOp>(createExpandFolds());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

/// Collectives are started early once it is known which kernel reads them.
static void buildKernels(OpPassManager &manager, const PipelineOptions &options) {
  SplitAttentionOptions split;
  if (options.isDevice())
    split.units = findTargetDescription(options.architectures.front())->numProcessors;
  manager.addNestedPass<func::FuncOp>(createSplitAttention(split));
  if (options.isDevice()) {
    GpuSplitReductionsOptions reductions;
    reductions.architecture = options.architectures.front();
    manager.addPass(createGpuSplitReductions(reductions));
  }
  FormKernelsOptions form;
  form.remarks = options.remarks;
  manager.addPass(createFormKernels(form));
  manager.addPass(createCSEPass());
  manager.addNestedPass<func::FuncOp>(createStartCollectives());
  manager.addNestedPass<func::FuncOp>(createPipelineFolds());
}

/// Each kernel on its own: equal layers share their kernels.
static void buildCodegen(OpPassManager &manager, const PipelineOptions &options) {
  if (options.isDevice()) {
    DeviceKernelOptions deviceOptions;
    deviceOptions.architectures = options.architectures;
    buildDeviceKernelPipeline(manager, deviceOptions);
    return;
  }
  KernelOptions kernelOptions;
  kernelOptions.vectorBits = options.vectorBits;
  buildKernelPipeline(manager, kernelOptions);
}

static void buildBuffers(OpPassManager &manager, const PipelineOptions &options) {
  PlanBuffersOptions plan;
  plan.remarks = options.remarks;
  manager.addPass(createPlanBuffers(plan));
}

/// Kernels are finished by now, so that launches know their grid and scratch.
static void buildRuntime(OpPassManager &manager, const PipelineOptions &options) {
  BuffersToLLVMOptions toLLVM;
  toLLVM.device = options.isDevice();
  manager.addPass(createBuffersToLLVM(toLLVM));
}

ArrayRef<Phase> tsp::getPhases() {
  static const Phase phases[] = {
      {"import", "Takes in a program as JAX prints it", buildImport},
      {"raised", "Recognises attention", buildRaise},
      {"sharded", "Gives every value its placement", buildSharded},
      {"local", "Makes the program of one rank", buildLocal},
      {"scheduled", "Turns folds into loops that move their parts", buildSchedule},
      {"kernels", "Makes launches of kernels, starts collectives early", buildKernels},
      {"codegen", "Compiles kernels to LLVM functions", buildCodegen},
      {"buffers", "Plans the buffers of each entry in one arena", buildBuffers},
      {"runtime", "Turns entries into calls of the runtime", buildRuntime},
  };
  return phases;
}
