//===- HostDevice.cpp - ranks in the host's memory ------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/host/HostCommunicator.h"

#include <cstring>

using namespace tsp::runtime;

namespace {
class HostBlock : public Block {
public:
  explicit HostBlock(int64_t size) : mapping(size) {
    base = mapping.data();
    bytes = size;
  }
  int64_t touched() const override { return mapping.touched(); }

private:
  Mapping mapping;
};

/// Pieces go straight to their place.
class HostUpload : public Upload {
public:
  HostUpload(char *dst, int64_t bytes) : dst(dst), total(bytes) {}

  char *piece(int64_t offset, int64_t &bytes) override {
    zeroUpTo(offset);
    end = offset + bytes;
    return dst + offset;
  }
  void finish() override { zeroUpTo(total); }

private:
  void zeroUpTo(int64_t offset) {
    if (offset > end)
      memset(dst + end, 0, size_t(offset - end));
  }

  char *const dst;
  const int64_t total;
  int64_t end = 0; ///< of the last piece
};

/// Memory of this process; stream 0 is the calling thread.
class HostDevice : public Device {
public:
  explicit HostDevice(Session &session) : session(session) {}

  int32_t space() const override { return TSP_SPACE_HOST; }
  std::unique_ptr<Block> allocate(int64_t bytes) override {
    return std::make_unique<HostBlock>(bytes);
  }
  std::unique_ptr<Upload> upload(char *dst, int64_t bytes) override {
    return std::make_unique<HostUpload>(dst, bytes);
  }
  void zero(char *dst, int64_t bytes) override {
    if (bytes > 0)
      memset(dst, 0, size_t(bytes));
  }
  const char *fetch(const char *src, int64_t, std::vector<char> &) override {
    return src;
  }

  void copy(int32_t, void *dst, const void *src, int64_t bytes) override {
    if (bytes > 0 && dst != src)
      memcpy(dst, src, size_t(bytes));
  }
  void read(int32_t stream, void *dst, const void *src,
            int64_t bytes) override {
    copy(stream, dst, src, bytes);
  }
  void write(int32_t stream, void *dst, const void *src,
             int64_t bytes) override {
    copy(stream, dst, src, bytes);
  }
  void *constant(const void *data, int64_t) override {
    return const_cast<void *>(data);
  }
  void launch(int32_t, const tsp_device_kernel &kernel, int64_t,
              void **) override {
    throw Error(format("kernel %s is for a device, but the model's target is "
                       "'host'",
                       kernel.name));
  }
  bool run(int, void (*code)(void *), void *context) override {
    code(context);
    return !session.failed();
  }
  int64_t touched() const override { return 0; }
  void addTracks(TraceProcess &) const override {}

private:
  Session &session;
};

class HostBackend : public Backend {
public:
  std::unique_ptr<Device> makeDevice(tsp_rank &rank) override {
    return std::make_unique<HostDevice>(rank.session);
  }
  std::unique_ptr<Communicator> makeCommunicator(Session &session) override {
    return std::make_unique<HostCommunicator>(session);
  }
};
} // namespace

std::unique_ptr<Backend> tsp::runtime::makeHostBackend() {
  return std::make_unique<HostBackend>();
}
