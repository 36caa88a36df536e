//===- Races.cpp - tasks that nothing puts in order -----------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Races.h"

#include "driver/Context.h"
#include "driver/Memory.h"
#include "driver/Options.h"

#include <algorithm>
#include <tuple>

using namespace tsp::emulation;
using Kind = GlobalUse::Kind;

Races &Races::get() {
  static auto *races = new Races;
  return *races;
}

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

/// Lets no interval lie on both sides of an address.
void Races::split(uintptr_t address) {
  auto behind = intervals.upper_bound(address);
  if (behind == intervals.begin())
    return;
  auto &[begin, interval] = *std::prev(behind);
  if (begin == address || interval.end <= address)
    return;
  intervals.emplace_hint(behind, address, interval);
  interval.end = address;
}

void Races::forget(uintptr_t begin, size_t size) {
  std::lock_guard<std::mutex> lock(mutex);
  split(begin);
  split(begin + size);
  intervals.erase(intervals.lower_bound(begin),
                  intervals.lower_bound(begin + size));
}

bool Races::isWritten(const Range &range, const Clock &known) {
  std::lock_guard<std::mutex> lock(mutex);
  split(range.begin);
  for (auto at = intervals.lower_bound(range.begin);
       at != intervals.end() && at->first < range.end; ++at)
    if (ActionId writer = at->second.writer;
        writer && !doers[actions[writer - 1].doer].place.isIn(known))
      return true;
  return false;
}

/// An action that a task which knows `known` is not behind, though one of the
/// two writes.
Races::ActionId Races::findConflict(const Interval &interval,
                                    const Clock &known, Kind kind) const {
  auto isApart = [&](ActionId id) {
    return id && !doers[actions[id - 1].doer].place.isIn(known);
  };
  bool bothAtomic = kind == Kind::Atomic && interval.writer &&
                    actions[interval.writer - 1].kind == Kind::Atomic;
  if (isApart(interval.writer) && !bothAtomic)
    return interval.writer;
  if (kind != Kind::Read)
    for (ActionId reader : interval.readers)
      if (isApart(reader))
        return reader;
  return 0;
}

void Races::note(Interval &interval, const Clock &known, ActionId id) {
  auto &readers = interval.readers;
  if (actions[id - 1].kind != Kind::Read) {
    interval.writer = id;
    readers.clear();
    return;
  }
  auto isBefore = [&](ActionId reader) {
    return doers[actions[reader - 1].doer].place.isIn(known);
  };
  readers.erase(std::remove_if(readers.begin(), readers.end(), isBefore),
                readers.end());
  readers.push_back(id);
}

/// Makes one interval of two that say the same.
void Races::joinWithLast(Intervals::iterator interval) {
  if (interval == intervals.begin() || interval == intervals.end())
    return;
  Interval &last = std::prev(interval)->second, &now = interval->second;
  if (last.end != interval->first || last.writer != now.writer ||
      last.readers != now.readers)
    return;
  last.end = now.end;
  intervals.erase(interval);
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

CUresult Races::add(const TaskRef &task, const std::string &what,
                    const std::vector<GlobalUse> &uses) {
  if (!options().checks || uses.empty())
    return CUDA_SUCCESS;
  const TaskOrder &order = task->order;
  std::string found;
  Range where;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto doer = uint32_t(doers.size());
    doers.push_back({order.place, order.number, task->stream(),
                     task->context()->device, &*names.insert(what).first});
    std::map<std::pair<Kind, std::vector<uint32_t>>, ActionId> known;
    for (const GlobalUse &use : uses) {
      ActionId &id = known[{use.kind, use.lines}];
      if (!id) {
        actions.push_back({doer, use.kind, use.lines});
        id = ActionId(actions.size());
      }
      apply(order.known, use.range, id, where, found);
    }
  }
  if (found.empty())
    return CUDA_SUCCESS;
  Allocation range;
  std::string bytes;
  if (Memory::get().find(where.begin, range))
    bytes = "bytes " + std::to_string(where.begin - range.begin) + " to " +
            std::to_string(where.end - range.begin - 1) +
            " of an allocation of " + std::to_string(range.size) +
            " bytes, on device " + std::to_string(range.device);
  else
    bytes = std::to_string(where.end - where.begin) +
            " bytes of memory that has been freed";
  report("race on " + bytes + ": " + found);
  return CUDA_ERROR_LAUNCH_FAILED;
}

/// Notes that an action touches a range. Of the task's first conflict the range
/// and what is wrong are given.
void Races::apply(const Clock &known, Range range, ActionId id, Range &where,
                  std::string &found) {
  split(range.begin);
  split(range.end);
  auto at = intervals.lower_bound(range.begin);
  for (uintptr_t begin = range.begin; begin < range.end;) {
    if (at == intervals.end() || at->first > begin) {
      uintptr_t end = at == intervals.end()
                          ? range.end
                          : std::min<uintptr_t>(at->first, range.end);
      at = intervals.emplace_hint(at, begin, Interval{end, 0, {}});
    }
    Interval &interval = at->second;
    ActionId other = findConflict(interval, known, actions[id - 1].kind);
    if (other && found.empty()) {
      where = {begin, interval.end};
      found = explain(other, id);
    }
    note(interval, known, id);
    begin = interval.end;
    joinWithLast(at++);
  }
  joinWithLast(at);
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

std::string Races::explain(ActionId one, ActionId other) const {
  auto submission = [&](ActionId id) {
    return doers[actions[id - 1].doer].submission;
  };
  if (submission(other) < submission(one))
    std::swap(one, other);
  const Doer &first = doers[actions[one - 1].doer];
  const Doer &second = doers[actions[other - 1].doer];
  return describe(one) + ", " + describe(other) +
         ", and no event, stream order or synchronization puts " +
         *second.what + " behind " + *first.what;
}

std::string Races::describe(ActionId id) const {
  const Action &action = actions[id - 1];
  const Doer &doer = doers[action.doer];
  std::string text = *doer.what + " on stream " + std::to_string(doer.stream) +
                     " of device " + std::to_string(doer.device) +
                     (action.kind == Kind::Read    ? " reads them"
                      : action.kind == Kind::Write ? " writes them"
                                                   : " updates them");
  for (size_t i = 0; i < action.lines.size(); ++i)
    text += (i ? ", " : " (PTX line ") + std::to_string(action.lines[i]);
  return text + (action.lines.empty() ? "" : ")");
}
