//===- DeviceCommunicator.h - transfers between device buffers --*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_BACKENDS_CUDA_DEVICECOMMUNICATOR_H
#define TSP_RUNTIME_BACKENDS_CUDA_DEVICECOMMUNICATOR_H

#include "backends/cuda/DeviceOps.h"
#include "core/GroupCommunicator.h"

namespace tsp::runtime::cuda {

/// What the communicators of devices share. A start leaves an event in the
/// compute stream, after which the source is ready and the destination free.
/// The transfer runs on the communication stream; a wait lets the compute
/// stream wait for the event behind it. The host waits for nothing on the
/// device.
class DeviceCommunicator : public GroupCommunicator {
public:
  explicit DeviceCommunicator(Session &session);

protected:
  /// The events of a transfer of one rank.
  struct Marks {
    Event ready = nullptr;   ///< on the compute stream, at the start
    Event reduced = nullptr; ///< own slice of a reduction
    Event done = nullptr;    ///< all that this rank does
  };

  static CudaDevice &deviceOf(tsp_rank &rank) {
    return static_cast<CudaDevice &>(*rank.device);
  }
  Marks &marks(Group &group, int64_t member, uint64_t number);
  Marks &ownMarks(const Flight &flight) {
    return marks(*flight.group, flight.me, flight.number);
  }

  bool prepare(tsp_rank &rank, const Flight &flight) override;

  /// Runs work that throws Errors; notes them with rank and transfer.
  template <typename Work>
  bool guarded(tsp_rank &rank, const Flight &flight, Work work) {
    try {
      work();
      return true;
    } catch (const std::exception &error) {
      session.fail(format("rank %lld, %s: %s", (long long)rank.index,
                          flightText(flight).c_str(), error.what()));
      return false;
    }
  }

  /// The end of a wait: the compute stream waits for the events of a transfer.
  void waitOnDevice(tsp_rank &rank, const std::vector<Event> &events);

  /// A span of the communication stream in the trace, with the simulated link.
  void openSpan(tsp_rank &rank, const Flight &flight);
  void closeSpan(tsp_rank &rank);

private:
  std::map<const Member *, std::vector<Marks>> allMarks;
};

/// Ranks of one process; several may be on one device. Each reads from its
/// peers' memory.
std::unique_ptr<Communicator> makeLocalCommunicator(Session &session);

} // namespace tsp::runtime::cuda

#endif // TSP_RUNTIME_BACKENDS_CUDA_DEVICECOMMUNICATOR_H
