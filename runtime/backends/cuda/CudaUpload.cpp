//===- CudaUpload.cpp - filling device memory through pinned pieces -------===//
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

PinnedMemory::PinnedMemory(const DeviceUse &device, int64_t bytes)
    : device(device), size(bytes) {
  CurrentContext current(device);
  void *memory = nullptr;
  device.driver.check(device.driver.memHostAlloc(&memory, size_t(bytes), 0),
                      device.name + ": pinned memory");
  data = static_cast<char *>(memory);
}

PinnedMemory::~PinnedMemory() {
  CurrentContext current(device);
  device.driver.memFreeHost(data);
}

PinnedPieces::PinnedPieces(const DeviceUse &device) : device(device) {
  CurrentContext current(device);
  for (Piece &piece : pieces) {
    piece.memory = std::make_unique<PinnedMemory>(device, size);
    device.driver.check(
        device.driver.eventCreate(&piece.copied, eventWithoutTiming),
        "cuEventCreate");
  }
}

PinnedPieces::~PinnedPieces() {
  for (Piece &piece : pieces)
    if (piece.copied)
      device.driver.eventDestroy(piece.copied);
}

CudaUpload::CudaUpload(PinnedPieces &pinned, Stream stream, char *dst,
                       int64_t bytes)
    : pinned(pinned), driver(pinned.device.driver), stream(stream), dst(dst),
      total(bytes) {}

/// Waits until the next piece of pinned memory may be written again.
void CudaUpload::take() {
  PinnedPieces::Piece &piece = pinned.pieces[pinned.next];
  if (piece.busy)
    driver.check(driver.eventSynchronize(piece.copied), "cuEventSynchronize");
  piece.busy = false;
  fill = 0;
}

/// Sends the present piece off.
void CudaUpload::flush() {
  if (fill == 0)
    return;
  PinnedPieces::Piece &piece = pinned.pieces[pinned.next];
  driver.check(driver.memcpyHtoDAsync(reinterpret_cast<Pointer>(dst + begin),
                                      piece.memory->data, size_t(fill), stream),
               "copying up");
  driver.check(driver.eventRecord(piece.copied, stream), "cuEventRecord");
  piece.busy = true;
  pinned.next ^= 1;
  begin += fill;
  fill = 0;
}

char *CudaUpload::piece(int64_t offset, int64_t &bytes) {
  int64_t gap = offset - (begin + fill);
  if (gap >= PinnedPieces::size - fill) {
    // Too far to bridge with zeros in pinned memory.
    flush();
    if (offset > begin)
      driver.check(driver.memsetD8Async(reinterpret_cast<Pointer>(dst + begin),
                                        0, size_t(offset - begin), stream),
                   "cuMemsetD8Async");
    begin = offset;
    gap = 0;
  }
  if (fill == 0)
    take();
  char *memory = pinned.pieces[pinned.next].memory->data;
  memset(memory + fill, 0, size_t(gap));
  fill += gap;
  bytes = std::min(bytes, PinnedPieces::size - fill);
  char *result = memory + fill;
  fill += bytes;
  return result;
}

void CudaUpload::finish() {
  flush();
  if (total > begin)
    driver.check(driver.memsetD8Async(reinterpret_cast<Pointer>(dst + begin), 0,
                                      size_t(total - begin), stream),
                 "cuMemsetD8Async");
}
