//===- Driver.h - the CUDA driver, opened at run time -----------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of the driver API that the runtime uses, declared here so that it
// builds without a toolkit; test/Unit compares it with cuda.h.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_BACKENDS_CUDA_DRIVER_H
#define TSP_RUNTIME_BACKENDS_CUDA_DRIVER_H

#include "core/DynamicLibrary.h"

namespace tsp::runtime::cuda {

using Result = int;
using DeviceNumber = int;
using Pointer = unsigned long long;
using Context = struct CUctx_st *;
using Module = struct CUmod_st *;
using Function = struct CUfunc_st *;
using Stream = struct CUstream_st *;
using Event = struct CUevent_st *;
using Graph = struct CUgraph_st *;
using GraphExec = struct CUgraphExec_st *;

constexpr Result success = 0, notReady = 600, peerAlreadyEnabled = 704;
constexpr unsigned streamNonBlocking = 1, eventWithoutTiming = 2;
constexpr int capabilityMajor = 75, capabilityMinor = 76; // device attributes
/// CU_DEVICE_ATTRIBUTE_MAX_PITCH is this on every device.
constexpr int64_t maxPitch = INT32_MAX;
constexpr int maxDynamicShared = 8; // function attribute
constexpr int captureRelaxed = 2;
constexpr int jitErrorLog = 5, jitErrorLogBytes = 6; // options of a load
constexpr unsigned memoryUnified = 4;
constexpr unsigned clusterDimension = 4; // launch attribute

/// CUtensorMap: opaque, made by the driver.
struct alignas(128) TensorMap {
  unsigned long long opaque[16];
};
/// CUtensorMapInterleave, -Swizzle, -L2promotion, -FloatOOBfill.
constexpr int interleaveNone = 0, promotionOf128Bytes = 2, fillWithZeros = 0;
constexpr int swizzleNone = 0, swizzle32 = 1, swizzle64 = 2, swizzle128 = 3;

/// CUlaunchAttribute with the value that clusters have.
struct LaunchAttribute {
  unsigned id, padding;
  unsigned cluster[3];
  char otherValues[52];
};

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3], block[3], sharedBytes;
  Stream stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};

/// CUDA_MEMCPY3D.
struct Copy3D {
  size_t srcX, srcY, srcZ, srcLod;
  unsigned srcType;
  const void *srcHost;
  Pointer srcDevice;
  void *srcArray, *reserved0;
  size_t srcPitch, srcHeight;
  size_t dstX, dstY, dstZ, dstLod;
  unsigned dstType;
  void *dstHost;
  Pointer dstDevice;
  void *dstArray, *reserved1;
  size_t dstPitch, dstHeight;
  size_t width, height, depth;
};

// Member, symbol, parameters. Symbols are the ones that today's cuda.h gives
// the plain names.
#define TSP_CUDA_FUNCTIONS(F)                                                  \
  F(init, cuInit, (unsigned))                                                  \
  F(getVersion, cuDriverGetVersion, (int *))                                   \
  F(getErrorName, cuGetErrorName, (Result, const char **))                     \
  F(getErrorString, cuGetErrorString, (Result, const char **))                 \
  F(deviceGetCount, cuDeviceGetCount, (int *))                                 \
  F(deviceGet, cuDeviceGet, (DeviceNumber *, int))                             \
  F(deviceGetName, cuDeviceGetName, (char *, int, DeviceNumber))               \
  F(deviceGetAttribute, cuDeviceGetAttribute, (int *, int, DeviceNumber))      \
  F(deviceCanAccessPeer, cuDeviceCanAccessPeer,                                \
    (int *, DeviceNumber, DeviceNumber))                                       \
  F(primaryCtxRetain, cuDevicePrimaryCtxRetain, (Context *, DeviceNumber))     \
  F(primaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (DeviceNumber))           \
  F(ctxSetCurrent, cuCtxSetCurrent, (Context))                                 \
  F(ctxPushCurrent, cuCtxPushCurrent_v2, (Context))                            \
  F(ctxPopCurrent, cuCtxPopCurrent_v2, (Context *))                            \
  F(ctxEnablePeerAccess, cuCtxEnablePeerAccess, (Context, unsigned))           \
  F(moduleLoadDataEx, cuModuleLoadDataEx,                                      \
    (Module *, const void *, unsigned, int *, void **))                        \
  F(moduleUnload, cuModuleUnload, (Module))                                    \
  F(moduleGetFunction, cuModuleGetFunction,                                    \
    (Function *, Module, const char *))                                        \
  F(funcSetAttribute, cuFuncSetAttribute, (Function, int, int))                \
  F(launchKernel, cuLaunchKernel,                                              \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,     \
     unsigned, Stream, void **, void **))                                      \
  F(launchHostFunc, cuLaunchHostFunc, (Stream, void (*)(void *), void *))      \
  F(memAlloc, cuMemAlloc_v2, (Pointer *, size_t))                              \
  F(memFree, cuMemFree_v2, (Pointer))                                          \
  F(memHostAlloc, cuMemHostAlloc, (void **, size_t, unsigned))                 \
  F(memFreeHost, cuMemFreeHost, (void *))                                      \
  F(memcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                     \
    (Pointer, const void *, size_t, Stream))                                   \
  F(memcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *, Pointer, size_t, Stream))  \
  F(memcpyAsync, cuMemcpyAsync, (Pointer, Pointer, size_t, Stream))            \
  F(memcpy3DAsync, cuMemcpy3DAsync_v2, (const Copy3D *, Stream))               \
  F(memsetD8Async, cuMemsetD8Async, (Pointer, unsigned char, size_t, Stream))  \
  F(memsetD2D8Async, cuMemsetD2D8Async,                                        \
    (Pointer, size_t, unsigned char, size_t, size_t, Stream))                  \
  F(memsetD32Async, cuMemsetD32Async, (Pointer, unsigned, size_t, Stream))     \
  F(streamCreate, cuStreamCreate, (Stream *, unsigned))                        \
  F(streamDestroy, cuStreamDestroy_v2, (Stream))                               \
  F(streamQuery, cuStreamQuery, (Stream))                                      \
  F(streamSynchronize, cuStreamSynchronize, (Stream))                          \
  F(streamWaitEvent, cuStreamWaitEvent, (Stream, Event, unsigned))             \
  F(streamBeginCapture, cuStreamBeginCapture_v2, (Stream, int))                \
  F(streamEndCapture, cuStreamEndCapture, (Stream, Graph *))                   \
  F(eventCreate, cuEventCreate, (Event *, unsigned))                           \
  F(eventDestroy, cuEventDestroy_v2, (Event))                                  \
  F(eventRecord, cuEventRecord, (Event, Stream))                               \
  F(eventQuery, cuEventQuery, (Event))                                         \
  F(eventSynchronize, cuEventSynchronize, (Event))                             \
  F(eventElapsedTime, cuEventElapsedTime, (float *, Event, Event))             \
  F(graphInstantiate, cuGraphInstantiateWithFlags,                             \
    (GraphExec *, Graph, unsigned long long))                                  \
  F(graphLaunch, cuGraphLaunch, (GraphExec, Stream))                           \
  F(graphDestroy, cuGraphDestroy, (Graph))                                     \
  F(graphExecDestroy, cuGraphExecDestroy, (GraphExec))

// The same of functions that drivers have from CUDA 12 on, those of modules
// from 12.4 on; null in older ones.
#define TSP_CUDA_12_FUNCTIONS(F)                                               \
  F(moduleGetFunctionCount, cuModuleGetFunctionCount, (unsigned *, Module))    \
  F(moduleEnumerateFunctions, cuModuleEnumerateFunctions,                      \
    (Function *, unsigned, Module))                                            \
  F(funcLoad, cuFuncLoad, (Function))                                          \
  F(launchKernelEx, cuLaunchKernelEx,                                          \
    (const LaunchConfig *, Function, void **, void **))                        \
  F(tensorMapEncodeTiled, cuTensorMapEncodeTiled,                              \
    (TensorMap *, int, unsigned, void *, const unsigned long long *,           \
     const unsigned long long *, const unsigned *, const unsigned *, int, int, \
     int, int))

/// The table of the driver's functions.
struct Driver {
#define TSP_MEMBER(member, symbol, parameters) Result(*member) parameters;
  TSP_CUDA_FUNCTIONS(TSP_MEMBER)
  TSP_CUDA_12_FUNCTIONS(TSP_MEMBER)
#undef TSP_MEMBER

  /// Opens and initialises the driver once. Throws an Error that says what is
  /// missing, and what can be done about it.
  static const Driver &get();

  /// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  std::string text(Result result) const;

  /// Throws an Error "what: ..." unless the call succeeded.
  void check(Result result, const std::string &what) const {
    if (result != success)
      throw Error(what + ": " + text(result));
  }
};

} // namespace tsp::runtime::cuda

#endif // TSP_RUNTIME_BACKENDS_CUDA_DRIVER_H
