//===- ImportPipeline.cpp - from the text of JAX to flat functions --------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Frontend/Frontend.h"
#include "tsp/Frontend/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;

void tsp::buildImportPipeline(OpPassManager &manager,
                              const ImportOptions &options) {
  // Names first: they are in locations of arguments, also of private functions.
  NameArgumentsOptions naming;
  naming.params.assign(options.params.begin(), options.params.end());
  manager.addPass(createNameArguments(naming));
  // Before the checks: what no entry calls need not be supported.
  manager.addPass(createInlineCalls());
  manager.addPass(createSymbolDCEPass());
  manager.addPass(createDropAnnotations());
  manager.addPass(createRefuseUnsupported());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}
