//===- Copy.cpp - copies and fills ----------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Copy.h"

#include "driver/Capture.h"
#include "driver/Memory.h"
#include "driver/Options.h"
#include "driver/Races.h"

#include <algorithm>
#include <cstring>

using namespace tsp::emulation;

static char *rowOf(const Side &side, size_t plane, size_t row) {
  return reinterpret_cast<char *>(side.begin + plane * side.planePitch +
                                  row * side.pitch);
}

static void runCopy(const Box &box) {
  bool dense = box.from.pitch == box.width && box.to.pitch == box.width;
  for (size_t plane = 0; plane < box.depth; ++plane) {
    if (dense) {
      memmove(rowOf(box.to, plane, 0), rowOf(box.from, plane, 0),
              box.width * box.height);
      continue;
    }
    for (size_t row = 0; row < box.height; ++row)
      memmove(rowOf(box.to, plane, row), rowOf(box.from, plane, row),
              box.width);
  }
}

/// Whether the memory is the program's own, unknown to the driver.
static bool isPageable(const Side &side) {
  Allocation range;
  return !Memory::get().find(side.begin, range);
}

/// CU_DEVICE_ATTRIBUTE_MAX_PITCH.
constexpr size_t maxPitch = INT32_MAX;

/// Checks that known memory holds all of a side, and that device memory is
/// known.
static CUresult checkSide(const Side &side, const Box &box, CUmemorytype type) {
  bool rowsOverlap = box.height > 1 && side.pitch < box.width;
  bool planesOverlap =
      box.depth > 1 && side.planePitch < side.pitch * box.height;
  if (!side.begin || rowsOverlap || planesOverlap)
    return CUDA_ERROR_INVALID_VALUE;
  Allocation range;
  if (!Memory::get().find(side.begin, range))
    return type == CU_MEMORYTYPE_DEVICE ? CUDA_ERROR_INVALID_VALUE
                                        : CUDA_SUCCESS;
  if (type == CU_MEMORYTYPE_HOST && range.onDevice())
    return CUDA_ERROR_INVALID_VALUE;
  size_t extent = (box.depth - 1) * side.planePitch +
                  (box.height - 1) * side.pitch + box.width;
  return extent <= range.begin + range.size - side.begin
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

/// What the checker is told of a side that devices can touch.
static void addUses(const Side &side, const Box &box, GlobalUse::Kind kind,
                    std::vector<GlobalUse> &uses) {
  if (!options().checks || isPageable(side))
    return;
  uses.reserve(uses.size() + box.depth * box.height);
  for (size_t plane = 0; plane < box.depth; ++plane)
    for (size_t row = 0; row < box.height; ++row) {
      auto begin = reinterpret_cast<uintptr_t>(rowOf(side, plane, row));
      if (!uses.empty() && uses.back().kind == kind &&
          uses.back().range.end == begin)
        uses.back().range.end += box.width;
      else
        uses.push_back({{begin, begin + box.width}, kind, {}});
    }
}

/// Of these uses those that the host may be in the way of. Moves the side to
/// where devices find it.
static void watchHost(Side &side, const std::vector<GlobalUse> &uses,
                      std::vector<HostUse> &host) {
  Allocation range;
  if (!Memory::get().find(side.begin, range) || range.onDevice())
    return;
  uintptr_t view = range.deviceView ? range.deviceView : range.begin;
  for (const GlobalUse &use : uses)
    host.push_back({use.range, view + (use.range.begin - range.begin),
                    use.kind == GlobalUse::Kind::Write});
  side.begin = view + (side.begin - range.begin);
}

/// `kept` is what the copy needs until it has run.
static StreamWork workOf(Box box, const std::shared_ptr<void> &kept = nullptr) {
  StreamWork work;
  work.type = CU_GRAPH_NODE_TYPE_MEMCPY;
  std::vector<GlobalUse> uses, written;
  addUses(box.from, box, GlobalUse::Kind::Read, uses);
  addUses(box.to, box, GlobalUse::Kind::Write, written);
  watchHost(box.from, uses, work.params.hostUses);
  watchHost(box.to, written, work.params.hostUses);
  uses.insert(uses.end(), written.begin(), written.end());
  work.work = [box, kept, uses = std::move(uses)](const TaskRef &task) {
    runCopy(box);
    return Races::get().add(task, "a copy", uses);
  };
  return work;
}

/// Copies of memory that is not pinned read it before they return.
static StreamWork workFromStaged(const Box &box) {
  auto staged =
      std::make_shared<std::vector<char>>(box.width * box.height * box.depth);
  Box up = box;
  up.to = {reinterpret_cast<uintptr_t>(staged->data()), box.width,
           box.width * box.height};
  runCopy(up);
  Box down = box;
  down.from = up.to;
  return workOf(down, staged);
}

static bool isEmpty(const Box &box) {
  return !box.width || !box.height || !box.depth;
}

/// Puts a copy on a stream. A copy that involves memory which is not pinned, or
/// one that is not asynchronous, has done with the host's memory when this
/// returns.
static CUresult copy(CUstream handle, const Box &box, CUmemorytype fromType,
                     CUmemorytype toType, bool isAsync) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  if (!isAsync)
    if (CUresult error = checkNoCapture())
      return error;
  if (isEmpty(box))
    return CUDA_SUCCESS;
  if (CUresult error = checkSide(box.from, box, fromType))
    return error;
  if (CUresult error = checkSide(box.to, box, toType))
    return error;
  if (isCapturing(stream))
    return enqueue(stream, workOf(box));
  waitForRoom(stream);
  bool stage = isAsync && isPageable(box.from);
  // The driver may wait for the stream before it stages; small copies travel
  // with the command.
  constexpr size_t small = 64 * 1024;
  if (stage && box.width * box.height * box.depth > small)
    if (CUresult error = synchronizeStream(stream, /*isPromised=*/false))
      return error;
  TaskRef task;
  {
    DriverGuard guard(driverLock());
    if (CUresult error =
            enqueue(stream, stage ? workFromStaged(box) : workOf(box)))
      return error;
    task = stream->last;
  }
  // Between devices even a copy that is not asynchronous only keeps order.
  auto onHost = [](const Side &side) {
    Allocation range;
    return !Memory::get().find(side.begin, range) || !range.onDevice();
  };
  bool wait = isAsync ? isPageable(box.to) : onHost(box.from) || onHost(box.to);
  if (!wait)
    return CUDA_SUCCESS;
  CUcontext context = stream->context;
  Scheduler::get().wait(task);
  return stickyError(context);
}

template <typename To, typename From>
static CUresult copyLine(To to, CUmemorytype toType, From from,
                         CUmemorytype fromType, size_t bytes, CUstream stream,
                         bool isAsync) {
  Box box;
  box.from = {uintptr_t(from), bytes, bytes};
  box.to = {uintptr_t(to), bytes, bytes};
  box.width = bytes;
  return copy(stream, box, fromType, toType, isAsync);
}

constexpr CUmemorytype host = CU_MEMORYTYPE_HOST;
constexpr CUmemorytype device = CU_MEMORYTYPE_DEVICE;
constexpr CUmemorytype unified = CU_MEMORYTYPE_UNIFIED;

CUresult CUDAAPI cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) {
  return copyLine(to, device, from, host, bytes, nullptr, false);
}
CUresult CUDAAPI cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) {
  return copyLine(to, host, from, device, bytes, nullptr, false);
}
CUresult CUDAAPI cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copyLine(to, device, from, device, bytes, nullptr, false);
}
CUresult CUDAAPI cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copyLine(to, unified, from, unified, bytes, nullptr, false);
}
CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr to, CUcontext, CUdeviceptr from,
                              CUcontext, size_t bytes) {
  return copyLine(to, device, from, device, bytes, nullptr, false);
}
CUresult CUDAAPI cuMemcpyHtoDAsync(CUdeviceptr to, const void *from,
                                   size_t bytes, CUstream stream) {
  return copyLine(to, device, from, host, bytes, stream, true);
}
CUresult CUDAAPI cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes,
                                   CUstream stream) {
  return copyLine(to, host, from, device, bytes, stream, true);
}
CUresult CUDAAPI cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from,
                                   size_t bytes, CUstream stream) {
  return copyLine(to, device, from, device, bytes, stream, true);
}
CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                               CUstream stream) {
  return copyLine(to, unified, from, unified, bytes, stream, true);
}
CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from,
                                   CUcontext, size_t bytes, CUstream stream) {
  return copyLine(to, device, from, device, bytes, stream, true);
}

/// The source (or destination) of a copy as the API describes it: a pointer by
/// type, and an offset in bytes, rows and planes. False for arrays.
static bool readSide(CUmemorytype type, const void *onHost, CUdeviceptr address,
                     size_t pitch, size_t height, size_t x, size_t y, size_t z,
                     const Box &box, Side &side) {
  if (type == CU_MEMORYTYPE_ARRAY)
    return false;
  side.begin = type == host ? uintptr_t(onHost) : uintptr_t(address);
  side.pitch = pitch ? pitch : box.width;
  side.planePitch = side.pitch * (height ? height : box.height);
  if (side.begin)
    side.begin += z * side.planePitch + y * side.pitch + x;
  return true;
}

/// Reads a CUDA_MEMCPY3D or CUDA_MEMCPY3D_PEER. False if it has arrays.
template <typename Params> static bool readBox(const Params &p, Box &box) {
  box.width = p.WidthInBytes;
  box.height = p.Height;
  box.depth = p.Depth;
  return readSide(p.srcMemoryType, p.srcHost, p.srcDevice, p.srcPitch,
                  p.srcHeight, p.srcXInBytes, p.srcY, p.srcZ, box, box.from) &&
         readSide(p.dstMemoryType, p.dstHost, p.dstDevice, p.dstPitch,
                  p.dstHeight, p.dstXInBytes, p.dstY, p.dstZ, box, box.to);
}

template <typename Params>
static CUresult copyBox(const Params *params, CUstream stream, bool isAsync) {
  if (!params)
    return CUDA_ERROR_INVALID_VALUE;
  Box box;
  if (!readBox(*params, box))
    return notSupported("a copy of a CUDA array");
  if (std::max(params->srcPitch, params->dstPitch) > maxPitch)
    return CUDA_ERROR_INVALID_VALUE;
  return copy(stream, box, params->srcMemoryType, params->dstMemoryType,
              isAsync);
}

/// A copy of rows as a copy of one plane.
static CUresult copyRows(const CUDA_MEMCPY2D *params, CUstream stream,
                         bool isAsync) {
  if (!params)
    return CUDA_ERROR_INVALID_VALUE;
  CUDA_MEMCPY3D box = {};
  box.srcXInBytes = params->srcXInBytes;
  box.srcY = params->srcY;
  box.srcMemoryType = params->srcMemoryType;
  box.srcHost = params->srcHost;
  box.srcDevice = params->srcDevice;
  box.srcPitch = params->srcPitch;
  box.dstXInBytes = params->dstXInBytes;
  box.dstY = params->dstY;
  box.dstMemoryType = params->dstMemoryType;
  box.dstHost = params->dstHost;
  box.dstDevice = params->dstDevice;
  box.dstPitch = params->dstPitch;
  box.WidthInBytes = params->WidthInBytes;
  box.Height = params->Height;
  box.Depth = 1;
  return copyBox(&box, stream, isAsync);
}

CUresult CUDAAPI cuMemcpy2D(const CUDA_MEMCPY2D *params) {
  return copyRows(params, nullptr, false);
}
CUresult CUDAAPI cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *params) {
  return copyRows(params, nullptr, false);
}
CUresult CUDAAPI cuMemcpy2DAsync(const CUDA_MEMCPY2D *params, CUstream stream) {
  return copyRows(params, stream, true);
}
CUresult CUDAAPI cuMemcpy3D(const CUDA_MEMCPY3D *params) {
  return copyBox(params, nullptr, false);
}
CUresult CUDAAPI cuMemcpy3DAsync(const CUDA_MEMCPY3D *params, CUstream stream) {
  return copyBox(params, stream, true);
}
CUresult CUDAAPI cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *params) {
  return copyBox(params, nullptr, false);
}
CUresult CUDAAPI cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *params,
                                     CUstream stream) {
  return copyBox(params, stream, true);
}

CUresult tsp::emulation::makeCopy(CUcontext, const CUDA_MEMCPY3D &params,
                                  StreamWork &work) {
  Box box;
  if (!readBox(params, box))
    return notSupported("a copy of a CUDA array");
  if (isEmpty(box))
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = checkSide(box.from, box, params.srcMemoryType))
    return error;
  if (CUresult error = checkSide(box.to, box, params.dstMemoryType))
    return error;
  work = workOf(box);
  return CUDA_SUCCESS;
}

static void fillRow(char *row, unsigned value, unsigned elementSize,
                    size_t count) {
  if (elementSize == 1)
    memset(row, int(value), count);
  for (size_t i = 0; elementSize > 1 && i < count; ++i)
    memcpy(row + i * elementSize, &value, elementSize);
}

CUresult tsp::emulation::makeMemset(CUcontext,
                                    const CUDA_MEMSET_NODE_PARAMS &params,
                                    StreamWork &work) {
  unsigned size = params.elementSize;
  if ((size != 1 && size != 2 && size != 4) || params.dst % size ||
      (params.height > 1 && (params.pitch % size || params.pitch > maxPitch)))
    return CUDA_ERROR_INVALID_VALUE;
  Box box;
  box.width = params.width * size;
  box.height = params.height;
  box.to = {uintptr_t(params.dst), params.height > 1 ? params.pitch : box.width,
            0};
  if (isEmpty(box))
    return CUDA_SUCCESS;
  if (CUresult error = checkSide(box.to, box, device))
    return error;
  work.type = CU_GRAPH_NODE_TYPE_MEMSET;
  work.params.memset = params;
  std::vector<GlobalUse> uses;
  addUses(box.to, box, GlobalUse::Kind::Write, uses);
  watchHost(box.to, uses, work.params.hostUses);
  work.work = [box, params, uses = std::move(uses)](const TaskRef &task) {
    for (size_t row = 0; row < box.height; ++row)
      fillRow(rowOf(box.to, 0, row), params.value, params.elementSize,
              params.width);
    return Races::get().add(task, "a fill", uses);
  };
  return CUDA_SUCCESS;
}

static CUresult fill(CUdeviceptr to, size_t pitch, unsigned value,
                     unsigned elementSize, size_t width, size_t height,
                     CUstream handle) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  StreamWork work;
  CUDA_MEMSET_NODE_PARAMS params = {to,          pitch, value,
                                    elementSize, width, height};
  if (CUresult error = makeMemset(stream->context, params, work))
    return error;
  waitForRoom(stream);
  return enqueue(stream, std::move(work));
}

CUresult CUDAAPI cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  return fill(to, 0, value, 1, count, 1, nullptr);
}
CUresult CUDAAPI cuMemsetD16(CUdeviceptr to, unsigned short value,
                             size_t count) {
  return fill(to, 0, value, 2, count, 1, nullptr);
}
CUresult CUDAAPI cuMemsetD32(CUdeviceptr to, unsigned value, size_t count) {
  return fill(to, 0, value, 4, count, 1, nullptr);
}
CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr to, unsigned char value,
                                 size_t count, CUstream stream) {
  return fill(to, 0, value, 1, count, 1, stream);
}
CUresult CUDAAPI cuMemsetD16Async(CUdeviceptr to, unsigned short value,
                                  size_t count, CUstream stream) {
  return fill(to, 0, value, 2, count, 1, stream);
}
CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count,
                                  CUstream stream) {
  return fill(to, 0, value, 4, count, 1, stream);
}
CUresult CUDAAPI cuMemsetD2D8(CUdeviceptr to, size_t pitch, unsigned char value,
                              size_t width, size_t height) {
  return fill(to, pitch, value, 1, width, height, nullptr);
}
CUresult CUDAAPI cuMemsetD2D16(CUdeviceptr to, size_t pitch,
                               unsigned short value, size_t width,
                               size_t height) {
  return fill(to, pitch, value, 2, width, height, nullptr);
}
CUresult CUDAAPI cuMemsetD2D32(CUdeviceptr to, size_t pitch, unsigned value,
                               size_t width, size_t height) {
  return fill(to, pitch, value, 4, width, height, nullptr);
}
CUresult CUDAAPI cuMemsetD2D8Async(CUdeviceptr to, size_t pitch,
                                   unsigned char value, size_t width,
                                   size_t height, CUstream stream) {
  return fill(to, pitch, value, 1, width, height, stream);
}
CUresult CUDAAPI cuMemsetD2D16Async(CUdeviceptr to, size_t pitch,
                                    unsigned short value, size_t width,
                                    size_t height, CUstream stream) {
  return fill(to, pitch, value, 2, width, height, stream);
}
CUresult CUDAAPI cuMemsetD2D32Async(CUdeviceptr to, size_t pitch,
                                    unsigned value, size_t width, size_t height,
                                    CUstream stream) {
  return fill(to, pitch, value, 4, width, height, stream);
}
