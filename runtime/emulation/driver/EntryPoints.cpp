//===- EntryPoints.cpp - names of functions and of errors -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Context.h"

#include <cstring>
#include <dlfcn.h>

using namespace tsp::emulation;

namespace {
struct ErrorName {
  CUresult error;
  const char *name;
  const char *words;
};
} // namespace

/// All errors of cuda.h.
static const ErrorName errorNames[] = {
#include "ErrorNames.inc"
};

static const ErrorName *findError(CUresult error) {
  for (const ErrorName &one : errorNames)
    if (one.error == error)
      return &one;
  return nullptr;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **name) {
  const ErrorName *found = findError(error);
  if (!name)
    return CUDA_ERROR_INVALID_VALUE;
  *name = found ? found->name : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **text) {
  const ErrorName *found = findError(error);
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  *text = found ? found->words : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

namespace {
/// A function whose later version takes other arguments, and the release of
/// CUDA that it came with. Callers that ask for an older release get the
/// version before.
struct Changed {
  const char *name;
  const char *before;
  const char *after;
  int release;
};
} // namespace

static const Changed changedFunctions[] = {
    {"cuCtxCreate", "cuCtxCreate_v2", "cuCtxCreate_v4", 12050},
    {"cuStreamGetCtx", "cuStreamGetCtx", "cuStreamGetCtx_v2", 12050},
    {"cuCtxGetDevice", "cuCtxGetDevice", "cuCtxGetDevice_v2", 13000},
    {"cuCtxSynchronize", "cuCtxSynchronize", "cuCtxSynchronize_v2", 13000},
};

/// The function of this library that a name without version stands for.
static void *findFunction(const char *name, int release) {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&cuGetErrorName), &info))
    return nullptr;
  void *self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (!self)
    return nullptr;
  void *result = nullptr;
  for (const Changed &one : changedFunctions)
    if (strcmp(one.name, name) == 0)
      result = dlsym(self, release < one.release ? one.before : one.after);
  for (const char *version : {"_v4", "_v3", "_v2", ""})
    if (!result)
      result = dlsym(self, (std::string(name) + version).c_str());
  dlclose(self);
  return result;
}

CUresult CUDAAPI cuGetProcAddress(const char *name, void **function,
                                  int release, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *status) {
  if (!name || !function)
    return CUDA_ERROR_INVALID_VALUE;
  *function = nullptr;
  if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
    return notSupported("cuGetProcAddress for per-thread default streams");
  // Nothing else in this library has such names.
  bool isOurs = strncmp(name, "cu", 2) == 0;
  *function = isOurs ? findFunction(name, release) : nullptr;
  if (status)
    *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS
                        : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
