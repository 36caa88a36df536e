//===- Context.cpp - devices, contexts, and what belongs to them ----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Context.h"

#include "driver/Memory.h"
#include "driver/Module.h"
#include "driver/Options.h"
#include "driver/Races.h"
#include "driver/Stream.h"

#include <cstdio>
#include <map>
#include <unistd.h>
#include <vector>

using namespace tsp::emulation;

static std::atomic<bool> initialized{false};
static thread_local std::vector<CUcontext> contextStack;

std::recursive_mutex &tsp::emulation::driverLock() {
  static auto *lock = new std::recursive_mutex;
  return *lock;
}

bool tsp::emulation::isInitialized() { return initialized; }
void tsp::emulation::setInitialized() { initialized = true; }

bool tsp::emulation::isDevice(CUdevice device) {
  return device >= 0 && device < options().devices;
}

CUresult tsp::emulation::checkDevice(CUdevice device) {
  if (!isInitialized())
    return CUDA_ERROR_NOT_INITIALIZED;
  return isDevice(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

bool &tsp::emulation::inHostFunction() {
  static thread_local bool isIn = false;
  return isIn;
}

CUresult tsp::emulation::currentContextUnchecked(CUcontext &context) {
  if (!initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (inHostFunction())
    return CUDA_ERROR_NOT_PERMITTED;
  if (contextStack.empty() || !contextStack.back())
    return CUDA_ERROR_INVALID_CONTEXT;
  context = contextStack.back();
  if (!handles<CUctx_st>().has(context))
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  DriverGuard guard(driverLock());
  if (context->primary && context->retained == 0)
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  return CUDA_SUCCESS;
}

CUresult tsp::emulation::currentContext(CUcontext &context) {
  if (CUresult error = currentContextUnchecked(context))
    return error;
  return stickyError(context);
}

void tsp::emulation::setCurrent(CUcontext context) {
  if (!contextStack.empty())
    contextStack.pop_back();
  if (context)
    contextStack.push_back(context);
}

void tsp::emulation::pushCurrent(CUcontext context) {
  contextStack.push_back(context);
}

CUcontext tsp::emulation::popCurrent() {
  if (contextStack.empty())
    return nullptr;
  CUcontext top = contextStack.back();
  contextStack.pop_back();
  return top;
}

CUcontext tsp::emulation::createContext(CUdevice device, unsigned flags) {
  static std::atomic<unsigned long long> ids{1};
  auto context = std::make_unique<CUctx_st>();
  context->device = device;
  context->flags = flags;
  context->id = ids++;
  CUcontext result = handles<CUctx_st>().add(std::move(context));
  result->legacyStream = createStream(result, CU_STREAM_DEFAULT, 0);
  return result;
}

CUcontext tsp::emulation::primaryContext(CUdevice device) {
  static auto *primaries = new std::map<int, CUcontext>;
  DriverGuard guard(driverLock());
  CUcontext &context = (*primaries)[device];
  if (!context) {
    context = createContext(device, 0);
    context->primary = true;
  }
  return context;
}

CUresult tsp::emulation::synchronizeContext(CUcontext context,
                                            bool isPromised) {
  std::vector<TaskRef> pending;
  // Only work from before now can still read what has been freed by now.
  std::vector<Allocation> retired = Memory::get().takeRetired(context);
  {
    DriverGuard guard(driverLock());
    pending = context->orphans;
    if (isPromised)
      context->orphans.clear();
    for (CUstream stream : context->streams)
      pending.push_back(stream->last);
  }
  for (const TaskRef &task : pending)
    Scheduler::get().wait(task, isPromised);
  for (const Allocation &range : retired) {
    Races::get().forget(range.begin, range.size);
    Memory::unmap(range);
  }
  return stickyError(context);
}

void tsp::emulation::clearContext(CUcontext context) {
  synchronizeContext(context);
  DriverGuard guard(driverLock());
  while (!context->modules.empty())
    unloadModule(*context->modules.begin());
  std::unordered_set<CUstream> streams = context->streams;
  for (CUstream stream : streams)
    if (!context->primary || stream != context->legacyStream)
      destroyStream(stream);
  context->peers.clear();
  context->error = CUDA_SUCCESS;
  Memory::get().freeAll(context);
}

bool tsp::emulation::hasPeerAccess(CUcontext from, CUcontext to) {
  DriverGuard guard(driverLock());
  return from->peers.count(to) != 0;
}

CUresult tsp::emulation::stickyError(CUcontext context) {
  return context ? CUresult(context->error.load()) : CUDA_SUCCESS;
}

void tsp::emulation::setStickyError(CUcontext context, CUresult error) {
  int none = CUDA_SUCCESS;
  if (context)
    context->error.compare_exchange_strong(none, error);
}

CUresult tsp::emulation::notSupported(const std::string &what) {
  if (options().verbose)
    report(what + " is not supported");
  return CUDA_ERROR_NOT_SUPPORTED;
}

void tsp::emulation::report(const std::string &text) {
  std::string line = "cuda emulation: " + text + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0)
    perror("cuda emulation: cannot write to stderr");
}

/// What the functions of cuda.h return that the emulation does not have.
int tspUnsupportedDriverCall(const char *name) { return notSupported(name); }
