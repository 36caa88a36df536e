//===- Context.h - devices, contexts, and what belongs to them --*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_DRIVER_CONTEXT_H
#define TSP_EMULATION_DRIVER_CONTEXT_H

#include <atomic>
#include <cuda.h>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace tsp::emulation {
class Task;
}

/// A context of one device. Members other than the error are guarded by
/// tsp::emulation::driverLock().
struct CUctx_st {
  int device = 0;
  bool primary = false;
  /// Of a primary context: how often it is retained; it is alive while > 0.
  int retained = 0;
  unsigned flags = 0;
  unsigned long long id = 0;
  /// The first fault of the device; every later call returns it.
  std::atomic<int> error{CUDA_SUCCESS};
  std::set<CUcontext> peers;
  std::unordered_set<CUstream> streams;
  std::unordered_set<CUmodule> modules;
  CUstream legacyStream = nullptr;
  /// Work that has not ended; guarded by the scheduler.
  int pending = 0;
  /// Ends of destroyed streams whose work may still run.
  std::vector<std::shared_ptr<tsp::emulation::Task>> orphans;
};

namespace tsp::emulation {

/// Guards contexts, streams, events and graphs. Nobody waits for work of a
/// device while holding it.
std::recursive_mutex &driverLock();
using DriverGuard = std::lock_guard<std::recursive_mutex>;

/// Live handles of one type, so that a stale one is an error and not a crash.
template <typename T> class Handles {
public:
  T *add(std::unique_ptr<T> object) {
    DriverGuard guard(driverLock());
    live.insert(object.get());
    return object.release();
  }
  bool has(T *handle) const {
    DriverGuard guard(driverLock());
    return live.count(handle) != 0;
  }
  /// Gives the object back to the caller, who frees it.
  std::unique_ptr<T> take(T *handle) {
    DriverGuard guard(driverLock());
    return std::unique_ptr<T>(live.erase(handle) ? handle : nullptr);
  }

private:
  std::unordered_set<T *> live;
};

/// Never destroyed: work may still run when main() has returned.
template <typename T> Handles<T> &handles() {
  static auto *table = new Handles<T>;
  return *table;
}

/// Whether cuInit has succeeded; devices exist from then on.
bool isInitialized();
void setInitialized();
bool isDevice(CUdevice device);
/// What a call that takes a device returns first of all.
CUresult checkDevice(CUdevice device);

/// Whether this thread is in a function that a stream runs.
bool &inHostFunction();
/// Runs a program's function for a stream; it may not call the driver.
template <typename Function> void runHostFunction(Function function) {
  inHostFunction() = true;
  function();
  inHostFunction() = false;
}

/// The context of this thread, or why it cannot be used: none is current, it
/// was destroyed, or a fault has happened in it.
CUresult currentContext(CUcontext &context);
/// As above, without looking at faults.
CUresult currentContextUnchecked(CUcontext &context);
/// Sets the top of this thread's stack of contexts; null pops it.
void setCurrent(CUcontext context);
void pushCurrent(CUcontext context);
CUcontext popCurrent();

CUcontext primaryContext(CUdevice device);
CUcontext createContext(CUdevice device, unsigned flags);
/// Waits for the context's work and frees all that belongs to it.
void clearContext(CUcontext context);
/// Waits for all work of a context; see Scheduler::wait.
CUresult synchronizeContext(CUcontext context, bool isPromised = true);

bool hasPeerAccess(CUcontext from, CUcontext to);

CUresult stickyError(CUcontext context);
void setStickyError(CUcontext context, CUresult error);

/// The answer of a function, or a way of calling it, that the emulation does
/// not have. Says which one when TSP_EMULATION_VERBOSE is set.
CUresult notSupported(const std::string &what);
/// Prints a line for the user, whole even when threads print at once.
void report(const std::string &text);

} // namespace tsp::emulation

#endif // TSP_EMULATION_DRIVER_CONTEXT_H
