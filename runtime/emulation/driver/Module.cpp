//===- Module.cpp - loaded code -------------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Module.h"

#include "driver/Memory.h"
#include "driver/Options.h"

#include <cstdlib>

using namespace tsp::emulation;

static const Capability &capabilityOf(CUfunction function) {
  return options().capabilities[function->module->context->device];
}

CUresult tsp::emulation::loadModule(CUcontext context, const Image &image,
                                    CUmodule &result, std::string &log) {
  const std::string *ptx = nullptr;
  const Capability &capability = options().capabilities[context->device];
  if (CUresult error = image.choose(capability, ptx, log)) {
    report("code cannot be loaded: " + log);
    return error;
  }
  ModuleOptions moduleOptions;
  moduleOptions.checker = wantsChecker();
  auto module = std::make_unique<CUmod_st>();
  module->context = context;
  module->code = Module::load(*ptx, moduleOptions, log);
  if (!module->code) {
    report("PTX cannot be compiled: " + log);
    return CUDA_ERROR_INVALID_PTX;
  }
  for (const Global &global : module->code->globals()) {
    Allocation range;
    range.begin = reinterpret_cast<uintptr_t>(global.address);
    range.size = global.size;
    range.kind = Allocation::Kind::ModuleGlobals;
    range.context = context;
    range.device = context->device;
    if (range.size > 0)
      Memory::get().add(range);
  }
  DriverGuard guard(driverLock());
  result = handles<CUmod_st>().add(std::move(module));
  context->modules.insert(result);
  return CUDA_SUCCESS;
}

void tsp::emulation::unloadModule(CUmodule module) {
  DriverGuard guard(driverLock());
  auto owned = handles<CUmod_st>().take(module);
  module->context->modules.erase(module);
  for (auto &[name, function] : owned->functions)
    handles<CUfunc_st>().take(function.get()).release();
  for (const Global &global : owned->code->globals())
    Memory::get().remove(reinterpret_cast<uintptr_t>(global.address),
                         Allocation::Kind::ModuleGlobals);
}

CUresult tsp::emulation::getFunction(CUmodule module, const std::string &name,
                                     CUfunction &result) {
  DriverGuard guard(driverLock());
  if (!handles<CUmod_st>().has(module))
    return CUDA_ERROR_INVALID_HANDLE;
  std::unique_ptr<CUfunc_st> &function = module->functions[name];
  if (!function) {
    const Kernel *kernel = module->code->findKernel(name);
    if (!kernel) {
      module->functions.erase(name);
      return CUDA_ERROR_NOT_FOUND;
    }
    auto made = std::make_unique<CUfunc_st>();
    made->module = module;
    made->kernel = kernel;
    made->isLoaded = !loadsLazily();
    made->maxDynamicShared =
        std::max(0, defaultSharedBytes - int(kernel->staticSharedBytes));
    // The module owns the function; the table only knows that it lives.
    function.reset(handles<CUfunc_st>().add(std::move(made)));
  }
  result = function.get();
  return CUDA_SUCCESS;
}

bool tsp::emulation::loadsLazily() {
  const char *mode = getenv("CUDA_MODULE_LOADING");
  return !mode || std::string(mode) != "EAGER";
}

CUresult tsp::emulation::loadFunction(CUfunction function) {
  if (function->isLoaded)
    return CUDA_SUCCESS;
  if (CUresult error = synchronizeContext(function->module->context,
                                          /*isPromised=*/false))
    return error;
  function->isLoaded = true;
  return CUDA_SUCCESS;
}

CUresult tsp::emulation::functionOf(CUkernel kernel, CUcontext context,
                                    CUfunction &result) {
  DriverGuard guard(driverLock());
  if (!handles<CUkern_st>().has(kernel))
    return CUDA_ERROR_INVALID_HANDLE;
  CUmodule &module = kernel->library->modules[context];
  if (!module || !handles<CUmod_st>().has(module)) {
    std::string log;
    if (CUresult error =
            loadModule(context, kernel->library->image, module, log))
      return error;
  }
  return getFunction(module, kernel->name, result);
}

CUresult tsp::emulation::findFunction(CUfunction handle, CUfunction &result) {
  if (handles<CUfunc_st>().has(handle)) {
    result = handle;
    return CUDA_SUCCESS;
  }
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  return functionOf(reinterpret_cast<CUkernel>(handle), context, result);
}

/// Threads that a block of the kernel may have.
static int maxThreads(const Kernel &kernel) {
  int64_t threads = 1;
  for (uint32_t dim : kernel.maxThreads)
    threads *= dim;
  return threads ? int(std::min<int64_t>(threads, 1024)) : 1024;
}

CUresult tsp::emulation::getAttribute(CUfunction function,
                                      CUfunction_attribute attribute,
                                      int &value) {
  const Kernel &kernel = *function->kernel;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    value = maxThreads(kernel);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    value = int(kernel.staticSharedBytes);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    value = int(kernel.localBytes);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    value = function->maxDynamicShared;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    value = capabilityOf(function).number();
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
  case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    value = 0;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    value = -1;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    value = kernel.clusterSize[0] != 0;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    value = int(kernel.clusterSize[attribute -
                                   CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH]);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    value = function->allowsLargeClusters;
    return CUDA_SUCCESS;
  default:
    // Registers are ptxas's business: PTX does not tell.
    return notSupported("cuFuncGetAttribute of attribute " +
                        std::to_string(attribute));
  }
}

CUresult tsp::emulation::setAttribute(CUfunction function,
                                      CUfunction_attribute attribute,
                                      int value) {
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    if (value < 0 || value + int(function->kernel->staticSharedBytes) >
                         capabilityOf(function).limits().sharedBytes)
      return CUDA_ERROR_INVALID_VALUE;
    function->maxDynamicShared = value;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    function->allowsLargeClusters = value != 0;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    // A hint, and an emulated device has no caches to divide.
    return value >= -1 && value <= 100 ? CUDA_SUCCESS
                                       : CUDA_ERROR_INVALID_VALUE;
  default:
    return notSupported("cuFuncSetAttribute of attribute " +
                        std::to_string(attribute));
  }
}

CUresult tsp::emulation::getParameter(CUfunction function, size_t index,
                                      size_t *offset, size_t *size) {
  const auto &parameters = function->kernel->parameters;
  if (!offset || index >= parameters.size())
    return CUDA_ERROR_INVALID_VALUE;
  *offset = parameters[index].offset;
  if (size)
    *size = parameters[index].size;
  return CUDA_SUCCESS;
}
