//===- Races.h - tasks that nothing puts in order ---------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of the checker (TSP_EMULATION_CHECK). Each task that ends tells which memory
// it has read and written. A task that meets an access of another one, of which
// one is a write, must come after it: by streams, events, edges of graphs, or
// since the host waited for it before it submitted this one. The order in which
// the tasks happened to run does not matter.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_DRIVER_RACES_H
#define TSP_EMULATION_DRIVER_RACES_H

#include "Engine.h"
#include "driver/Scheduler.h"

#include <cuda.h>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tsp::emulation {

/// What tasks have done to the memory that exists.
class Races {
public:
  /// The one of this process; never destroyed, as work may outlive main().
  static Races &get();

  /// Takes what a task that ends has done, in the order of addresses. An error
  /// of the device after a race, which is reported with both tasks.
  CUresult add(const TaskRef &task, const std::string &what,
               const std::vector<GlobalUse> &uses);
  /// Whether a task that is not in `known` has written anything of a range.
  bool isWritten(const Range &range, const Clock &known);
  /// The range is no memory any more.
  void forget(uintptr_t begin, size_t size);

private:
  /// A task as reports name it.
  struct Doer {
    TaskPlace place;
    uint64_t submission;
    unsigned long long stream;
    int device;
    const std::string *what;
  };
  /// What it did, and by which instructions.
  struct Action {
    uint32_t doer;
    GlobalUse::Kind kind;
    std::vector<uint32_t> lines;
  };
  /// Number of an action, from 1; 0: none.
  using ActionId = uint32_t;
  struct Interval {
    uintptr_t end;
    ActionId writer = 0;
    /// Since the write; none is ordered before another.
    std::vector<ActionId> readers;
  };
  using Intervals = std::map<uintptr_t, Interval>;

  void split(uintptr_t address);
  ActionId findConflict(const Interval &interval, const Clock &known,
                        GlobalUse::Kind kind) const;
  void note(Interval &interval, const Clock &known, ActionId id);
  void joinWithLast(Intervals::iterator interval);
  void apply(const Clock &known, Range range, ActionId id, Range &where,
             std::string &found);
  std::string explain(ActionId one, ActionId other) const;
  std::string describe(ActionId id) const;

  std::mutex mutex;
  std::deque<Doer> doers;
  std::deque<Action> actions;
  std::set<std::string> names;
  Intervals intervals;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_DRIVER_RACES_H
