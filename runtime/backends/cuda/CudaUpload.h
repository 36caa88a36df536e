//===- CudaUpload.h - filling device memory through pinned pieces -*- C++
//-*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_BACKENDS_CUDA_CUDAUPLOAD_H
#define TSP_RUNTIME_BACKENDS_CUDA_CUDAUPLOAD_H

#include "backends/cuda/CudaDevice.h"

namespace tsp::runtime::cuda {

/// Host memory that copies of a stream read and write when the stream comes to
/// them.
struct PinnedMemory {
  PinnedMemory(const DeviceUse &device, int64_t bytes);
  ~PinnedMemory();

  const DeviceUse &device;
  const int64_t size;
  char *data = nullptr;
};

/// Two pieces of pinned memory: one is filled while the other is copied up.
struct PinnedPieces {
  explicit PinnedPieces(const DeviceUse &device);
  ~PinnedPieces();

  static constexpr int64_t size = int64_t(4) << 20;
  struct Piece {
    std::unique_ptr<PinnedMemory> memory;
    Event copied = nullptr;
    bool busy = false;
  };
  const DeviceUse &device;
  Piece pieces[2];
  int next = 0;
};

/// Copies run behind the reading of files, on the compute stream, so that
/// kernels come after them.
class CudaUpload : public Upload {
public:
  CudaUpload(PinnedPieces &pinned, Stream stream, char *dst, int64_t bytes);

  char *piece(int64_t offset, int64_t &bytes) override;
  void finish() override;

private:
  void take();
  void flush();

  PinnedPieces &pinned;
  const Driver &driver;
  const Stream stream;
  char *const dst;
  const int64_t total;
  int64_t begin = 0; ///< of the present piece in the buffer
  int64_t fill = 0;  ///< bytes in it
};

} // namespace tsp::runtime::cuda

#endif // TSP_RUNTIME_BACKENDS_CUDA_CUDAUPLOAD_H
