//===- CudaDevice.h - ranks on CUDA devices ---------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_BACKENDS_CUDA_CUDADEVICE_H
#define TSP_RUNTIME_BACKENDS_CUDA_CUDADEVICE_H

#include "backends/cuda/Driver.h"
#include "backends/cuda/Timeline.h"
#include "core/Moves.h"
#include "core/Session.h"

#include <map>
#include <mutex>
#include <unordered_map>

namespace tsp::runtime::cuda {

/// A device of this process with its primary context and the model's code,
/// shared by the ranks on it.
class DeviceUse {
public:
  DeviceUse(const Driver &driver, int number, const tsp_device_image &image);
  ~DeviceUse();

  const Driver &driver;
  const int number; ///< as the driver counts
  DeviceNumber handle = 0;
  Context context = nullptr;
  std::string name; ///< "device 0 (NVIDIA H100, sm_90)"

  /// Loads the image with all of its kernels, before there is work: a kernel
  /// that is loaded later may wait for the device, which may wait for ranks
  /// whose calls of the driver wait for that ("Lazy Loading" of the CUDA
  /// programming guide).
  void load();

  /// A kernel of the loaded image. Null: it has none of this name.
  Function find(const char *kernel);

private:
  void loadFunctions();
  const tsp_device_image image;
  std::mutex mutex; ///< of the loading
  Module module = nullptr;
};

/// Makes a device's context the current one for a while.
class CurrentContext {
public:
  explicit CurrentContext(const DeviceUse &device) : driver(device.driver) {
    driver.check(driver.ctxPushCurrent(device.context), "cuCtxPushCurrent");
  }
  ~CurrentContext() {
    Context context;
    driver.ctxPopCurrent(&context);
  }

private:
  const Driver &driver;
};

/// Device memory.
class CudaBlock : public Block {
public:
  CudaBlock(DeviceUse &device, int64_t bytes);
  ~CudaBlock() override;
  /// A device does not tell what was touched: all counts.
  int64_t touched() const override { return bytes; }

private:
  DeviceUse &device;
};

struct PinnedMemory;
struct PinnedPieces;

/// A device as one rank uses it: two streams, a workspace, caches.
class CudaDevice : public Device {
public:
  CudaDevice(tsp_rank &rank, DeviceUse &device, int64_t workspaceBytes);
  ~CudaDevice() override;

  int32_t space() const override { return TSP_SPACE_DEVICE; }
  std::unique_ptr<Block> allocate(int64_t bytes) override;
  std::unique_ptr<Upload> upload(char *dst, int64_t bytes) override;
  void zero(char *dst, int64_t bytes) override;
  const char *fetch(const char *src, int64_t bytes,
                    std::vector<char> &buffer) override;

  void copy(int32_t stream, void *dst, const void *src, int64_t bytes) override;
  void read(int32_t stream, void *dst, const void *src, int64_t bytes) override;
  void write(int32_t stream, void *dst, const void *src,
             int64_t bytes) override;
  void *constant(const void *data, int64_t bytes) override;
  void launch(int32_t stream, const tsp_device_kernel &kernel, int64_t nargs,
              void **args) override;
  bool run(int entry, void (*code)(void *context), void *context) override;
  int64_t touched() const override;
  void addTracks(TraceProcess &tracks) const override;

  // For communicators, which work on the second stream.
  const Driver &driver() const { return device.driver; }
  DeviceUse &use() { return device; }
  Stream stream(int32_t number) const { return streams[number]; }
  bool capturing() const { return isCapturing; }
  Timeline &timeline() { return *times; }

  /// Makes a move between device buffers (any devices that see each other).
  void enqueueMove(Stream stream, const Move &move, char *dst, const char *src);
  void enqueueZero(Stream stream, const Move &fill, char *dst);
  /// Launches one of the image's own kernels, of any parameters.
  void enqueueKernel(Stream stream, const char *name, int64_t threads,
                     void **parameters);
  Event makeEvent();

  /// Destroys the recorded graphs, from any thread; none is made or launched
  /// any more. Not when a launch takes long: a driver that takes no more work
  /// does not come back from it.
  void dropGraphs();

  /// Waits until a stream is empty. Returns false when the session fails or the
  /// device stops first.
  bool drain(Stream stream);

private:
  /// A kernel that was launched: the form of it that the loaded code has.
  struct Launchable {
    const tsp_device_kernel *form = nullptr;
    Function function = nullptr;
    LaunchConfig config = {};
    LaunchAttribute cluster = {};
    /// Of each of its tensor maps what was encoded, by buffer.
    std::vector<std::unordered_map<void *, TensorMap>> maps;
  };
  struct RecordedGraph {
    int calls = 0;
    GraphExec exec = nullptr;
    std::map<std::pair<int, int>, CollectiveCount> counts; ///< of each call
  };

  void check(Result result, const char *what) const;
  /// Throws an Error unless the driver has a function that a kernel needs.
  void require(bool found, const char *function, const char *kernel) const;
  Launchable &findKernel(const tsp_device_kernel &kernel);
  TensorMap *findMap(Launchable &kernel, int64_t number, void *buffer);
  bool runGraph(RecordedGraph &graph, void (*code)(void *), void *context);
  bool record(RecordedGraph &graph, void (*code)(void *), void *context);
  void launchGraph(RecordedGraph &graph);
  bool finish();

  tsp_rank &rank;
  DeviceUse &device;
  Stream streams[2] = {nullptr, nullptr};
  std::unique_ptr<PinnedPieces> pinned;  ///< made by the first upload
  std::unique_ptr<PinnedMemory> landing; ///< made by the first read
  std::unique_ptr<Block> workspace;
  std::map<const void *, std::unique_ptr<Block>> constants;
  std::unordered_map<const tsp_device_kernel *, Launchable> kernels;
  std::map<std::string, Function> ownKernels; ///< of enqueueKernel
  std::timed_mutex graphsMutex;               ///< of the next two
  std::map<int, RecordedGraph> graphs;        ///< by entry
  bool areGraphsDropped = false;
  std::vector<Event> events;
  std::unique_ptr<Timeline> times;
  bool isCapturing = false;
};

} // namespace tsp::runtime::cuda

#endif // TSP_RUNTIME_BACKENDS_CUDA_CUDADEVICE_H
