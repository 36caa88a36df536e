//===- TaskOrder.h - which tasks come before which --------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of the checker. Tasks lie on chains, each of which is in order: a task goes
// on with a chain whose end comes before it, or begins one. So the tasks before
// a task are a clock: how far it knows each chain. All threads of the host
// together are taken for one that knows what any of them has waited for, since
// how they wait for each other is not seen.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_DRIVER_TASKORDER_H
#define TSP_EMULATION_DRIVER_TASKORDER_H

#include "exec/Order.h"

#include <memory>
#include <vector>

namespace tsp::emulation {

class Task;
using TaskRef = std::shared_ptr<Task>;

/// Where a task is: on which chain, as which of it (from 1).
struct TaskPlace {
  uint32_t chain = 0;
  uint32_t position = 0;

  bool isIn(const Clock &known) const {
    return position && known[chain] >= position;
  }
};

/// What the checker keeps of a task.
struct TaskOrder {
  /// In the order of their submission.
  uint64_t number = 0;
  /// Until it starts: the tasks that it comes after.
  std::vector<TaskRef> after;
  TaskPlace place;
  /// At its submission what the host knew; once it has started also its place
  /// and all before it.
  Clock known;

  /// The host submits the task.
  void submit(const std::vector<TaskRef> &tasks);
  /// All that it comes after has ended.
  void start();
  /// It has received what another task, which has started, has sent: it ends
  /// after all that is before the other one.
  void follow(const TaskOrder &sender);
  /// The host has waited for the task, which has ended.
  void tellHost() const;
  bool isIn(const Clock &known) const { return place.isIn(known); }
  static Clock knownToHost();
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_DRIVER_TASKORDER_H
