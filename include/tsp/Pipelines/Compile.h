//===- Compile.h - a program to a file --------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_PIPELINES_COMPILE_H
#define TSP_PIPELINES_COMPILE_H

#include "tsp/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"

namespace tsp {

struct CompileOptions : PipelineOptions {
  /// Mesh of ranks, "d=2,t=4"; empty: the program's own, else one rank.
  std::string mesh;
  /// Kind of machine: "host" (this one), or "cuda:" and architectures of GPUs,
  /// "cuda:sm_80,sm_90".
  std::string target = "host";
  /// Whose PTX is embedded in binaries beside machine code: "plain", that of the
  /// oldest architecture that is no "a" variant, or "all", the "a" variants' too.
  std::string embedPtx = "plain";
  /// "native", "generic" or a CPU that LLVM knows; empty: native for the target
  /// "host", generic beside GPUs.
  std::string targetCpu;
  /// What to write: "mlir-<phase>", "llvm", "obj", "so" or "exe"; of the kernels of
  /// one GPU architecture: "ptx", "cubin" or "sass".
  std::string emit = "exe";
  /// What the input is: "" (a program), or "mlir-<phase>": what that phase leaves.
  std::string from;
  /// Where to write it; "-" is standard output, for texts.
  std::string output;
  /// File of the report (JSON); "-" is standard output; empty: none.
  std::string report;
  /// Directory of libtsp_runtime.a and libtsp_main.a.
  std::string runtimeDirectory;
  /// Print the time of each phase on standard error.
  bool verbose = false;
};

/// Everything that `emit` may be.
std::vector<std::string> getEmitKinds();

/// Checks what can be checked without a program: names, numbers, and that the
/// output can be written. Returns the text of an error, or "".
std::string checkOptions(const CompileOptions &options);

/// Compiles a module read from `source` (used up) and writes the output. Errors
/// go to the context's diagnostics.
mlir::LogicalResult compile(mlir::ModuleOp module, const CompileOptions &options);

/// Reads a program and compiles it. Diagnostics go to standard error. Returns the
/// exit code of a tool.
int compileFile(llvm::StringRef input, const CompileOptions &options);

} // namespace tsp

#endif // TSP_PIPELINES_COMPILE_H
