//===- Device.h - the memory and the streams of one rank --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_DEVICE_H
#define TSP_RUNTIME_CORE_DEVICE_H

#include "core/Trace.h"
#include "core/Types.h"

#include <memory>

struct tsp_rank;

namespace tsp::runtime {

class Communicator;
struct ModelDesc;
struct Session;

/// Memory of a rank, all of it in its device's space.
class Block {
public:
  virtual ~Block() = default;
  char *data() const { return base; }
  int64_t size() const { return bytes; }

  /// Bytes that are really in use, as far as the device can tell.
  virtual int64_t touched() const = 0;

protected:
  char *base = nullptr;
  int64_t bytes = 0;
};

/// Fills a buffer of a rank from the host, in ascending order.
class Upload {
public:
  virtual ~Upload() = default;

  /// Where to put the buffer's bytes from `offset` on, which is not less than
  /// the end of the last piece; bytes in between become zero. Lowers `bytes` to
  /// the room there is, at least 1.
  virtual char *piece(int64_t offset, int64_t &bytes) = 0;

  /// After the last piece: the rest becomes zero.
  virtual void finish() = 0;
};

/// One rank's device. Functions throw an Error when the device refuses. Those
/// without a stream finish their work before they return.
class Device {
public:
  virtual ~Device() = default;

  /// The space of the memory that `allocate` gives.
  virtual int32_t space() const = 0;

  virtual std::unique_ptr<Block> allocate(int64_t bytes) = 0;

  /// The buffer's bytes outside the pieces become zero.
  virtual std::unique_ptr<Upload> upload(char *dst, int64_t bytes) = 0;
  virtual void zero(char *dst, int64_t bytes) = 0;
  /// Where bytes of the device can be read by the host: in place, or copied to
  /// `buffer`.
  virtual const char *fetch(const char *src, int64_t bytes,
                            std::vector<char> &buffer) = 0;

  // What compiled code does, on the rank's main thread.
  virtual void copy(int32_t stream, void *dst, const void *src,
                    int64_t bytes) = 0;
  virtual void read(int32_t stream, void *dst, const void *src,
                    int64_t bytes) = 0;
  virtual void write(int32_t stream, void *dst, const void *src,
                     int64_t bytes) = 0;
  virtual void *constant(const void *data, int64_t bytes) = 0;
  virtual void launch(int32_t stream, const tsp_device_kernel &kernel,
                      int64_t nargs, void **args) = 0;

  /// Runs an entry: calls `code`, and waits until the streams are empty.
  /// Returns false when the call failed (Session::fail has the reason).
  virtual bool run(int entry, void (*code)(void *context), void *context) = 0;

  /// Bytes in use beside the blocks.
  virtual int64_t touched() const = 0;

  /// Its tracks of the trace.
  virtual void addTracks(TraceProcess &tracks) const = 0;
};

/// What gives the ranks of a session their devices and connects them.
class Backend {
public:
  virtual ~Backend() = default;
  /// Called on the rank's main thread.
  virtual std::unique_ptr<Device> makeDevice(tsp_rank &rank) = 0;
  virtual std::unique_ptr<Communicator> makeCommunicator(Session &session) = 0;
};

/// Ranks are threads of this process.
std::unique_ptr<Backend> makeHostBackend();

/// The same memory; one rank a process, connected by MPI or TCP.
std::unique_ptr<Backend> makeProcessBackend();

/// Throws an Error that says what is missing when this machine has no driver.
std::unique_ptr<Backend> makeCudaBackend(const ModelDesc &model,
                                         const tsp_options &options);

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_DEVICE_H
