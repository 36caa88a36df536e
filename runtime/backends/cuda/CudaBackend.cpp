//===- CudaBackend.cpp - which rank gets which device ---------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/cuda/DeviceCommunicator.h"
#include "backends/nccl/NcclCommunicator.h"

#include <set>

using namespace tsp::runtime;
using namespace tsp::runtime::cuda;

namespace {
class CudaBackend : public Backend {
public:
  CudaBackend(const ModelDesc &model, const tsp_options &options)
      : model(model), driver(Driver::get()) {
    int count = 0;
    driver.check(driver.deviceGetCount(&count), "cuDeviceGetCount");
    if (options.devices)
      parseDevices(options.devices, count);
    for (int i = 0; !options.devices && i < count; ++i)
      numbers.push_back(i);
  }

  std::unique_ptr<Device> makeDevice(tsp_rank &rank) override {
    return std::make_unique<CudaDevice>(rank, use(numberOf(rank)),
                                        model.workspaceBytes);
  }

  std::unique_ptr<Communicator> makeCommunicator(Session &session) override {
    std::set<int> distinct;
    for (const auto &rank : session.ranks)
      distinct.insert(numberOf(*rank));
    size_t ranks = session.ranks.size();
    if (session.processes || (ranks > 1 && distinct.size() == ranks))
      return std::make_unique<nccl::NcclCommunicator>(session);
    if (ranks > 1 && session.options.graphs)
      throw Error(format("--graphs needs a device for each rank: %zu ranks "
                         "share %zu devices",
                         ranks, distinct.size()));
    connectPeers();
    return makeLocalCommunicator(session);
  }

private:
  void parseDevices(const std::string &list, int count) {
    size_t begin = 0;
    while (begin <= list.size()) {
      size_t end = std::min(list.find(',', begin), list.size());
      std::string item = list.substr(begin, end - begin);
      char *rest = nullptr;
      long number = strtol(item.c_str(), &rest, 10);
      if (item.empty() || *rest || number < 0 || number >= count)
        throw Error(format("--device=%s: '%s' is no device; this machine has "
                           "numbers 0 to %d",
                           list.c_str(), item.c_str(), count - 1));
      numbers.push_back(int(number));
      begin = end + 1;
    }
  }

  int numberOf(const tsp_rank &rank) const {
    const Session &session = rank.session;
    int64_t before = session.processes ? session.processes->how().localIndex *
                                             int64_t(session.ranks.size())
                                       : 0;
    return numbers[size_t(before + rank.slot) % numbers.size()];
  }

  DeviceUse &use(int number) {
    std::lock_guard<std::mutex> lock(mutex);
    auto &device = devices[number];
    if (!device)
      device = std::make_unique<DeviceUse>(driver, number, *model.device);
    return *device;
  }

  /// Lets the devices in use read each other's memory.
  void connectPeers() {
    for (auto &[number, device] : devices) {
      CurrentContext current(*device);
      for (auto &[otherNumber, other] : devices) {
        if (number == otherNumber)
          continue;
        int possible = 0;
        driver.deviceCanAccessPeer(&possible, device->handle, other->handle);
        Result result =
            possible ? driver.ctxEnablePeerAccess(other->context, 0) : success;
        if (!possible || (result != success && result != peerAlreadyEnabled))
          throw Error(device->name + " cannot read the memory of " +
                      other->name +
                      ", which ranks that share devices need; choose devices "
                      "with --device");
      }
    }
  }

  const ModelDesc &model;
  const Driver &driver;
  std::vector<int> numbers; ///< of the devices, given to the ranks in turn
  std::mutex mutex;
  std::map<int, std::unique_ptr<DeviceUse>> devices;
};
} // namespace

std::unique_ptr<Backend>
tsp::runtime::makeCudaBackend(const ModelDesc &model,
                              const tsp_options &options) {
  return std::make_unique<CudaBackend>(model, options);
}
