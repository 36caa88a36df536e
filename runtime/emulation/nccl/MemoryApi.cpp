//===- MemoryApi.cpp - memory for transfers -------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Enqueue.h"
#include "nccl/Communicator.h"
#include "nccl/Version.h"

#include <atomic>

using namespace tsp::emulation;

static std::atomic<size_t> registeredBytes{0};

/// A buffer that a communicator knows. Transfers take any device memory, so
/// nothing hangs on it but the checks.
struct ncclWindow_vidmem {
  ncclComm_t comm;
  void *buffer;
  size_t bytes;
};

static ncclResult_t makeWindow(ncclComm_t comm, void *buffer, size_t bytes,
                               ncclWindow_t *result) {
  if (!comm || !result)
    return fail(comm, ncclInvalidArgument, "nothing to register");
  char why[256];
  if (!tspEmulationIsReachable(comm->context, buffer, bytes, why, sizeof(why)))
    return fail(comm, ncclInvalidArgument,
                std::string("buffer to register: ") + why);
  *result = new ncclWindow_vidmem{comm, buffer, bytes};
  registeredBytes += bytes;
  return ncclSuccess;
}

static ncclResult_t freeWindow(ncclComm_t comm, ncclWindow_t window) {
  if (window && window->comm != comm)
    return fail(comm, ncclInvalidArgument,
                "the buffer is registered with another communicator");
  registeredBytes -= window ? window->bytes : 0;
  delete window;
  return ncclSuccess;
}

ncclResult_t ncclMemAlloc(void **pointer, size_t bytes) {
  if (!pointer)
    return fail(nullptr, ncclInvalidArgument,
                "ncclMemAlloc: no place for the result");
  // Whole pages of the device, as windows need them.
  constexpr size_t granularity = 2 << 20;
  bytes = (bytes + granularity - 1) / granularity * granularity;
  return cuMemAlloc(reinterpret_cast<CUdeviceptr *>(pointer), bytes)
             ? fail(nullptr, ncclUnhandledCudaError, "no memory")
             : ncclSuccess;
}

ncclResult_t ncclMemFree(void *pointer) {
  return cuMemFree(reinterpret_cast<CUdeviceptr>(pointer))
             ? fail(nullptr, ncclUnhandledCudaError,
                    "the memory is not of ncclMemAlloc")
             : ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buffer, size_t bytes,
                              void **handle) {
  if (ncclVersion() < versionOfRegistration)
    return fail(comm, ncclInvalidUsage,
                "this release does not register buffers");
  return makeWindow(comm, buffer, bytes,
                    reinterpret_cast<ncclWindow_t *>(handle));
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle) {
  return freeWindow(comm, static_cast<ncclWindow_t>(handle));
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *buffer, size_t bytes,
                                    ncclWindow_t *window, int) {
  if (reinterpret_cast<uintptr_t>(buffer) % NCCL_WIN_REQUIRED_ALIGNMENT)
    return fail(comm, ncclInvalidArgument,
                "a window has to begin at a multiple of " +
                    std::to_string(NCCL_WIN_REQUIRED_ALIGNMENT) + " bytes");
  return makeWindow(comm, buffer, bytes, window);
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
  return freeWindow(comm, window);
}

/// Bytes that communicators of this process know, each once a communicator.
extern "C" size_t tspEmulationRegisteredBytes() { return registeredBytes; }

/// What the functions of nccl.h return that the emulation does not have.
int tspUnsupportedNcclCall(const char *name) {
  if (getenv("TSP_EMULATION_VERBOSE"))
    report(std::string(name) + " is not supported");
  return fail(nullptr, ncclInvalidUsage,
              std::string(name) + " is not supported by the emulation");
}
