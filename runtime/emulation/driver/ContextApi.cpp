//===- ContextApi.cpp - calls on contexts ---------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Context.h"
#include "driver/Stream.h"

using namespace tsp::emulation;

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *result, CUdevice device) {
  if (CUresult error = checkDevice(device))
    return error;
  if (!result)
    return CUDA_ERROR_INVALID_VALUE;
  DriverGuard guard(driverLock());
  *result = primaryContext(device);
  ++(*result)->retained;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice device) {
  if (CUresult error = checkDevice(device))
    return error;
  CUcontext context = primaryContext(device);
  {
    DriverGuard guard(driverLock());
    if (context->retained == 0)
      return CUDA_ERROR_INVALID_CONTEXT;
    if (--context->retained > 0)
      return CUDA_SUCCESS;
  }
  clearContext(context);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice device) {
  if (CUresult error = checkDevice(device))
    return error;
  clearContext(primaryContext(device));
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags) {
  if (CUresult error = checkDevice(device))
    return error;
  DriverGuard guard(driverLock());
  primaryContext(device)->flags = flags;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags,
                                            int *active) {
  if (CUresult error = checkDevice(device))
    return error;
  if (!flags || !active)
    return CUDA_ERROR_INVALID_VALUE;
  DriverGuard guard(driverLock());
  CUcontext context = primaryContext(device);
  *flags = context->flags;
  *active = context->retained > 0;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxCreate(CUcontext *result, CUctxCreateParams *params,
                             unsigned flags, CUdevice device) {
  if (CUresult error = checkDevice(device))
    return error;
  if (!result)
    return CUDA_ERROR_INVALID_VALUE;
  if (params && (params->numExecAffinityParams || params->cigParams))
    return notSupported("cuCtxCreate with affinity or graphics");
  *result = createContext(device, flags);
  pushCurrent(*result);
  return CUDA_SUCCESS;
}

/// The version that programs for drivers before CUDA 13 ask for.
extern "C" CUresult CUDAAPI cuCtxCreate_v2(CUcontext *result, unsigned flags,
                                           CUdevice device) {
  return cuCtxCreate(result, nullptr, flags, device);
}

CUresult CUDAAPI cuCtxDestroy(CUcontext context) {
  if (!handles<CUctx_st>().has(context) || context->primary)
    return CUDA_ERROR_INVALID_CONTEXT;
  CUcontext current;
  if (currentContextUnchecked(current) == CUDA_SUCCESS && current == context)
    popCurrent();
  clearContext(context);
  DriverGuard guard(driverLock());
  destroyStream(context->legacyStream);
  handles<CUctx_st>().take(context);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
  if (!isInitialized())
    return CUDA_ERROR_NOT_INITIALIZED;
  if (context && !handles<CUctx_st>().has(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  setCurrent(context);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext context) {
  if (!isInitialized())
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!handles<CUctx_st>().has(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  pushCurrent(context);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext *context) {
  CUcontext top = popCurrent();
  if (context)
    *context = top;
  return top ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *context) {
  if (!isInitialized())
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!context)
    return CUDA_ERROR_INVALID_VALUE;
  if (currentContextUnchecked(*context))
    *context = nullptr;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device) {
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  *device = context->device;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSynchronize() {
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  if (CUresult error = checkNoCapture())
    return error;
  return synchronizeContext(context);
}

CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext context) {
  if (!handles<CUctx_st>().has(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  if (CUresult error = checkNoCapture())
    return error;
  return synchronizeContext(context);
}

CUresult CUDAAPI cuCtxGetFlags(unsigned *flags) {
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  if (!flags)
    return CUDA_ERROR_INVALID_VALUE;
  *flags = context->flags;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetId(CUcontext context, unsigned long long *id) {
  if (!context)
    if (CUresult error = currentContext(context))
      return error;
  if (!handles<CUctx_st>().has(context))
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (!id)
    return CUDA_ERROR_INVALID_VALUE;
  *id = context->id;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext context, unsigned *version) {
  if (context && !handles<CUctx_st>().has(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  *version = 3020;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  if (!handles<CUctx_st>().has(peer) || peer->device == context->device)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  DriverGuard guard(driverLock());
  return context->peers.insert(peer).second
             ? CUDA_SUCCESS
             : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peer) {
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  DriverGuard guard(driverLock());
  return context->peers.erase(peer) ? CUDA_SUCCESS
                                    : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
