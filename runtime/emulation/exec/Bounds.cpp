//===- Bounds.cpp - where addresses of a launch may point -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "exec/BlockRunner.h"
#include "exec/Clones.h"
#include "exec/Scheduler.h"

namespace tsp::emulation {

static const char *spaceName(ptx::Space space) {
  switch (space) {
  case ptx::Space::Global:
    return "global";
  case ptx::Space::Shared:
    return "shared";
  case ptx::Space::Local:
    return "local";
  case ptx::Space::Param:
    return "parameter";
  case ptx::Space::Const:
    return "constant";
  case ptx::Space::Generic:
    break;
  }
  return "generic";
}

static std::string hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

std::string BlockRunner::describeMiss(uint64_t address, uint64_t bytes) const {
  if (!state.launch.memory)
    return "";
  for (uint64_t distance :
       {bytes, uint64_t(64), uint64_t(1024), uint64_t(65536)}) {
    if (Range range = state.launch.memory(address - distance);
        range.begin != range.end)
      return ", " + std::to_string(address - range.end) +
             " bytes past the end of an allocation of " +
             std::to_string(range.end - range.begin) + " bytes";
    if (Range range = state.launch.memory(address + distance);
        range.begin != range.end)
      return ", " + std::to_string(range.begin - address) +
             " bytes before an allocation of " +
             std::to_string(range.end - range.begin) + " bytes";
  }
  return "";
}

/// Finds the range of one lane's address, for the site's next access, or
/// faults.
void BlockRunner::checkLane(const WarpContext &context, uint32_t siteIndex,
                            unsigned lane, uint64_t address, uint64_t bytes,
                            ptx::Space space) {
  auto inside = [&](uint64_t begin, uint64_t size) {
    return address >= begin && address - begin < size &&
           size - (address - begin) >= bytes;
  };
  Range &range = ranges[siteIndex];
  auto found = [&](uint64_t begin, uint64_t size) {
    range = {begin, begin + size};
  };
  if (inside(range.begin, range.end - range.begin))
    return;
  uint64_t variables = reinterpret_cast<uint64_t>(state.variables);
  if (space != ptx::Space::Local && inside(variables, state.variableBytes))
    return found(variables, state.variableBytes);
  uint64_t workspace = reinterpret_cast<uint64_t>(state.gridWorkspace);
  if (state.launch.cooperative &&
      inside(workspace, sizeof(state.gridWorkspace)))
    return found(workspace, sizeof(state.gridWorkspace));
  uint64_t parameters = reinterpret_cast<uint64_t>(state.launch.parameters);
  uint64_t parameterBytes = state.kernel.description.parameterBytes;
  bool mayBeOwn = space == ptx::Space::Generic || space == ptx::Space::Local ||
                  space == ptx::Space::Param;
  if (mayBeOwn && inside(parameters, parameterBytes))
    return found(parameters, parameterBytes);
  // A lane's own memory is on its warp's stack.
  const Fiber &own = owner.fiberOf(context);
  if (mayBeOwn && inside(own.stackBegin(), Fiber::stackBytes))
    return found(own.stackBegin(), Fiber::stackBytes);
  const BlockRunner *block =
      space == ptx::Space::Generic ? ofShared(address) : nullptr;
  if (block && inside(reinterpret_cast<uint64_t>(block->shared), totalShared))
    return;
  if (space == ptx::Space::Global || space == ptx::Space::Generic ||
      space == ptx::Space::Const) {
    Range allocation =
        state.launch.memory ? state.launch.memory(address) : Range();
    if (inside(allocation.begin, allocation.end - allocation.begin))
      return found(allocation.begin, allocation.end - allocation.begin);
  }
  fault(context, siteIndex, lane,
        "access of " + std::to_string(bytes) + " bytes at " + spaceName(space) +
            " address " + hex(address) + " is out of bounds" +
            describeMiss(address, bytes));
}

/// True when an address of any lane, also of those that take no part, is not in
/// [begin, begin + last] or not aligned.
TSP_CLONES static bool mayFault(const uint64_t *addresses, uint64_t begin,
                                uint64_t last, uint64_t alignment) {
  uint64_t bad = 0;
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    uint64_t offset = addresses[lane] - begin;
    bad |= uint64_t(offset > last) | (addresses[lane] & (alignment - 1));
  }
  return bad != 0;
}

uint64_t BlockRunner::checkAccess(const WarpContext &context,
                                  uint32_t siteIndex, uint32_t mask,
                                  const uint64_t *addresses, unsigned bytes,
                                  unsigned alignment, ptx::Space space) {
  uint64_t begin = 0, last;
  bool isShared = space == ptx::Space::Shared;
  if (isShared) {
    last = totalShared >= bytes ? totalShared - bytes : 0;
  } else {
    const Range &range = ranges[siteIndex];
    begin = range.begin;
    last =
        range.end - range.begin >= bytes ? range.end - range.begin - bytes : 0;
  }
  uint64_t base = isShared ? reinterpret_cast<uint64_t>(shared) : 0;
  // Nothing is known yet, or the range is less than one access.
  uint64_t size = isShared ? totalShared : ranges[siteIndex].end - begin;
  bool isKnown = size >= bytes;
  if (isKnown && !mayFault(addresses, begin, last, alignment))
    return base;
  uint32_t outside = 0, misaligned = 0;
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    outside |= uint32_t(addresses[lane] - begin > last) << lane;
    misaligned |= uint32_t((addresses[lane] & (alignment - 1)) != 0) << lane;
  }
  if (!isKnown)
    outside = ~uint32_t(0);
  if (misaligned & mask) {
    unsigned lane = unsigned(__builtin_ctz(misaligned & mask));
    fault(context, siteIndex, lane,
          "access of " + std::to_string(bytes) + " bytes at " +
              spaceName(space) + " address " + hex(addresses[lane]) +
              " is misaligned");
  }
  for (uint32_t rest = outside & mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    if (isShared)
      fault(context, siteIndex, lane,
            "access of " + std::to_string(bytes) + " bytes at shared address " +
                hex(addresses[lane]) + " is out of bounds: the block has " +
                std::to_string(totalShared) + " bytes");
    checkLane(context, siteIndex, lane, addresses[lane], bytes, space);
  }
  return base;
}

SharedPlace BlockRunner::sharedPlace(const WarpContext &context,
                                     uint32_t siteIndex, unsigned lane,
                                     uint64_t address, uint32_t bytes,
                                     unsigned alignment, ptx::Space space) {
  BlockRunner *block = this;
  uint64_t offset = address;
  if (space != ptx::Space::Shared) {
    block = ofShared(address) ? ofShared(address) : this;
    offset -= reinterpret_cast<uint64_t>(block->shared);
  } else if (address >> clusterRankShift) {
    block = ofCluster(unsigned(address >> clusterRankShift) - 1);
    offset &= (uint64_t(1) << clusterRankShift) - 1;
    if (!block)
      fault(context, siteIndex, lane,
            "shared address " + hex(address) +
                " is in no block of the cluster");
  }
  if (offset > block->totalShared || block->totalShared - offset < bytes)
    fault(context, siteIndex, lane,
          "access of " + std::to_string(bytes) + " bytes at " +
              spaceName(space) + " address " + hex(address) +
              " is out of bounds: the block has " +
              std::to_string(totalShared) + " bytes of shared memory");
  if (offset % alignment)
    fault(context, siteIndex, lane,
          "shared address " + hex(offset) +
              " is misaligned: it must be a multiple of " +
              std::to_string(alignment));
  return {block, uint32_t(offset)};
}

Range BlockRunner::allocationOf(uint64_t address) const {
  uint64_t variables = reinterpret_cast<uint64_t>(state.variables);
  if (address - variables < state.variableBytes)
    return {variables, variables + state.variableBytes};
  return state.launch.memory ? state.launch.memory(address) : Range();
}

bool BlockRunner::isGlobal(const WarpContext &context, uint64_t address) const {
  auto isIn = [&](uint64_t begin, uint64_t size) {
    return address - begin < size;
  };
  return !isIn(owner.fiberOf(context).stackBegin(), Fiber::stackBytes) &&
         !isIn(reinterpret_cast<uint64_t>(state.launch.parameters),
               state.kernel.description.parameterBytes) &&
         !isIn(reinterpret_cast<uint64_t>(state.gridWorkspace),
               sizeof(state.gridWorkspace));
}

void BlockRunner::checkGlobal(const WarpContext &context, uint32_t siteIndex,
                              unsigned lane, const Range &range) {
  checkLane(context, siteIndex, lane, range.begin, range.end - range.begin,
            ptx::Space::Global);
}

} // namespace tsp::emulation
