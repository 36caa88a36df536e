//===- NcclCommunicator.h - one device a rank, over NCCL --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_BACKENDS_NCCL_NCCLCOMMUNICATOR_H
#define TSP_RUNTIME_BACKENDS_NCCL_NCCLCOMMUNICATOR_H

#include "backends/cuda/DeviceCommunicator.h"
#include "backends/nccl/Nccl.h"

#include <shared_mutex>

namespace tsp::runtime::nccl {

/// Transfers as NCCL calls on the communication stream, put there by the start.
/// NCCL only moves bytes: reductions gather the parts and combine them with the
/// model's kernels, in the order of the ranks, so that results are those of the
/// other communicators bit for bit. A group has one communicator, made once.
class NcclCommunicator : public cuda::DeviceCommunicator {
public:
  explicit NcclCommunicator(Session &session);
  ~NcclCommunicator() override;

  void open() override;
  void addMemory(tsp_rank &rank, const Block &block) override;
  void reset() override;
  void poll(tsp_rank &rank) override;
  std::string waitingText(tsp_rank &rank) override;
  void wakeAll() override;

private:
  /// A transfer that the device may still work on.
  struct Outstanding {
    Flight flight;
    std::string text;
    cuda::Event done;
  };
  /// One rank's communicators.
  struct Comms {
    Comm world = nullptr;
    std::vector<Comm> groups; ///< by axis number; null where it is alone
    std::vector<std::pair<Comm, void *>> registered; ///< handles of memory
    std::deque<Outstanding> outstanding;
    int64_t lastPoll = 0;
  };

  void warnOfVersion() const;
  void connect(tsp_rank &rank, const UniqueId &id);
  void dropGraphs();
  bool posted(tsp_rank &rank, const Flight &flight, tsp_event event) override;
  bool complete(tsp_rank &rank, const Flight &flight, tsp_event event) override;
  void enqueue(tsp_rank &rank, const Flight &flight);

  const Nccl &nccl;
  std::vector<Comms> comms; ///< by the ranks' slots
  /// Shared by those who call NCCL; an abort frees what they use.
  std::shared_timed_mutex inUse;
  std::atomic<bool> aborted{false};
};

} // namespace tsp::runtime::nccl

#endif // TSP_RUNTIME_BACKENDS_NCCL_NCCLCOMMUNICATOR_H
