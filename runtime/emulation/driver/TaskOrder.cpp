//===- TaskOrder.cpp - which tasks come before which ----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/TaskOrder.h"

#include "driver/HostWatch.h"
#include "driver/Scheduler.h"

#include <mutex>

using namespace tsp::emulation;

namespace {
/// What all tasks share.
struct Chains {
  std::mutex mutex;
  uint64_t submitted = 0;
  /// The last position of each chain.
  std::vector<uint32_t> ends;
  Clock knownToHost;

  /// Never destroyed: tasks may outlive main().
  static Chains &get() {
    static auto *chains = new Chains;
    return *chains;
  }
};
} // namespace

void TaskOrder::submit(const std::vector<TaskRef> &tasks) {
  after = tasks;
  Chains &chains = Chains::get();
  std::lock_guard<std::mutex> lock(chains.mutex);
  number = ++chains.submitted;
  known = chains.knownToHost;
}

void TaskOrder::start() {
  for (const TaskRef &task : after)
    if (task)
      known.join(task->order.known);
  Chains &chains = Chains::get();
  std::lock_guard<std::mutex> lock(chains.mutex);
  auto isEnd = [&](uint32_t chain) {
    return known[chain] == chains.ends[chain];
  };
  uint32_t chain = 0;
  while (chain < chains.ends.size() && !isEnd(chain))
    ++chain;
  // Rather that of its stream: others may go on by themselves.
  for (const TaskRef &task : after)
    if (task && isEnd(task->order.place.chain)) {
      chain = task->order.place.chain;
      break;
    }
  after.clear();
  if (chain == chains.ends.size())
    chains.ends.push_back(0);
  place = {chain, ++chains.ends[chain]};
  known.set(chain, place.position);
}

void TaskOrder::follow(const TaskOrder &sender) {
  std::lock_guard<std::mutex> lock(Chains::get().mutex);
  Clock before = sender.known;
  before.set(sender.place.chain, sender.place.position - 1);
  known.join(before);
}

void TaskOrder::tellHost() const {
  Chains &chains = Chains::get();
  {
    std::lock_guard<std::mutex> lock(chains.mutex);
    chains.knownToHost.join(known);
  }
  HostWatch::get().end(knownToHost());
}

Clock TaskOrder::knownToHost() {
  Chains &chains = Chains::get();
  std::lock_guard<std::mutex> lock(chains.mutex);
  return chains.knownToHost;
}
