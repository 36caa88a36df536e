//===- Launch.cpp - running kernels ---------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Launch.h"

#include "driver/Memory.h"
#include "driver/Module.h"
#include "driver/Options.h"
#include "driver/Races.h"

#include <algorithm>
#include <cstring>

using namespace tsp::emulation;

namespace {
/// What a launch keeps of its parameters: bytes as the kernel reads them, and
/// where each one is.
struct Arguments {
  /// Aligned as tensor maps among the parameters must be.
  struct alignas(64) Line {
    char bytes[64];
  };
  std::vector<Line> lines;
  std::vector<void *> pointers;
};
} // namespace

/// Packs parameters given one by one or as a block; null if neither fits.
static std::shared_ptr<Arguments>
packArguments(const Kernel &kernel, void **parameters, void **extra) {
  auto packed = std::make_shared<Arguments>();
  packed->lines.resize(kernel.parameterBytes / sizeof(Arguments::Line) + 1);
  char *bytes = packed->lines.data()->bytes;
  if (extra) {
    const void *block = nullptr;
    size_t size = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
      if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
        block = extra[1];
      else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
        size = *static_cast<size_t *>(extra[1]);
      else
        return nullptr;
    }
    if (parameters || !block || size < kernel.parameterBytes)
      return nullptr;
    memcpy(bytes, block, kernel.parameterBytes);
  } else if (!parameters && !kernel.parameters.empty()) {
    return nullptr;
  }
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Parameter &one = kernel.parameters[i];
    if (!extra)
      memcpy(bytes + one.offset, parameters[i], one.size);
    packed->pointers.push_back(bytes + one.offset);
  }
  return packed;
}

static CUresult checkLimits(const CUfunc_st &function,
                            const CUDA_KERNEL_NODE_PARAMS &p) {
  const Kernel &kernel = *function.kernel;
  uint64_t threads = uint64_t(p.blockDimX) * p.blockDimY * p.blockDimZ;
  bool empty = !threads || !p.gridDimX || !p.gridDimY || !p.gridDimZ;
  bool large = p.gridDimX > INT32_MAX || p.gridDimY > 65535 ||
               p.gridDimZ > 65535 || p.blockDimX > 1024 || p.blockDimY > 1024 ||
               p.blockDimZ > 64 || threads > 1024;
  if (empty || large)
    return CUDA_ERROR_INVALID_VALUE;
  if (p.sharedMemBytes > unsigned(function.maxDynamicShared)) {
    report("kernel '" + kernel.name + "' is launched with " +
           std::to_string(p.sharedMemBytes) +
           " bytes of dynamic shared memory, but may have " +
           std::to_string(function.maxDynamicShared) +
           " (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)");
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto &most = kernel.maxThreads;
  if (!most[0])
    return CUDA_SUCCESS;
  if (kernel.exactThreads && (p.blockDimX != most[0] ||
                              p.blockDimY != most[1] || p.blockDimZ != most[2]))
    return CUDA_ERROR_INVALID_VALUE;
  return threads > uint64_t(most[0]) * most[1] * most[2]
             ? CUDA_ERROR_INVALID_VALUE
             : CUDA_SUCCESS;
}

/// The error that a device gives for a fault.
static CUresult errorOf(const std::string &fault) {
  if (fault.find("misaligned") != std::string::npos)
    return CUDA_ERROR_MISALIGNED_ADDRESS;
  if (fault.find("bounds") != std::string::npos)
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  return CUDA_ERROR_LAUNCH_FAILED;
}

/// The cluster of a launch: what the kernel requires, or the launch asks for.
static CUresult chooseCluster(const CUfunc_st &function,
                              const CUDA_KERNEL_NODE_PARAMS &p,
                              const Together &together, Launch &launch) {
  const auto &required = function.kernel->clusterSize;
  launch.cluster = {1, 1, 1};
  if (together.cluster[0])
    launch.cluster = together.cluster;
  else if (required[0])
    launch.cluster = required;
  const auto &[x, y, z] = launch.cluster;
  uint64_t blocks = uint64_t(x) * y * z;
  if (blocks == 1 && !required[0])
    return CUDA_SUCCESS;
  if (options().capabilities[function.module->context->device].number() < 90)
    return notSupported("a launch with clusters on a device below 9.0");
  // Clusters of more than 8 blocks are for a function that allows them.
  uint64_t most = function.allowsLargeClusters ? 16 : 8;
  bool differs = required[0] && launch.cluster != required;
  bool isPart = p.gridDimX % x || p.gridDimY % y || p.gridDimZ % z;
  if (blocks == 0 || blocks > most || differs || isPart) {
    report("kernel '" + function.kernel->name + "' is launched with clusters " +
           "of (" + std::to_string(x) + "," + std::to_string(y) + "," +
           std::to_string(z) + ") blocks: they must divide the grid, be what " +
           "the kernel requires, and have at most " + std::to_string(most) +
           " blocks");
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  return CUDA_SUCCESS;
}

/// A cooperative launch must fit on the device at once.
static CUresult checkCooperative(CUfunction function,
                                 const CUDA_KERNEL_NODE_PARAMS &p) {
  int blocks = 0;
  if (CUresult error = cuOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks, function, int(p.blockDimX * p.blockDimY * p.blockDimZ),
          p.sharedMemBytes))
    return error;
  uint64_t fit = uint64_t(blocks) * uint64_t(options().multiprocessors);
  return uint64_t(p.gridDimX) * p.gridDimY * p.gridDimZ > fit
             ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
             : CUDA_SUCCESS;
}

CUresult tsp::emulation::makeLaunch(CUcontext context,
                                    const CUDA_KERNEL_NODE_PARAMS &params,
                                    StreamWork &work) {
  return makeLaunch(context, params, Together(), work);
}

CUresult tsp::emulation::makeLaunch(CUcontext context,
                                    const CUDA_KERNEL_NODE_PARAMS &params,
                                    const Together &together,
                                    StreamWork &work) {
  CUfunction function;
  CUresult error = params.func ? findFunction(params.func, function)
                               : functionOf(params.kern, context, function);
  if (error)
    return error;
  if (function->module->context != context)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (CUresult error = loadFunction(function))
    return error;
  if (CUresult error = checkLimits(*function, params))
    return error;
  const Kernel &kernel = *function->kernel;
  auto packed = packArguments(kernel, params.kernelParams, params.extra);
  if (!packed)
    return CUDA_ERROR_INVALID_VALUE;

  Launch launch;
  launch.kernel = &kernel;
  launch.cooperative = together.cooperative;
  if (CUresult error = chooseCluster(*function, params, together, launch))
    return error;
  if (together.cooperative)
    if (CUresult error = checkCooperative(function, params))
      return error;
  launch.grid = {params.gridDimX, params.gridDimY, params.gridDimZ};
  launch.block = {params.blockDimX, params.blockDimY, params.blockDimZ};
  launch.dynamicSharedBytes = params.sharedMemBytes;
  launch.seed = options().seed;
  launch.memory = [context](uint64_t address) -> Range {
    // Each thread asks before it accesses.
    HostWatch::enterDevice();
    Allocation range;
    if (!Memory::get().find(address, range) ||
        (range.onDevice() && range.device != context->device &&
         !hasPeerAccess(context, range.context)))
      return {};
    return {range.begin, range.begin + range.size};
  };

  work.type = CU_GRAPH_NODE_TYPE_KERNEL;
  // The node's work keeps what these pointers point to.
  work.params.kernel = params;
  work.params.kernel->kernelParams = packed->pointers.data();
  work.params.kernel->extra = nullptr;
  Module *code = function->module->code.get();
  work.work = [=](const TaskRef &task) mutable {
    launch.parameters = packed->lines.data();
    Counters counters;
    std::vector<GlobalUse> uses;
    launch.uses = options().checks ? &uses : nullptr;
    std::string fault;
    if (code->run(launch, counters, fault))
      return Races::get().add(task, "kernel '" + launch.kernel->name + "'",
                              uses);
    report("device " + std::to_string(context->device) + ": kernel '" +
           launch.kernel->name + "' failed: " + fault);
    return errorOf(fault);
  };
  return CUDA_SUCCESS;
}

static CUresult launch(CUstream handle, const CUDA_KERNEL_NODE_PARAMS &params,
                       const Together &together = {}) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  if (!params.func)
    return CUDA_ERROR_INVALID_HANDLE;
  StreamWork work;
  if (CUresult error = makeLaunch(stream->context, params, together, work))
    return error;
  waitForRoom(stream);
  return enqueue(stream, std::move(work));
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned gridX,
                                unsigned gridY, unsigned gridZ, unsigned blockX,
                                unsigned blockY, unsigned blockZ,
                                unsigned sharedBytes, CUstream stream,
                                void **parameters, void **extra) {
  CUDA_KERNEL_NODE_PARAMS params = {function,   gridX,  gridY,   gridZ,
                                    blockX,     blockY, blockZ,  sharedBytes,
                                    parameters, extra,  nullptr, nullptr};
  return launch(stream, params);
}

CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction function, unsigned gridX,
                                           unsigned gridY, unsigned gridZ,
                                           unsigned blockX, unsigned blockY,
                                           unsigned blockZ,
                                           unsigned sharedBytes,
                                           CUstream stream, void **parameters) {
  CUDA_KERNEL_NODE_PARAMS params = {function,   gridX,   gridY,   gridZ,
                                    blockX,     blockY,  blockZ,  sharedBytes,
                                    parameters, nullptr, nullptr, nullptr};
  return launch(stream, params, {{0, 0, 0}, true});
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config,
                                  CUfunction function, void **parameters,
                                  void **extra) {
  if (!config || (config->numAttrs && !config->attrs))
    return CUDA_ERROR_INVALID_VALUE;
  Together together;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute &attribute = config->attrs[i];
    switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    // Hints that change no result.
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    // A kernel may begin before the one ahead of it has ended: it need not.
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      continue;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      together.cluster = {attribute.value.clusterDim.x,
                          attribute.value.clusterDim.y,
                          attribute.value.clusterDim.z};
      continue;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      together.cooperative = attribute.value.cooperative != 0;
      continue;
    default:
      return notSupported("cuLaunchKernelEx with attribute " +
                          std::to_string(attribute.id));
    }
  }
  CUDA_KERNEL_NODE_PARAMS params = {function,          config->gridDimX,
                                    config->gridDimY,  config->gridDimZ,
                                    config->blockDimX, config->blockDimY,
                                    config->blockDimZ, config->sharedMemBytes,
                                    parameters,        extra,
                                    nullptr,           nullptr};
  return launch(config->hStream, params, together);
}
