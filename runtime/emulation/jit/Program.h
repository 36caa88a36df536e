//===- Program.h - a compiled module ------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_JIT_PROGRAM_H
#define TSP_EMULATION_JIT_PROGRAM_H

#include "Engine.h"
#include "exec/WarpContext.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tsp::emulation {

/// Runs one warp to its end (barriers switch to other warps inside).
using KernelEntry = void (*)(WarpContext *);

struct CompiledKernel {
  Kernel description;
  std::vector<Site> sites;
  /// Where the launch's dynamic shared memory begins.
  uint64_t dynamicOffset = 0;
  std::string symbol;

  /// The machine code, made at the first call: many kernels of a module are
  /// never launched. Null with an error when code generation fails.
  KernelEntry entry(std::string &error);

  /// Keeps the kernel in the JIT.
  std::shared_ptr<void> resources;

private:
  std::once_flag once;
  KernelEntry code = nullptr;
  std::string failure;
};

/// The code of a module and the layout of its variables. Immutable but for code
/// generation on demand; shared by all loads of the same text.
struct Program {
  std::vector<std::unique_ptr<CompiledKernel>> kernels;
  std::unique_ptr<ptx::Module> source;
  uint64_t variableBytes = 0;

  /// Compiles, or finds what was compiled of the same text. Throws ptx::Error.
  static std::shared_ptr<Program> get(const std::string &ptx);
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_JIT_PROGRAM_H
