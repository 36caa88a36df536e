//===- Module.h - loaded code -----------------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_DRIVER_MODULE_H
#define TSP_EMULATION_DRIVER_MODULE_H

#include "Engine.h"
#include "driver/Context.h"
#include "driver/Image.h"

#include <map>

/// A kernel within a module.
struct CUfunc_st {
  CUmodule module = nullptr;
  const tsp::emulation::Kernel *kernel = nullptr;
  /// Dynamic shared memory that a launch may ask for.
  int maxDynamicShared = 0;
  /// Clusters of more than 8 blocks.
  bool allowsLargeClusters = false;
  std::atomic<bool> isLoaded{false};
};

struct CUmod_st {
  CUcontext context = nullptr;
  std::unique_ptr<tsp::emulation::Module> code;
  std::map<std::string, std::unique_ptr<CUfunc_st>> functions;
};

/// A kernel of a library: stands for one function in each context.
struct CUkern_st {
  CUlibrary library = nullptr;
  std::string name;
};

/// Code that each context loads when it first needs it.
struct CUlib_st {
  tsp::emulation::Image image;
  std::map<CUcontext, CUmodule> modules;
  std::map<std::string, std::unique_ptr<CUkern_st>> kernels;
};

namespace tsp::emulation {

/// Shared memory of a block without opting in.
constexpr int defaultSharedBytes = 48 * 1024;
constexpr int reservedSharedBytes = 1024;

/// Loads what the context's device takes of an image; on an error `log` says
/// why.
CUresult loadModule(CUcontext context, const Image &image, CUmodule &result,
                    std::string &log);
void unloadModule(CUmodule module);
CUresult getFunction(CUmodule module, const std::string &name,
                     CUfunction &result);

/// Whether functions are loaded when they are first needed: not if
/// CUDA_MODULE_LOADING=EAGER.
bool loadsLazily();
/// Loading may wait for all work of the context; here it always does.
CUresult loadFunction(CUfunction function);

/// Finds the function that a handle stands for, which may be a CUkernel.
CUresult findFunction(CUfunction handle, CUfunction &result);
CUresult functionOf(CUkernel kernel, CUcontext context, CUfunction &result);

CUresult getAttribute(CUfunction function, CUfunction_attribute attribute,
                      int &value);
CUresult setAttribute(CUfunction function, CUfunction_attribute attribute,
                      int value);
CUresult getParameter(CUfunction function, size_t index, size_t *offset,
                      size_t *size);

} // namespace tsp::emulation

#endif // TSP_EMULATION_DRIVER_MODULE_H
