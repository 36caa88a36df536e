//===- Roster.cpp - what the ranks of all processes are doing -------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A report is lines of words:
//   start CALL AXIS FIRST NUMBER RANK SOURCE TARGET TEXT..
//   wait RANK MILLISECONDS CALL AXIS FIRST NUMBER
//   busy RANK TEXT..            (also ends a wait)
//   end RANK CALL
//
//===----------------------------------------------------------------------===//

#include "core/Roster.h"

#include <sstream>

using namespace tsp::runtime;

Roster::Roster(const ModelDesc &model, double watchdogSeconds,
               std::function<int64_t()> clock)
    : model(model), limit(watchdogSeconds), clock(std::move(clock)) {}

static std::string keyText(const TransferKey &key) {
  return format("%lld %lld %lld %lld", (long long)key.call, (long long)key.axis,
                (long long)key.first, (long long)key.number);
}

//===----------------------------------------------------------------------===//
// In every process
//===----------------------------------------------------------------------===//

void Roster::nextCall() {
  std::lock_guard<std::mutex> lock(mutex);
  ++callNumber;
  ownWaits.clear();
}

void Roster::started(int64_t rank, const TransferKey &key,
                     const Transfer &transfer) {
  std::lock_guard<std::mutex> lock(mutex);
  journal +=
      format("start %s %lld %d %d %s\n", keyText(key).c_str(), (long long)rank,
             transfer.source, transfer.target, transfer.signature().c_str());
}

void Roster::waits(int64_t rank, const TransferKey &key) {
  std::lock_guard<std::mutex> lock(mutex);
  auto known = ownWaits.find(rank);
  bool isSame = known != ownWaits.end() && !(known->second.first < key) &&
                !(key < known->second.first);
  if (!isSame)
    ownWaits[rank] = {key, clock()};
}

void Roster::waitsNoMore(int64_t rank) {
  std::lock_guard<std::mutex> lock(mutex);
  ownWaits.erase(rank);
}

void Roster::finished(int64_t rank) {
  std::lock_guard<std::mutex> lock(mutex);
  journal += format("end %lld %lld\n", (long long)rank, (long long)callNumber);
}

std::string
Roster::report(const std::vector<std::pair<int64_t, std::string>> &activity) {
  std::lock_guard<std::mutex> lock(mutex);
  std::string out = std::move(journal);
  journal.clear();
  for (const auto &[rank, text] : activity) {
    auto wait = ownWaits.find(rank);
    out += format("busy %lld %s\n", (long long)rank, text.c_str());
    if (wait != ownWaits.end())
      out += format("wait %lld %lld %s\n", (long long)rank,
                    (long long)((clock() - wait->second.second) / 1000000),
                    keyText(wait->second.first).c_str());
  }
  return out;
}

//===----------------------------------------------------------------------===//
// At process 0
//===----------------------------------------------------------------------===//

std::vector<int64_t> Roster::members(const TransferKey &key) const {
  std::vector<int64_t> first = rankCoordinates(model.mesh, key.first), result;
  const AxisGroup &group = model.groups[key.axis];
  result.resize(model.groupSize(group));
  for (int64_t rank = 0; rank < model.numRanks(); ++rank) {
    std::vector<int64_t> rest = rankCoordinates(model.mesh, rank);
    int64_t me = model.groupIndex(group, rest);
    for (int axis : group.axes)
      rest[axis] = 0;
    if (rest == first)
      result[me] = rank;
  }
  return result;
}

std::string Roster::transferText(const TransferKey &key,
                                 const std::string &text) const {
  return format("%s, number %lld of axis '%s'", text.c_str(),
                (long long)key.number, model.groups[key.axis].name.c_str());
}

/// Compares a start with those that other ranks have reported.
std::string Roster::compare(const TransferKey &key, const Start &start) {
  std::vector<Start> &all = open[key];
  if (!all.empty() && all[0].text != start.text)
    return format(
        "ranks %lld and %lld disagree on transfer number %lld of axis "
        "'%s': rank %lld does %s, rank %lld does %s",
        (long long)all[0].rank, (long long)start.rank, (long long)key.number,
        model.groups[key.axis].name.c_str(), (long long)all[0].rank,
        all[0].text.c_str(), (long long)start.rank, start.text.c_str());
  all.push_back(start);
  texts[key] = start.text;
  std::vector<int64_t> group = members(key);
  if (all.size() < group.size())
    return "";
  std::map<int64_t, const Start *> byRank;
  for (const Start &each : all)
    byRank[each.rank] = &each;
  std::string wrong;
  for (size_t me = 0; me < group.size() && wrong.empty(); ++me) {
    const Start *mine = byRank[group[me]];
    if (!mine || mine->source < 0 || size_t(mine->source) >= group.size())
      continue;
    const Start *theirs = byRank[group[mine->source]];
    if (theirs && theirs->target != int64_t(me))
      wrong = format("ranks %lld and %lld disagree on %s: they differ in who "
                     "sends to whom",
                     (long long)mine->rank, (long long)theirs->rank,
                     transferText(key, mine->text).c_str());
  }
  open.erase(key);
  // Texts are kept for a while, for the ranks that wait.
  while (texts.size() > 4096)
    texts.erase(texts.begin());
  return wrong;
}

std::string Roster::take(const std::string &report) {
  std::lock_guard<std::mutex> lock(mutex);
  std::istringstream lines(report);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string kind, text;
    int64_t rank;
    TransferKey key;
    words >> kind;
    if (kind == "start") {
      Start start;
      words >> key.call >> key.axis >> key.first >> key.number >> start.rank >>
          start.source >> start.target >> std::ws;
      std::getline(words, start.text);
      Known &known = ranks[start.rank];
      known.begun[{key.call, key.axis}] = key.number + 1;
      known.call = key.call;
      known.isFinished = false;
      known.last = transferText(key, start.text);
      std::string wrong = compare(key, start);
      if (!wrong.empty())
        return wrong;
    } else if (kind == "wait") {
      int64_t milliseconds;
      words >> rank >> milliseconds >> key.call >> key.axis >> key.first >>
          key.number;
      Known &known = ranks[rank];
      known.isWaiting = true;
      known.waitKey = key;
      known.waitSince = clock() - milliseconds * 1000000;
    } else if (kind == "busy") {
      words >> rank >> std::ws;
      std::getline(words, ranks[rank].activity);
      ranks[rank].isWaiting = false;
    } else if (kind == "end") {
      words >> rank >> key.call;
      ranks[rank].isFinished = true;
      ranks[rank].call = key.call;
    }
  }
  return judge();
}

std::string Roster::judge() const {
  for (const auto &[rank, known] : ranks) {
    std::string wrong = known.isWaiting ? judgeRank(rank, known) : "";
    if (!wrong.empty())
      return wrong;
  }
  return "";
}

/// Whether a rank waits in vain.
std::string Roster::judgeRank(int64_t rank, const Known &known) const {
  const TransferKey &key = known.waitKey;
  auto text = texts.find(key);
  std::string what =
      transferText(key, text == texts.end() ? "a transfer" : text->second);
  double seconds = double(clock() - known.waitSince) / 1e9;
  for (int64_t other : members(key)) {
    auto found = ranks.find(other);
    const Known unknown;
    const Known &theirs = found == ranks.end() ? unknown : found->second;
    auto begun = theirs.begun.find({key.call, key.axis});
    if (begun != theirs.begun.end() && begun->second > key.number)
      continue;
    if (theirs.isFinished && theirs.call == key.call)
      return format("rank %lld has ended the program but has not joined %s, in "
                    "which rank %lld waits for it",
                    (long long)other, what.c_str(), (long long)rank);
    // A rank that waits itself is late because of another one.
    double patience = theirs.isWaiting ? limit * 1.25 + 1 : limit;
    if (limit > 0 && seconds > patience)
      return format("rank %lld is late: for %.1f s it has not joined %s, in "
                    "which rank %lld waits for it; %s",
                    (long long)other, seconds, what.c_str(), (long long)rank,
                    theirs.activity.c_str());
  }
  // All have come, and still it does not end.
  if (limit > 0 && seconds > 2 * limit + 1)
    return format("rank %lld has waited %.1f s in %s, which all ranks have "
                  "joined",
                  (long long)rank, seconds, what.c_str());
  return "";
}

std::string Roster::lastOf(int64_t rank) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = ranks.find(rank);
  return found == ranks.end() || found->second.last.empty()
             ? "it had started no transfer"
             : "its last transfer was " + found->second.last;
}

std::string Roster::waiting(int64_t first, int64_t last) const {
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &[rank, known] : ranks) {
    if (!known.isWaiting || (rank >= first && rank < last))
      continue;
    auto text = texts.find(known.waitKey);
    return format("rank %lld waits in %s", (long long)rank,
                  transferText(known.waitKey, text == texts.end()
                                                  ? "a transfer"
                                                  : text->second)
                      .c_str());
  }
  return "";
}
