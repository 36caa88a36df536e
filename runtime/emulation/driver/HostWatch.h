//===- HostWatch.h - the host and memory that streams use -------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of the checker. From the submission of a copy until the host has waited for
// it, the host may not touch pinned memory that the copy writes, nor change
// memory that it reads. The former has no access for so long: copies go through
// a second mapping, and a thread of the host comes to a signal handler. The
// latter is compared, when the host has waited, with what it was.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_DRIVER_HOSTWATCH_H
#define TSP_EMULATION_DRIVER_HOSTWATCH_H

#include "Engine.h"
#include "driver/Scheduler.h"

#include <list>
#include <mutex>
#include <string>
#include <vector>

namespace tsp::emulation {

/// Memory of the host that a copy uses.
struct HostUse {
  Range range;
  /// Where devices find it (Allocation::deviceView).
  uintptr_t view = 0;
  bool writes = false;
};

class HostWatch {
public:
  /// The one of this process; never destroyed, as work may outlive main().
  static HostWatch &get();

  /// The host has submitted a task.
  void begin(const TaskRef &task, const std::vector<HostUse> &uses);
  /// The host knows so many tasks.
  void end(const Clock &known);
  /// The range is no memory any more.
  void forget(uintptr_t begin, size_t size);
  /// A thread has no access to an address. False if that is not from here; else
  /// a page that is to be closed again after one instruction may be given.
  bool handleFault(uintptr_t address, Range &openPage);
  void closeAgain(const Range &page);

  /// This thread works for devices: what it touches is not the host's doing.
  static void enterDevice();

private:
  struct Watched {
    TaskRef task;
    HostUse use;
    /// Of a read: the bytes at the submission, and what the host knew then.
    uint64_t hash = 0;
    Clock known;
  };

  using Place = std::list<Watched>::iterator;

  void add(const TaskRef &task, const HostUse &use);
  bool isChanged(const Watched &watched) const;
  void remove(Place place);
  /// Lets the host access the pages of a range, but for those of other copies.
  void open(const Range &range);
  void close(const Range &pages);

  std::mutex mutex;
  std::list<Watched> list;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_DRIVER_HOSTWATCH_H
