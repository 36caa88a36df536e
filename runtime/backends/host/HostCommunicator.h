//===- HostCommunicator.h - ranks are threads of this process ---*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_BACKENDS_HOST_HOSTCOMMUNICATOR_H
#define TSP_RUNTIME_BACKENDS_HOST_HOSTCOMMUNICATOR_H

#include "core/GroupCommunicator.h"

namespace tsp::runtime {

/// Collectives by reading the peers' memory. A rank posts its buffers when it
/// starts a transfer; in its wait it reads from the peers that have posted
/// theirs, says so, and waits until all its readers have said so too. With
/// --link, reading begins when the simulated link would have delivered; waiting
/// for that takes no CPU.
class HostCommunicator : public GroupCommunicator {
public:
  using GroupCommunicator::GroupCommunicator;

private:
  bool complete(tsp_rank &rank, const Flight &flight, tsp_event event) override;
  bool waitLink(tsp_rank &rank, tsp_event event);
  bool pull(tsp_rank &rank, const Flight &flight, Post &own);
  bool reduceAll(tsp_rank &rank, const Flight &flight, Post &own);
  /// What the members of the group have posted.
  std::vector<const Transfer *> transfers(const Flight &flight);
};

} // namespace tsp::runtime

#endif // TSP_RUNTIME_BACKENDS_HOST_HOSTCOMMUNICATOR_H
