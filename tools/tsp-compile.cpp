//===- tsp-compile.cpp - a StableHLO program to a binary ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileFlags.h"

static const char *overview = R"(Compiles a StableHLO program, as JAX prints it, into one binary that all ranks
of a mesh run together.

EXAMPLES
  One rank, an executable that knows its own flags (./model --help):
    tsp-compile model.mlir -o model
    ./model --args=weights.safetensors --args=inputs.npz --out=out.npz

  Four ranks, weights and tokens sharded on the same axis:
    tsp-compile model.mlir -o model --mesh=t=4 --strategy=tsp --params='params*'

  What every rank does, and why:
    tsp-compile model.mlir -o - --mesh=t=4 --strategy=tsp --emit=mlir-scheduled --remarks

  Memory plan and counts as JSON, times of the phases:
    tsp-compile model.mlir -o model --report=plan.json -v

  For GPUs: machine code for A100 and H100, and PTX for others:
    tsp-compile model.mlir -o model --mesh=t=8 --strategy=tsp --target=cuda:sm_80,sm_90

  A shared object for other programs (tsp_runtime.h says how to call it):
    tsp-compile model.mlir -o libmodel.so --emit=so
)";

int main(int argc, char **argv) {
  tsp::CommandLine line = tsp::parseCommandLine(argc, argv, overview, /*withOutput=*/true);
  return tsp::compileFile(line.input, line.options);
}
