//===- CudaDevice.cpp - what compiled code asks of a CUDA device ----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/CudaUpload.h"

#include <algorithm>
#include <cstring>

using namespace tsp::runtime;
using namespace tsp::runtime::cuda;

static Pointer toPointer(const void *pointer) {
  return reinterpret_cast<Pointer>(pointer);
}

CudaDevice::CudaDevice(tsp_rank &rank, DeviceUse &device,
                       int64_t workspaceBytes)
    : rank(rank), device(device) {
  // The rank's thread keeps the context; others push it for a while.
  check(driver().ctxSetCurrent(device.context), "cuCtxSetCurrent");
  device.load();
  for (Stream &stream : streams)
    check(driver().streamCreate(&stream, streamNonBlocking), "cuStreamCreate");
  workspace = allocate(workspaceBytes);
  times = std::make_unique<Timeline>(
      driver(), rank.session.tracing() && !rank.session.options.graphs);
}

CudaDevice::~CudaDevice() {
  CurrentContext current(device);
  times.reset();
  dropGraphs();
  for (Event event : events)
    driver().eventDestroy(event);
  for (Stream stream : streams)
    if (stream)
      driver().streamDestroy(stream);
}

void CudaDevice::check(Result result, const char *what) const {
  if (result != success)
    throw Error(device.name + ": " + what + ": " + driver().text(result));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

std::unique_ptr<Block> CudaDevice::allocate(int64_t bytes) {
  return std::make_unique<CudaBlock>(device, bytes);
}

std::unique_ptr<Upload> CudaDevice::upload(char *dst, int64_t bytes) {
  if (!pinned)
    pinned = std::make_unique<PinnedPieces>(device);
  return std::make_unique<CudaUpload>(*pinned, streams[TSP_STREAM_COMPUTE], dst,
                                      bytes);
}

void CudaDevice::zero(char *dst, int64_t bytes) {
  if (bytes > 0)
    check(driver().memsetD8Async(toPointer(dst), 0, size_t(bytes),
                                 streams[TSP_STREAM_COMPUTE]),
          "cuMemsetD8Async");
}

const char *CudaDevice::fetch(const char *src, int64_t bytes,
                              std::vector<char> &buffer) {
  CurrentContext current(device);
  if (buffer.size() < size_t(bytes))
    buffer.resize(size_t(bytes));
  Stream stream = streams[TSP_STREAM_COMPUTE];
  check(driver().memcpyDtoHAsync(buffer.data(), toPointer(src), size_t(bytes),
                                 stream),
        "copying a result");
  check(driver().streamSynchronize(stream), "copying a result");
  return buffer.data();
}

int64_t CudaDevice::touched() const {
  int64_t sum = workspace->touched();
  for (const auto &[data, block] : constants)
    sum += block->touched();
  return sum;
}

void *CudaDevice::constant(const void *data, int64_t bytes) {
  auto &block = constants[data];
  if (!block) {
    block = allocate(bytes);
    // From memory that is not pinned the call itself may wait for the stream.
    std::unique_ptr<Upload> target = upload(block->data(), bytes);
    int64_t count;
    for (int64_t done = 0; done < bytes; done += count) {
      count = bytes - done;
      char *piece = target->piece(done, count);
      memcpy(piece, static_cast<const char *>(data) + done, size_t(count));
    }
    target->finish();
  }
  return block->data();
}

Event CudaDevice::makeEvent() {
  Event event = nullptr;
  check(driver().eventCreate(&event, eventWithoutTiming), "cuEventCreate");
  events.push_back(event);
  return event;
}

//===----------------------------------------------------------------------===//
// Work of the streams
//===----------------------------------------------------------------------===//

void CudaDevice::copy(int32_t stream, void *dst, const void *src,
                      int64_t bytes) {
  if (bytes > 0 && dst != src)
    check(driver().memcpyAsync(toPointer(dst), toPointer(src), size_t(bytes),
                               streams[stream]),
          "cuMemcpyAsync");
}

void CudaDevice::read(int32_t stream, void *dst, const void *src,
                      int64_t bytes) {
  if (isCapturing)
    throw Error("--graphs cannot record this entry: it reads a value back "
                "(tsp_read) to decide what to run");
  // Into memory that is not pinned the call itself would wait for the stream,
  // watched by nobody.
  if (!landing)
    landing = std::make_unique<PinnedMemory>(device, 4096);
  int64_t count;
  for (int64_t done = 0; done < bytes; done += count) {
    count = std::min(bytes - done, landing->size);
    check(driver().memcpyDtoHAsync(landing->data, toPointer(src) + done,
                                   size_t(count), streams[stream]),
          "reading a value");
    if (!drain(streams[stream]))
      throw Error("stopped");
    memcpy(static_cast<char *>(dst) + done, landing->data, size_t(count));
  }
}

/// Scalars travel in the commands themselves, so no host memory has to stay
/// alive, and graphs can record it.
void CudaDevice::write(int32_t stream, void *dst, const void *src,
                       int64_t bytes) {
  const int64_t most = 256;
  if (bytes > most)
    throw Error(format("tsp_write of %lld bytes: it is for scalars, of at most "
                       "%lld",
                       (long long)bytes, (long long)most));
  auto data = static_cast<const unsigned char *>(src);
  Pointer to = toPointer(dst);
  while (bytes > 0) {
    bool isWord = bytes >= 4 && to % 4 == 0;
    unsigned word = 0;
    if (isWord)
      memcpy(&word, data, 4);
    check(isWord ? driver().memsetD32Async(to, word, 1, streams[stream])
                 : driver().memsetD8Async(to, *data, 1, streams[stream]),
          "writing a value");
    int64_t step = isWord ? 4 : 1;
    data += step;
    to += Pointer(step);
    bytes -= step;
  }
}

/// Puts dims of count 1 first and joins those that follow one another in both
/// buffers, so that few copies are needed.
static Move joinDims(const Move &move) {
  Move result = move;
  int last = 2;
  for (int i = 2; i >= 0; --i) {
    if (move.count[i] == 1)
      continue;
    bool joins = last < 2 &&
                 move.dstStride[i] ==
                     result.dstStride[last + 1] * result.count[last + 1] &&
                 move.srcStride[i] ==
                     result.srcStride[last + 1] * result.count[last + 1];
    if (joins) {
      result.count[last + 1] *= move.count[i];
      continue;
    }
    result.count[last] = move.count[i];
    result.dstStride[last] = move.dstStride[i];
    result.srcStride[last] = move.srcStride[i];
    --last;
  }
  for (int i = last; i >= 0; --i) {
    result.count[i] = 1;
    result.dstStride[i] = result.srcStride[i] = 0;
  }
  return result;
}

/// The rows [first, first + count) of the innermost dim.
static Move rowsOf(const Move &move, int64_t first, int64_t count) {
  Move result = move;
  result.dst += first * move.dstStride[2];
  result.src += first * move.srcStride[2];
  result.count[2] = count;
  return result;
}

void CudaDevice::enqueueMove(Stream stream, const Move &given, char *dst,
                             const char *src) {
  if (given.total() <= 0)
    return;
  Move move = joinDims(given);
  if (move.srcDense() && move.dstDense()) {
    if (dst + move.dst != src + move.src)
      check(driver().memcpyAsync(toPointer(dst + move.dst),
                                 toPointer(src + move.src),
                                 size_t(move.total()), stream),
            "cuMemcpyAsync");
    return;
  }
  // Rows of one copy may be at most so far apart.
  if (std::max(move.srcStride[2], move.dstStride[2]) > maxPitch) {
    for (int64_t row = 0; row < move.count[2]; ++row)
      enqueueMove(stream, rowsOf(move, row, 1), dst, src);
    return;
  }
  // A 3D copy has slices of whole rows.
  bool slices = move.count[1] > 1 &&
                move.dstStride[1] % move.dstStride[2] == 0 &&
                move.srcStride[1] % move.srcStride[2] == 0;
  int64_t depth = slices ? move.count[1] : 1;
  for (int64_t i = 0; i < move.count[0]; ++i)
    for (int64_t j = 0; j < move.count[1]; j += depth) {
      Copy3D copy = {};
      copy.srcType = copy.dstType = memoryUnified;
      copy.srcDevice = toPointer(src + move.src + i * move.srcStride[0] +
                                 j * move.srcStride[1]);
      copy.dstDevice = toPointer(dst + move.dst + i * move.dstStride[0] +
                                 j * move.dstStride[1]);
      copy.srcPitch = size_t(move.srcStride[2]);
      copy.dstPitch = size_t(move.dstStride[2]);
      copy.srcHeight = slices ? size_t(move.srcStride[1] / move.srcStride[2])
                              : size_t(move.count[2]);
      copy.dstHeight = slices ? size_t(move.dstStride[1] / move.dstStride[2])
                              : size_t(move.count[2]);
      copy.width = size_t(move.bytes);
      copy.height = size_t(move.count[2]);
      copy.depth = size_t(depth);
      check(driver().memcpy3DAsync(&copy, stream), "cuMemcpy3DAsync");
    }
}

void CudaDevice::enqueueZero(Stream stream, const Move &fill, char *dst) {
  if (fill.total() <= 0)
    return;
  if (fill.dstStride[2] > maxPitch && fill.count[2] > 1) {
    for (int64_t row = 0; row < fill.count[2]; ++row)
      enqueueZero(stream, rowsOf(fill, row, 1), dst);
    return;
  }
  // Fills have one dim of rows at most.
  check(fill.count[2] == 1
            ? driver().memsetD8Async(toPointer(dst + fill.dst), 0,
                                     size_t(fill.bytes), stream)
            : driver().memsetD2D8Async(
                  toPointer(dst + fill.dst), size_t(fill.dstStride[2]), 0,
                  size_t(fill.bytes), size_t(fill.count[2]), stream),
        "filling with zeros");
}

void CudaDevice::addTracks(TraceProcess &tracks) const {
  tracks.push_back(&times->kernels);
  tracks.push_back(&times->transfers);
}
