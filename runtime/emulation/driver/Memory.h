//===- Memory.h - memory that devices can reach -----------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_DRIVER_MEMORY_H
#define TSP_EMULATION_DRIVER_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <cuda.h>
#include <map>
#include <shared_mutex>
#include <string>
#include <vector>

namespace tsp::emulation {

/// A range that copies and kernels may use. Device addresses are addresses of
/// this process, so pinned host memory has one address for host and devices.
struct Allocation {
  enum class Kind { Device, PinnedHost, RegisteredHost, ModuleGlobals };

  uintptr_t begin = 0;
  size_t size = 0;
  Kind kind = Kind::Device;
  CUcontext context = nullptr;
  int device = 0;
  unsigned flags = 0;
  uint64_t id = 0;
  /// Of pinned memory under the checker: the same bytes, for devices (see
  /// HostWatch.h); else 0.
  uintptr_t deviceView = 0;

  bool onDevice() const {
    return kind == Kind::Device || kind == Kind::ModuleGlobals;
  }
};

/// All ranges of the process.
class Memory {
public:
  static Memory &get();

  /// Makes a range of `size` bytes, each 0xFF (NaN in every float type), with
  /// no access right behind it. Ranges over 1 GiB are left zero: filling would
  /// make the whole range resident.
  CUresult allocate(size_t size, Allocation::Kind kind, CUcontext context,
                    unsigned flags, void **result);
  /// Frees a range that `allocate` made; `begin` has to be its first address.
  CUresult free(uintptr_t begin, bool onDevice);
  /// The same while other work may run: the range is no allocation any more,
  /// but who found it before still reads something (0xFF, or zeros of large
  /// ranges) until what `takeRetired` gives is unmapped.
  CUresult retire(uintptr_t begin);
  std::vector<Allocation> takeRetired(CUcontext context);
  static void unmap(const Allocation &range);

  /// Makes memory that belongs to somebody else known, and unknown again.
  CUresult add(const Allocation &allocation);
  CUresult remove(uintptr_t begin, Allocation::Kind kind);

  /// The range that holds an address, and whether there is one.
  bool find(uintptr_t address, Allocation &result) const;
  /// Whether a device of `context` may touch [address, address + bytes); if
  /// not, `why` says it.
  bool isReachable(CUcontext context, uintptr_t address, size_t bytes,
                   std::string &why) const;

  int64_t usedBytes(int device) const;
  /// Frees what a context still holds.
  void freeAll(CUcontext context);

private:
  const Allocation *findLocked(uintptr_t address) const;
  void freeLocked(std::map<uintptr_t, Allocation>::iterator range);

  mutable std::shared_mutex mutex;
  std::map<uintptr_t, Allocation> ranges;
  std::map<int, int64_t> used;
  std::vector<Allocation> retired;
  uint64_t nextId = 1;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_DRIVER_MEMORY_H
