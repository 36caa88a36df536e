//===- tsp-opt.cpp - run passes and pipelines on IR -----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Pipelines/Register.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

static const char *overview = R"text(tsp-opt: passes and pipelines of the tsp compiler

EXAMPLES
  One pass:
    tsp-opt model.mlir --tsp-raise-attention=remarks

  A phase of tsp-compile (import, raised, sharded, local, scheduled, kernels, codegen, buffers,
  runtime):
    tsp-compile model.mlir -o local.mlir --mesh=t=4 --strategy=tsp --emit=mlir-local
    tsp-opt local.mlir --tsp-phase-scheduled

  Several, as a pipeline, with the IR after each:
    tsp-opt model.mlir --pass-pipeline="builtin.module(tsp-import,tsp-partition{strategy=tp})" \
        --mlir-print-ir-after-all
)text";

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tsp::registerDialects(registry);
  tsp::registerPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, overview, registry));
}
