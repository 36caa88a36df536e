//===- ModuleApi.cpp - calls on modules, functions and libraries ----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Image.h"
#include "driver/Module.h"
#include "driver/Stream.h"

#include <cstring>
#include <fstream>
#include <sstream>

using namespace tsp::emulation;

/// Gives a caller the text it has made room for by options of a load.
static void answerLog(const std::string &log, unsigned count,
                      const CUjit_option *names, void **values) {
  char *room = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (names[i] == CU_JIT_ERROR_LOG_BUFFER)
      room = static_cast<char *>(values[i]);
    if (names[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      size = reinterpret_cast<size_t>(values[i]);
  }
  if (!room || !size)
    return;
  size_t length = std::min(size - 1, log.size());
  memcpy(room, log.data(), length);
  room[length] = 0;
}

static bool readFile(const char *path, std::string &content) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  content = text.str();
  return file.good() && content.size() >= sizeof(uint32_t);
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *result, const void *image,
                                    unsigned count, CUjit_option *names,
                                    void **values) {
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  if (!result || !image || (count && (!names || !values)))
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = checkNoCapture())
    return error;
  if (CUresult error = synchronizeContext(context, /*isPromised=*/false))
    return error;
  std::string log;
  Image code;
  CUresult error = code.read(image, log);
  if (error)
    report("code cannot be loaded: " + log);
  else
    error = loadModule(context, code, *result, log);
  answerLog(log, count, names, values);
  return error;
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *result, const void *image) {
  return cuModuleLoadDataEx(result, image, 0, nullptr, nullptr);
}

CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule *result, const void *fatbin) {
  return cuModuleLoadData(result, fatbin);
}

CUresult CUDAAPI cuModuleLoad(CUmodule *result, const char *path) {
  std::string content;
  if (!path)
    return CUDA_ERROR_INVALID_VALUE;
  return readFile(path, content) ? cuModuleLoadData(result, content.c_str())
                                 : CUDA_ERROR_FILE_NOT_FOUND;
}

CUresult CUDAAPI cuModuleUnload(CUmodule module) {
  if (!handles<CUmod_st>().has(module))
    return CUDA_ERROR_INVALID_HANDLE;
  // Launches of its kernels may still run.
  CUresult error = synchronizeContext(module->context);
  unloadModule(module);
  return error;
}

CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) {
  if (!mode)
    return CUDA_ERROR_INVALID_VALUE;
  *mode = loadsLazily() ? CU_MODULE_LAZY_LOADING : CU_MODULE_EAGER_LOADING;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *result, CUmodule module,
                                     const char *name) {
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  if (!result || !name)
    return CUDA_ERROR_INVALID_VALUE;
  CUresult error = getFunction(module, name, *result);
  return error ? error : loadFunction(*result);
}

CUresult CUDAAPI cuFuncLoad(CUfunction handle) {
  CUfunction function;
  if (CUresult error = findFunction(handle, function))
    return error;
  return loadFunction(function);
}

CUresult CUDAAPI cuFuncIsLoaded(CUfunctionLoadingState *state,
                                CUfunction handle) {
  CUfunction function;
  if (CUresult error = findFunction(handle, function))
    return error;
  if (!state)
    return CUDA_ERROR_INVALID_VALUE;
  *state = function->isLoaded ? CU_FUNCTION_LOADING_STATE_LOADED
                              : CU_FUNCTION_LOADING_STATE_UNLOADED;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetFunctionCount(unsigned *count, CUmodule module) {
  if (!handles<CUmod_st>().has(module))
    return CUDA_ERROR_INVALID_HANDLE;
  if (!count)
    return CUDA_ERROR_INVALID_VALUE;
  *count = unsigned(module->code->kernels().size());
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction *functions,
                                            unsigned count, CUmodule module) {
  if (!handles<CUmod_st>().has(module))
    return CUDA_ERROR_INVALID_HANDLE;
  const auto &kernels = module->code->kernels();
  for (unsigned i = 0; i < count && i < kernels.size(); ++i)
    if (CUresult error = getFunction(module, kernels[i].name, functions[i]))
      return error;
  return CUDA_SUCCESS;
}

static CUresult findGlobal(CUmodule module, const char *name,
                           CUdeviceptr *address, size_t *bytes) {
  const Global *global = module->code->findGlobal(name);
  if (!global)
    return CUDA_ERROR_NOT_FOUND;
  if (address)
    *address = reinterpret_cast<CUdeviceptr>(global->address);
  if (bytes)
    *bytes = global->size;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes,
                                   CUmodule module, const char *name) {
  if (!handles<CUmod_st>().has(module))
    return CUDA_ERROR_INVALID_HANDLE;
  return name ? findGlobal(module, name, address, bytes)
              : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute attribute,
                                    CUfunction handle) {
  CUfunction function;
  if (CUresult error = findFunction(handle, function))
    return error;
  return value ? getAttribute(function, attribute, *value)
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction handle,
                                    CUfunction_attribute attribute, int value) {
  CUfunction function;
  if (CUresult error = findFunction(handle, function))
    return error;
  return setAttribute(function, attribute, value);
}

CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache) {
  // A hint, and an emulated device has no caches to divide.
  CUfunction function;
  return findFunction(handle, function);
}

CUresult CUDAAPI cuFuncGetModule(CUmodule *module, CUfunction handle) {
  CUfunction function;
  if (CUresult error = findFunction(handle, function))
    return error;
  if (!module)
    return CUDA_ERROR_INVALID_VALUE;
  *module = function->module;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetName(const char **name, CUfunction handle) {
  CUfunction function;
  if (CUresult error = findFunction(handle, function))
    return error;
  if (!name)
    return CUDA_ERROR_INVALID_VALUE;
  *name = function->kernel->name.c_str();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetParamInfo(CUfunction handle, size_t index,
                                    size_t *offset, size_t *size) {
  CUfunction function;
  if (CUresult error = findFunction(handle, function))
    return error;
  return getParameter(function, index, offset, size);
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *result, const void *code,
                                   CUjit_option *, void **, unsigned,
                                   CUlibraryOption *, void **, unsigned) {
  if (!isInitialized())
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!result || !code)
    return CUDA_ERROR_INVALID_VALUE;
  auto library = std::make_unique<CUlib_st>();
  std::string why;
  if (CUresult error = library->image.read(code, why)) {
    report("code cannot be loaded: " + why);
    return error;
  }
  *result = handles<CUlib_st>().add(std::move(library));
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary *result, const char *path,
                                       CUjit_option *jitNames, void **jitValues,
                                       unsigned jitCount,
                                       CUlibraryOption *names, void **values,
                                       unsigned count) {
  std::string content;
  if (!path)
    return CUDA_ERROR_INVALID_VALUE;
  if (!readFile(path, content))
    return CUDA_ERROR_FILE_NOT_FOUND;
  return cuLibraryLoadData(result, content.c_str(), jitNames, jitValues,
                           jitCount, names, values, count);
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library) {
  auto owned = handles<CUlib_st>().take(library);
  if (!owned)
    return CUDA_ERROR_INVALID_HANDLE;
  for (auto &[context, module] : owned->modules)
    if (handles<CUmod_st>().has(module))
      cuModuleUnload(module);
  for (auto &[name, kernel] : owned->kernels)
    handles<CUkern_st>().take(kernel.get()).release();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *result, CUlibrary library,
                                    const char *name) {
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  DriverGuard guard(driverLock());
  if (!handles<CUlib_st>().has(library))
    return CUDA_ERROR_INVALID_HANDLE;
  if (!result || !name)
    return CUDA_ERROR_INVALID_VALUE;
  std::unique_ptr<CUkern_st> &kernel = library->kernels[name];
  if (!kernel) {
    auto made = std::make_unique<CUkern_st>();
    made->library = library;
    made->name = name;
    // The library owns the kernel; the table only knows that it lives.
    kernel.reset(handles<CUkern_st>().add(std::move(made)));
  }
  CUfunction function;
  if (CUresult error = functionOf(kernel.get(), context, function)) {
    handles<CUkern_st>().take(kernel.get()).release();
    library->kernels.erase(name);
    return error;
  }
  *result = kernel.get();
  return CUDA_SUCCESS;
}

/// The module of a library in the current context.
static CUresult moduleOf(CUlibrary library, CUmodule &result) {
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  DriverGuard guard(driverLock());
  if (!handles<CUlib_st>().has(library))
    return CUDA_ERROR_INVALID_HANDLE;
  CUmodule &module = library->modules[context];
  std::string log;
  if (!module || !handles<CUmod_st>().has(module))
    if (CUresult error = loadModule(context, library->image, module, log))
      return error;
  result = module;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryGetModule(CUmodule *module, CUlibrary library) {
  return module ? moduleOf(library, *module) : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes,
                                    CUlibrary library, const char *name) {
  CUmodule module;
  if (CUresult error = moduleOf(library, module))
    return error;
  return name ? findGlobal(module, name, address, bytes)
              : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuKernelGetFunction(CUfunction *function, CUkernel kernel) {
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  return function ? functionOf(kernel, context, *function)
                  : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuKernelGetName(const char **name, CUkernel kernel) {
  if (!handles<CUkern_st>().has(kernel))
    return CUDA_ERROR_INVALID_HANDLE;
  if (!name)
    return CUDA_ERROR_INVALID_VALUE;
  *name = kernel->name.c_str();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuKernelGetAttribute(int *value,
                                      CUfunction_attribute attribute,
                                      CUkernel kernel, CUdevice device) {
  CUfunction function;
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  if (CUresult error = functionOf(kernel, primaryContext(device), function))
    return error;
  return value ? getAttribute(function, attribute, *value)
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value,
                                      CUkernel kernel, CUdevice device) {
  CUfunction function;
  if (!isDevice(device))
    return CUDA_ERROR_INVALID_DEVICE;
  if (CUresult error = functionOf(kernel, primaryContext(device), function))
    return error;
  return setAttribute(function, attribute, value);
}

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t index,
                                      size_t *offset, size_t *size) {
  CUfunction function;
  if (CUresult error = cuKernelGetFunction(&function, kernel))
    return error;
  return getParameter(function, index, offset, size);
}
