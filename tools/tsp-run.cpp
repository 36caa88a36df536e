//===- tsp-run.cpp - compile a program and run it -------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileFlags.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <dlfcn.h>

static const char *overview = R"(Compiles a StableHLO program and runs it at once. Flags after -- are those of a
compiled executable (tsp-run MODEL.mlir -- --help lists them).

EXAMPLES
  tsp-run model.mlir -- --args=weights.safetensors --args=inputs.npz --out=out.npz
  tsp-run model.mlir --mesh=t=2 --strategy=tsp -- --args=w.npz --stats=stats.json
)";

/// The runtime's own command line, out of the shared object.
static int runModel(const char *path, int argc, char **argv) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  auto *main = library ? reinterpret_cast<int (*)(int, char **)>(dlsym(library, "tsp_main"))
                       : nullptr;
  if (!main) {
    llvm::errs() << "error: cannot load the compiled program: " << dlerror() << "\n";
    return 1;
  }
  return main(argc, argv);
}

int main(int argc, char **argv) {
  int end = 1;
  while (end < argc && std::strcmp(argv[end], "--") != 0)
    ++end;
  tsp::CommandLine line = tsp::parseCommandLine(end, argv, overview, /*withOutput=*/false);
  llvm::SmallString<128> path;
  if (std::error_code code = llvm::sys::fs::createTemporaryFile("tsp-run", "so", path)) {
    llvm::errs() << "error: cannot make a temporary file: " << code.message() << "\n";
    return 1;
  }
  line.options.emit = "so";
  line.options.output = path.str().str();
  int code = tsp::compileFile(line.input, line.options);
  if (code == 0) {
    // The program's own flags follow --, behind the name of the tool.
    char **arguments = argv + (end < argc ? end : argc - 1);
    arguments[0] = argv[0];
    code = runModel(path.c_str(), end < argc ? argc - end : 1, arguments);
  }
  llvm::sys::fs::remove(path);
  return code;
}
