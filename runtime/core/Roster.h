//===- Roster.h - what the ranks of all processes are doing -----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_ROSTER_H
#define TSP_RUNTIME_CORE_ROSTER_H

#include "core/Model.h"
#include "core/Sync.h"
#include "core/Transfer.h"

#include <functional>
#include <map>
#include <mutex>

struct tsp_rank;

namespace tsp::runtime {

/// A transfer of a group, the same for all its ranks.
struct TransferKey {
  int64_t call;  ///< number of the call of an entry
  int64_t axis;  ///< axis number
  int64_t first; ///< rank with coordinate 0 in the group
  int64_t number;

  bool operator<(const TransferKey &other) const {
    return std::tie(call, axis, first, number) <
           std::tie(other.call, other.axis, other.first, other.number);
  }
};

/// Ranks of several processes do not see each other's transfers. Every process
/// writes down what its ranks start and wait for, and reports it now and then;
/// process 0 compares the reports, and names ranks that disagree or are late.
class Roster {
public:
  /// `clock` tells nanoseconds.
  Roster(const ModelDesc &model, double watchdogSeconds,
         std::function<int64_t()> clock = nowNs);

  // In every process, by its ranks.
  void nextCall();
  void started(int64_t rank, const TransferKey &key, const Transfer &transfer);
  /// What a rank waits for; a rank is in one wait at a time, and may say so
  /// again and again.
  void waits(int64_t rank, const TransferKey &key);
  void waitsNoMore(int64_t rank);
  void finished(int64_t rank);
  int64_t call() const { return callNumber; }

  /// What happened since the last report. `activity` tells what a rank does.
  std::string
  report(const std::vector<std::pair<int64_t, std::string>> &activity);

  // At process 0.
  /// Takes a report; returns an error that it shows, or "".
  std::string take(const std::string &report);
  /// What is known of a rank, for the message about a process that is gone.
  std::string lastOf(int64_t rank) const;
  /// What the ranks other than those in [first, last) wait for.
  std::string waiting(int64_t first, int64_t last) const;

private:
  struct Start {
    int64_t rank, source, target;
    std::string text;
  };
  struct Known {
    std::map<std::pair<int64_t, int64_t>, int64_t>
        begun;        ///< (call, axis): how many
    std::string last; ///< transfer
    std::string activity;
    bool isWaiting = false, isFinished = false;
    int64_t call = 0;
    TransferKey waitKey = {};
    int64_t waitSince = 0;
  };

  std::string transferText(const TransferKey &key,
                           const std::string &text) const;
  std::vector<int64_t> members(const TransferKey &key) const;
  std::string compare(const TransferKey &key, const Start &start);
  std::string judge() const;
  std::string judgeRank(int64_t rank, const Known &known) const;

  const ModelDesc &model;
  const double limit; ///< seconds
  const std::function<int64_t()> clock;
  int64_t callNumber = 0;

  mutable std::mutex mutex;
  std::string journal;
  std::map<int64_t, std::pair<TransferKey, int64_t>> ownWaits; ///< since when

  std::map<TransferKey, std::vector<Start>> open; ///< not begun by all
  std::map<TransferKey, std::string> texts;
  std::map<int64_t, Known> ranks;
};

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_ROSTER_H
