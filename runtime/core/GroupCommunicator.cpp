//===- GroupCommunicator.cpp - transfers of groups of ranks ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/GroupCommunicator.h"

#include <map>

using namespace tsp::runtime;

GroupCommunicator::GroupCommunicator(Session &session) : session(session) {
  for (size_t i = 0; i < session.ranks.size(); ++i)
    locals.push_back(std::make_unique<Local>());
  const ModelDesc &model = session.model;
  for (size_t number = 0; number < model.groups.size(); ++number) {
    // Ranks with the same coordinates on all other axes form a group.
    std::map<std::vector<int64_t>, Group *> byRest;
    const AxisGroup &axes = model.groups[number];
    for (int64_t index = 0; index < model.numRanks(); ++index) {
      std::vector<int64_t> coordinates = rankCoordinates(model.mesh, index);
      std::vector<int64_t> rest = coordinates;
      for (int axis : axes.axes)
        rest[axis] = 0;
      Group *&group = byRest[rest];
      if (!group) {
        groups.push_back(std::make_unique<Group>());
        group = groups.back().get();
        group->axis = axes.name;
        group->number = int(number);
        group->members.resize(model.groupSize(axes));
      }
      int64_t me = model.groupIndex(axes, coordinates);
      auto member = std::make_unique<Member>();
      member->index = index;
      member->rank = session.findRank(index);
      if (member->rank) {
        member->posts = std::make_unique<Post[]>(window);
        member->waited.resize(window);
        localOf(*member->rank).groups.push_back({group, me});
      }
      group->members[me] = std::move(member);
    }
  }
}

void GroupCommunicator::reset() {
  for (auto &group : groups)
    for (auto &member : group->members) {
      if (!member->rank)
        continue;
      member->next = 0;
      member->limit = window;
      member->finished = 0;
      member->waited.assign(window, false);
      for (uint64_t i = 0; i < window; ++i)
        member->posts[i].number = member->posts[i].reduced =
            member->posts[i].pulled = 0;
    }
  for (auto &local : locals) {
    local->flights.clear();
    local->firstFlight = 0;
    local->linkFree = 0;
  }
}

void GroupCommunicator::wakeAll() {
  for (auto &local : locals)
    local->bell.ring();
}

/// Tells the other members that `me` has advanced; wakes those that wait for
/// it, and only those: with more ranks than cores each wake-up costs.
void GroupCommunicator::ring(Group &group, int64_t me) {
  const tsp_rank *rank = group.members[me]->rank;
  for (auto &member : group.members) {
    // A waiting rank says for whom before it looks at the marks, and marks are
    // set before this: one of the two sees the other.
    if (member->rank && localOf(*member->rank).waitsFor.load() == rank)
      localOf(*member->rank).bell.ring();
  }
}

void GroupCommunicator::announce(const Flight &flight,
                                 std::atomic<uint64_t> &mark) {
  mark.store(flight.number + 1);
  ring(*flight.group, flight.me);
}

int64_t GroupCommunicator::pending(const tsp_rank &rank) const {
  int64_t count = 0;
  for (const Flight &flight : locals[rank.slot]->flights)
    count += !flight.done;
  return count;
}

std::string GroupCommunicator::findConflict(const tsp_rank &rank,
                                            const Transfer::Range &range,
                                            bool writes) const {
  for (const Flight &flight : locals[rank.slot]->flights) {
    const Transfer &transfer = ownPost(flight).transfer;
    if (flight.done)
      continue;
    for (const Transfer::Range &target : transfer.targets())
      if (target.meets(range))
        return "the target of " + flightText(flight);
    for (const Transfer::Range &source : transfer.sources())
      if (writes && source.meets(range))
        return "the source of " + flightText(flight);
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

TransferKey GroupCommunicator::keyOf(const Flight &flight) const {
  return {session.roster->call(), flight.group->number,
          flight.group->members[0]->index, int64_t(flight.number)};
}

void GroupCommunicator::noteWait(tsp_rank &rank, const Flight &flight) {
  if (session.roster)
    session.roster->waits(rank.index, keyOf(flight));
}

void GroupCommunicator::noteWaitEnd(tsp_rank &rank) {
  if (session.roster)
    session.roster->waitsNoMore(rank.index);
}

void GroupCommunicator::waitForExplanation() {
  if (!session.processes)
    return;
  session.processes->report();
  const int64_t patience = 1500000000;
  for (int64_t end = nowNs() + patience; nowNs() < end && !session.failed();) {
    timespec pause{0, 5000000};
    nanosleep(&pause, nullptr);
  }
}

/// Makes sure that no peer can still look at the post's last transfer.
bool GroupCommunicator::claimPost(tsp_rank &rank, const Flight &flight) {
  Group &group = *flight.group;
  Member &member = *group.members[flight.me];
  if (member.next - member.finished.load() >= window) {
    session.fail(format("rank %lld: more than %d transfers in flight on axis "
                        "'%s'",
                        (long long)rank.index, int(window),
                        group.axis.c_str()));
    return false;
  }
  while (member.next >= member.limit) {
    uint64_t least = UINT64_MAX;
    for (size_t peer = 0; peer < group.members.size(); ++peer) {
      Member &other = *group.members[peer];
      if (!other.rank)
        continue;
      if (!waitUntil(rank, flight, int64_t(peer), "finished", [&] {
            return other.finished.load() + window > member.next;
          }))
        return false;
      least = std::min(least, other.finished.load());
    }
    member.limit = least + window;
  }
  return true;
}

bool GroupCommunicator::start(tsp_rank &rank, const Transfer &given,
                              tsp_event &event) {
  Local &local = localOf(rank);
  Transfer transfer = given;
  if (transfer.axis < 0 || size_t(transfer.axis) >= local.groups.size()) {
    session.fail(format("rank %lld: %s on axis number %d, which the mesh does "
                        "not have",
                        (long long)rank.index, collectiveName(transfer.kind),
                        transfer.axis));
    return false;
  }
  Group *group = local.groups[transfer.axis].first;
  int64_t me = local.groups[transfer.axis].second;
  transfer.dim.ranks = transfer.dim1.ranks = int64_t(group->members.size());
  std::string wrong = transfer.check();
  if (!wrong.empty()) {
    session.fail(format("rank %lld: %s on axis '%s': %s", (long long)rank.index,
                        collectiveName(transfer.kind), group->axis.c_str(),
                        wrong.c_str()));
    return false;
  }

  Member &member = *group->members[me];
  Flight flight{group, me, member.next};
  if (!claimPost(rank, flight))
    return false;
  Post &own = ownPost(flight);
  own.transfer = transfer;
  own.time = nowNs();
  if (!prepare(rank, flight))
    return false;
  if (session.roster)
    session.roster->started(rank.index, keyOf(flight), transfer);
  own.number.store(++member.next);
  event = local.firstFlight + int64_t(local.flights.size());
  local.flights.push_back(flight);
  ring(*group, me);

  rank.progress.fetch_add(1, std::memory_order_relaxed);
  CollectiveCount &count =
      rank.counts[{int(transfer.kind), int(transfer.axis)}];
  ++count.count;
  count.bytes += transfer.bytesReceived(me);
  return posted(rank, flight, event);
}

//===----------------------------------------------------------------------===//
// Wait
//===----------------------------------------------------------------------===//

bool GroupCommunicator::wait(tsp_rank &rank, tsp_event event) {
  Local &local = localOf(rank);
  int64_t index = event - local.firstFlight;
  if (index < 0 || index >= int64_t(local.flights.size()) ||
      local.flights[index].done) {
    session.fail(format("rank %lld waits for a transfer that is not in flight "
                        "(event %lld)",
                        (long long)rank.index, (long long)event));
    return false;
  }
  rank.lastCollective.store(
      collectiveName(ownPost(local.flights[index]).transfer.kind));
  rank.activity.store(Activity::Waiting);
  if (!complete(rank, local.flights[index], event))
    return false;
  rank.activity.store(Activity::Computing);
  rank.progress.fetch_add(1, std::memory_order_relaxed);
  finish(local, event);
  return true;
}

void GroupCommunicator::finish(Local &local, int64_t event) {
  Flight &flight = local.flights[event - local.firstFlight];
  flight.done = true;
  Group &group = *flight.group;
  Member &member = *group.members[flight.me];
  member.waited[flight.number % window] = true;
  uint64_t finished = member.finished.load();
  while (finished < member.next && member.waited[finished % window]) {
    member.waited[finished % window] = false;
    ++finished;
  }
  member.finished.store(finished);
  // Peers look at `finished` only when they wrap around.
  if (finished % (window / 4) == 0)
    ring(group, flight.me);
  while (!local.flights.empty() && local.flights.front().done) {
    local.flights.pop_front();
    ++local.firstFlight;
  }
}

std::vector<int64_t> GroupCommunicator::sources(const Flight &flight,
                                                const Transfer &transfer) {
  std::vector<int64_t> result;
  if (transfer.kind == Collective::SendRecv) {
    if (transfer.source >= 0 && transfer.source != flight.me)
      result.push_back(transfer.source);
    return result;
  }
  for (int64_t peer = 0; peer < transfer.ranks(); ++peer)
    if (transfer.reads(flight.me, peer))
      result.push_back(peer);
  return result;
}

std::vector<int64_t> GroupCommunicator::readers(const Flight &flight,
                                                const Transfer &transfer) {
  std::vector<int64_t> result;
  if (transfer.kind == Collective::SendRecv) {
    if (transfer.target >= 0 && transfer.target != flight.me)
      result.push_back(transfer.target);
    return result;
  }
  for (int64_t peer = 0; peer < transfer.ranks(); ++peer)
    if (transfer.reads(peer, flight.me))
      result.push_back(peer);
  return result;
}

bool GroupCommunicator::waitMark(tsp_rank &rank, const Flight &flight,
                                 int64_t peer, std::atomic<uint64_t> &mark,
                                 const char *what) {
  return waitUntil(rank, flight, peer, what,
                   [&] { return mark.load() == flight.number + 1; });
}

bool GroupCommunicator::waitPosted(tsp_rank &rank, const Flight &flight,
                                   int64_t peer) {
  Post &theirs = post(*flight.group, peer, flight.number);
  return waitMark(rank, flight, peer, theirs.number, "joined") &&
         checkPeer(rank, flight, peer);
}

bool GroupCommunicator::checkPeer(tsp_rank &rank, const Flight &flight,
                                  int64_t peer) {
  const Transfer &mine = ownPost(flight).transfer;
  const Transfer &theirs = post(*flight.group, peer, flight.number).transfer;
  std::string difference = mine.difference(theirs);
  if (difference.empty() && mine.kind == Collective::SendRecv) {
    bool agree = (mine.source == peer) == (theirs.target == flight.me) &&
                 (mine.target == peer) == (theirs.source == flight.me);
    if (!agree)
      difference = "who sends to whom";
  }
  if (difference.empty())
    return true;
  int64_t other = flight.group->members[peer]->index;
  session.fail(format(
      "ranks %lld and %lld disagree on transfer number %llu of axis '%s': rank "
      "%lld does %s, rank %lld does %s; they differ in %s",
      (long long)rank.index, (long long)other,
      (unsigned long long)flight.number, flight.group->axis.c_str(),
      (long long)rank.index, mine.text().c_str(), (long long)other,
      theirs.text().c_str(), difference.c_str()));
  return false;
}

bool GroupCommunicator::waitReaders(tsp_rank &rank, const Flight &flight) {
  for (int64_t peer : readers(flight, ownPost(flight).transfer)) {
    Post &theirs = post(*flight.group, peer, flight.number);
    if (!waitPosted(rank, flight, peer) ||
        !waitMark(rank, flight, peer, theirs.pulled, "finished reading in"))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Watchdog
//===----------------------------------------------------------------------===//

std::string GroupCommunicator::flightText(const Flight &flight) {
  const Post &own = ownPost(flight);
  bool isPosted = own.number.load() == flight.number + 1;
  return (isPosted ? own.transfer.text() : std::string("transfer")) +
         format(", number %llu of axis '%s'", (unsigned long long)flight.number,
                flight.group->axis.c_str());
}

/// Fails when the late rank can not come any more or does nothing for too long.
bool GroupCommunicator::watch(tsp_rank &rank, const Flight &flight,
                              int64_t late, Activity activity, const char *what,
                              int64_t idleNs) {
  tsp_rank &other = *flight.group->members[late]->rank;
  if (activity == Activity::Finished) {
    session.fail(format("rank %lld has ended the program but has not %s %s, in "
                        "which rank %lld waits for it",
                        (long long)other.index, what,
                        flightText(flight).c_str(), (long long)rank.index));
    return false;
  }
  double limit = session.options.watchdog_s * 1e9;
  // A rank that waits itself is late because of another one, which its own
  // watchdog names; only if none does, all wait for each other.
  if (activity == Activity::Waiting)
    limit = limit * 1.25 + 1e9;
  if (limit <= 0 || double(idleNs) < limit)
    return true;
  session.fail(
      format("rank %lld is late: for %.1f s it has not %s %s, in which "
             "rank %lld waits for it; %s",
             (long long)other.index, double(idleNs) / 1e9, what,
             flightText(flight).c_str(), (long long)rank.index,
             other.activityText().c_str()));
  return false;
}
