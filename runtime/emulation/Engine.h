//===- Engine.h - PTX compiled for and run on the CPU -----------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The engine of the emulated GPU: what libcuda.so.1 stands on. It compiles PTX
// text to machine code of the host (a warp is a vector of 32 lanes) and runs
// launches. Device memory is memory of the process: a device pointer is a host
// address, so that copies are memcpy. Everything here may be called from
// several threads at once; a launch returns when its last block has ended.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_ENGINE_H
#define TSP_EMULATION_ENGINE_H

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tsp::emulation {

/// One parameter of a kernel within the packed parameter bytes.
struct Parameter {
  uint32_t offset;
  uint32_t size;
  uint32_t alignment;
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  uint32_t parameterBytes = 0;
  uint32_t staticSharedBytes = 0;
  uint32_t localBytes = 0;
  /// `.maxntid` or `.reqntid`; zeros when the kernel has neither. The product
  /// bounds a block's threads.
  std::array<uint32_t, 3> maxThreads = {0, 0, 0};
  /// `.reqnctapercluster`; zeros when the kernel has none.
  std::array<uint32_t, 3> clusterSize = {0, 0, 0};
  /// `.reqntid`: a launch must have exactly these threads.
  bool exactThreads = false;
};

/// A `.global` or `.const` variable: every loaded module has its own.
struct Global {
  std::string name;
  void *address;
  uint64_t size;
};

struct ModuleOptions {
  /// Finds races in shared memory and between blocks, reads of shared memory
  /// nobody wrote, missing cp.async waits and more, and counts bank conflicts
  /// and sectors. Several times slower. Bounds and alignment of accesses are
  /// always checked.
  bool checker = false;
};

/// Addresses that a kernel may touch: [begin, end).
struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// Finds the allocation that holds an address; an empty range when none does.
/// Called from several threads; the answer must hold until the launch ends.
using MemoryMap = std::function<Range(uint64_t address)>;

/// What a launch did to a range of global memory.
struct GlobalUse {
  /// Atomic: nothing but atomic operations, or what threads wait for by
  /// volatile accesses.
  enum class Kind : uint8_t { Read, Write, Atomic };
  static constexpr size_t maxLines = 3;

  Range range;
  Kind kind;
  /// Of the PTX: the first few that did so.
  std::vector<uint32_t> lines;
};

struct Launch {
  const Kernel *kernel = nullptr;
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::array<uint32_t, 3> block = {1, 1, 1};
  /// Blocks of a cluster; divides the grid.
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  /// All blocks are resident together: they may wait for each other.
  bool cooperative = false;
  uint32_t dynamicSharedBytes = 0;
  /// kernel->parameterBytes bytes, laid out as kernel->parameters says.
  const void *parameters = nullptr;
  MemoryMap memory;
  /// Orders the warps of a block differently between barriers; 0: by number.
  uint64_t seed = 0;
  /// Where what the launch did to global memory is put when it ends, in the
  /// order of addresses. Of checked launches.
  std::vector<GlobalUse> *uses = nullptr;
};

/// What a checked launch counted.
struct Counters {
  /// Shared-memory requests of warps, and the passes they take: bank conflicts
  /// are the passes above one a request (128 bytes).
  uint64_t sharedRequests = 0;
  uint64_t sharedPasses = 0;
  uint64_t globalRequests = 0;
  /// 32-byte sectors touched, and the fewest that the bytes could have filled.
  uint64_t globalSectors = 0;
  uint64_t globalIdealSectors = 0;

  Counters &operator+=(const Counters &other);
};

/// One module as loaded: code is shared between loads of the same text (also
/// between threads), variables are not.
class Module {
public:
  virtual ~Module();

  /// Compiles PTX. Null when it is malformed or uses what the engine does not
  /// have: `error` then names the instruction and its line.
  static std::unique_ptr<Module> load(const std::string &ptx,
                                      const ModuleOptions &options,
                                      std::string &error);

  virtual const std::vector<Kernel> &kernels() const = 0;
  virtual const std::vector<Global> &globals() const = 0;
  /// Null when the module has no such kernel or variable.
  const Kernel *findKernel(const std::string &name) const;
  const Global *findGlobal(const std::string &name) const;

  /// Runs a launch of one of this module's kernels to its end. False after a
  /// fault: `fault` says what happened at which PTX line, block and thread. The
  /// launch must respect the kernel's and the device's limits.
  virtual bool run(const Launch &launch, Counters &counters,
                   std::string &fault) = 0;
};

/// What all checked launches of kernels of this name have counted so far.
Counters countersOf(const std::string &kernel);

/// Threads that run the blocks of all launches together; the default is the
/// number of processors. Takes effect when set before the first launch.
void setWorkers(unsigned count);

} // namespace tsp::emulation

#endif // TSP_EMULATION_ENGINE_H
