//===- CompileFlags.h - flags that tsp-compile and tsp-run share *- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_TOOLS_COMPILEFLAGS_H
#define TSP_TOOLS_COMPILEFLAGS_H

#include "tsp/Pipelines/Compile.h"

namespace tsp {

/// A program to compile, as flags give it.
struct CommandLine {
  std::string input;
  CompileOptions options;
};

/// Reads the flags of a tool (its name is argv[0]); prints help or an error and
/// ends the process when there is nothing to compile. `overview` is the text
/// that --help begins with. `withOutput`: the flags -o and --emit exist.
CommandLine parseCommandLine(int argc, char **argv, llvm::StringRef overview, bool withOutput);

} // namespace tsp

#endif // TSP_TOOLS_COMPILEFLAGS_H
