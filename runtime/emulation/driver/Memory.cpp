//===- Memory.cpp - memory that devices can reach -------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Memory.h"

#include "driver/Context.h"
#include "driver/HostWatch.h"
#include "driver/Options.h"
#include "driver/Races.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace tsp::emulation;

constexpr size_t largestPoisoned = size_t(1) << 30;
constexpr size_t smallestGap = size_t(1) << 20, largestGap = size_t(1) << 30;

Memory &Memory::get() {
  static Memory *memory = new Memory;
  return *memory;
}

static size_t pageSize() {
  static const size_t size = size_t(sysconf(_SC_PAGESIZE));
  return size;
}

/// Bytes of whole pages, and of as many without access, so that what is beyond
/// an allocation is in no other, even where an index is far off.
static size_t mappedSize(size_t size) {
  size_t used = (size + pageSize() - 1) / pageSize() * pageSize();
  return used + std::clamp(used, smallestGap, largestGap);
}

/// Maps the same new memory at two places, without access.
static void *mapTwice(size_t size, uintptr_t &second) {
  int file = memfd_create("pinned", MFD_CLOEXEC);
  void *views[2] = {MAP_FAILED, MAP_FAILED};
  if (file >= 0 && ftruncate(file, off_t(size)) == 0)
    for (void *&view : views)
      view =
          mmap(nullptr, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (file >= 0)
    close(file);
  if (views[0] != MAP_FAILED && views[1] == MAP_FAILED)
    munmap(views[0], size);
  second = reinterpret_cast<uintptr_t>(views[1]);
  return views[1] == MAP_FAILED ? MAP_FAILED : views[0];
}

CUresult Memory::allocate(size_t size, Allocation::Kind kind, CUcontext context,
                          unsigned flags, void **result) {
  if (!result || size == 0)
    return CUDA_ERROR_INVALID_VALUE;
  int device = context->device;
  bool onDevice = kind == Allocation::Kind::Device;
  std::unique_lock<std::shared_mutex> lock(mutex);
  if (onDevice && used[device] + int64_t(size) > options().memoryBytes)
    return CUDA_ERROR_OUT_OF_MEMORY;
  uintptr_t deviceView = 0;
  bool isWatched = kind == Allocation::Kind::PinnedHost && options().checks;
  void *base = isWatched
                   ? mapTwice(mappedSize(size), deviceView)
                   : mmap(nullptr, mappedSize(size), PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  mprotect(base, size, PROT_READ | PROT_WRITE);
  if (deviceView)
    mprotect(reinterpret_cast<void *>(deviceView), size,
             PROT_READ | PROT_WRITE);
  if (size <= largestPoisoned)
    memset(base, 0xFF, size);
  Allocation range{reinterpret_cast<uintptr_t>(base),
                   size,
                   kind,
                   context,
                   device,
                   flags,
                   nextId++,
                   deviceView};
  ranges[range.begin] = range;
  if (onDevice)
    used[device] += int64_t(size);
  *result = base;
  return CUDA_SUCCESS;
}

void Memory::freeLocked(std::map<uintptr_t, Allocation>::iterator found) {
  const Allocation &range = found->second;
  if (range.kind == Allocation::Kind::Device)
    used[range.device] -= int64_t(range.size);
  Races::get().forget(range.begin, range.size);
  HostWatch::get().forget(range.begin, range.size);
  if (range.kind == Allocation::Kind::Device ||
      range.kind == Allocation::Kind::PinnedHost)
    unmap(range);
  ranges.erase(found);
}

CUresult Memory::free(uintptr_t begin, bool onDevice) {
  std::unique_lock<std::shared_mutex> lock(mutex);
  auto found = ranges.find(begin);
  auto kind =
      onDevice ? Allocation::Kind::Device : Allocation::Kind::PinnedHost;
  if (found == ranges.end() || found->second.kind != kind)
    return CUDA_ERROR_INVALID_VALUE;
  freeLocked(found);
  return CUDA_SUCCESS;
}

CUresult Memory::retire(uintptr_t begin) {
  std::unique_lock<std::shared_mutex> lock(mutex);
  auto found = ranges.find(begin);
  if (found == ranges.end() || found->second.kind != Allocation::Kind::Device)
    return CUDA_ERROR_INVALID_VALUE;
  const Allocation &range = found->second;
  used[range.device] -= int64_t(range.size);
  auto *data = reinterpret_cast<void *>(begin);
  constexpr size_t largestKept = size_t(16) << 20;
  if (range.size <= largestKept)
    memset(data, 0xFF, range.size);
  else
    madvise(data, range.size, MADV_DONTNEED);
  retired.push_back(range);
  ranges.erase(found);
  return CUDA_SUCCESS;
}

std::vector<Allocation> Memory::takeRetired(CUcontext context) {
  std::unique_lock<std::shared_mutex> lock(mutex);
  auto isKept = [&](const Allocation &range) {
    return range.context != context;
  };
  auto first = std::partition(retired.begin(), retired.end(), isKept);
  std::vector<Allocation> taken(first, retired.end());
  retired.erase(first, retired.end());
  return taken;
}

void Memory::unmap(const Allocation &range) {
  munmap(reinterpret_cast<void *>(range.begin), mappedSize(range.size));
  if (range.deviceView)
    munmap(reinterpret_cast<void *>(range.deviceView), mappedSize(range.size));
}

CUresult Memory::add(const Allocation &allocation) {
  std::unique_lock<std::shared_mutex> lock(mutex);
  auto next = ranges.lower_bound(allocation.begin);
  bool overlaps =
      next != ranges.end() && next->first < allocation.begin + allocation.size;
  if (overlaps || findLocked(allocation.begin))
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  Allocation &range = ranges[allocation.begin] = allocation;
  range.id = nextId++;
  return CUDA_SUCCESS;
}

CUresult Memory::remove(uintptr_t begin, Allocation::Kind kind) {
  std::unique_lock<std::shared_mutex> lock(mutex);
  auto found = ranges.find(begin);
  if (found == ranges.end() || found->second.kind != kind)
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  freeLocked(found);
  return CUDA_SUCCESS;
}

const Allocation *Memory::findLocked(uintptr_t address) const {
  auto next = ranges.upper_bound(address);
  if (next == ranges.begin())
    return nullptr;
  const Allocation &range = std::prev(next)->second;
  return address < range.begin + range.size ? &range : nullptr;
}

bool Memory::find(uintptr_t address, Allocation &result) const {
  std::shared_lock<std::shared_mutex> lock(mutex);
  const Allocation *range = findLocked(address);
  if (range)
    result = *range;
  return range != nullptr;
}

bool Memory::isReachable(CUcontext context, uintptr_t address, size_t bytes,
                         std::string &why) const {
  char text[32];
  snprintf(text, sizeof(text), "0x%zx", size_t(address));
  Allocation range;
  if (!find(address, range)) {
    why = std::string(text) + " is in no allocation";
    return false;
  }
  if (bytes > range.size - (address - range.begin)) {
    why = std::to_string(bytes) + " bytes at " + text + " end " +
          std::to_string(address - range.begin + bytes - range.size) +
          " bytes past an allocation of " + std::to_string(range.size);
    return false;
  }
  if (range.onDevice() && range.device != context->device &&
      !hasPeerAccess(context, range.context)) {
    why = std::string(text) + " is memory of device " +
          std::to_string(range.device) + ", to which device " +
          std::to_string(context->device) + " has no access";
    return false;
  }
  return true;
}

int64_t Memory::usedBytes(int device) const {
  std::shared_lock<std::shared_mutex> lock(mutex);
  auto found = used.find(device);
  return found == used.end() ? 0 : found->second;
}

void Memory::freeAll(CUcontext context) {
  std::unique_lock<std::shared_mutex> lock(mutex);
  for (auto range = ranges.begin(); range != ranges.end();) {
    auto here = range++;
    if (here->second.context == context)
      freeLocked(here);
  }
}
