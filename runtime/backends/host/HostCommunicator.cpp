//===- HostCommunicator.cpp - ranks are threads of this process -----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/host/Watchdog.h"

#include <map>

using namespace tsp::runtime;

std::unique_ptr<Communicator>
tsp::runtime::makeHostCommunicator(Session &session) {
  return std::make_unique<HostCommunicator>(session);
}

HostCommunicator::HostCommunicator(Session &session) : session(session) {
  for (size_t i = 0; i < session.ranks.size(); ++i)
    locals.push_back(std::make_unique<Local>());
  const ModelDesc &model = session.model;
  for (size_t number = 0; number < model.groups.size(); ++number) {
    // Ranks with the same coordinates on all other axes form a group.
    std::map<std::vector<int64_t>, Group *> byRest;
    const AxisGroup &axes = model.groups[number];
    for (auto &rank : session.ranks) {
      std::vector<int64_t> rest = rank->coordinates;
      for (int axis : axes.axes)
        rest[axis] = 0;
      Group *&group = byRest[rest];
      if (!group) {
        groups.push_back(std::make_unique<Group>());
        group = groups.back().get();
        group->axis = axes.name;
        group->members.resize(rank->axisSize(number));
      }
      int64_t me = rank->axisIndex(number);
      auto member = std::make_unique<Member>();
      member->rank = rank.get();
      member->posts = std::make_unique<Post[]>(window);
      member->waited.resize(window);
      group->members[me] = std::move(member);
      locals[rank->index]->groups.push_back({group, me});
    }
  }
}

void HostCommunicator::reset() {
  for (auto &group : groups)
    for (auto &member : group->members) {
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

void HostCommunicator::wakeAll() {
  for (auto &local : locals)
    local->bell.ring();
}

void HostCommunicator::ring(Group &group, int64_t me) {
  const tsp_rank *rank = group.members[me]->rank;
  for (auto &member : group.members) {
    // A waiting rank says for whom before it looks at the marks, and marks are
    // set before this: one of the two sees the other.
    Local &local = *locals[member->rank->index];
    if (local.waitsFor.load() == rank)
      local.bell.ring();
  }
}

int64_t HostCommunicator::pending(const tsp_rank &rank) const {
  int64_t count = 0;
  for (const Flight &flight : locals[rank.index]->flights)
    count += !flight.done;
  return count;
}

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

bool HostCommunicator::start(tsp_rank &rank, const Transfer &given,
                             tsp_event &event) {
  Local &local = *locals[rank.index];
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
  int64_t size = int64_t(group->members.size());
  transfer.dim.ranks = transfer.dim1.ranks = size;
  std::string wrong = transfer.check();
  if (!wrong.empty()) {
    session.fail(format("rank %lld: %s on axis '%s': %s",
                        (long long)rank.index, collectiveName(transfer.kind),
                        group->axis.c_str(), wrong.c_str()));
    return false;
  }

  Member &member = *group->members[me];
  Flight flight{group, me, member.next};
  if (member.next - member.finished.load() >= window) {
    session.fail(format("rank %lld: more than %d transfers in flight on axis "
                        "'%s'",
                        (long long)rank.index, int(window),
                        group->axis.c_str()));
    return false;
  }
  // A post may be reused once no peer can still look at the old one.
  while (member.next >= member.limit) {
    uint64_t least = UINT64_MAX;
    for (int64_t peer = 0; peer < size; ++peer) {
      if (!waitUntil(rank, flight, peer, "finished", [&] {
            return group->members[peer]->finished.load() + window >
                   member.next;
          }))
        return false;
      least = std::min(least, group->members[peer]->finished.load());
    }
    member.limit = least + window;
  }

  Post &own = post(*group, me, member.next);
  own.transfer = transfer;
  own.time = nowNs();
  own.number.store(++member.next);
  event = local.firstFlight + int64_t(local.flights.size());
  local.flights.push_back(flight);
  ring(*group, me);

  rank.progress.fetch_add(1, std::memory_order_relaxed);
  CollectiveCount &count =
      rank.counts[{int(transfer.kind), int(transfer.axis)}];
  ++count.count;
  count.bytes += transfer.bytesReceived(me);
  return true;
}

//===----------------------------------------------------------------------===//
// Wait
//===----------------------------------------------------------------------===//

bool HostCommunicator::wait(tsp_rank &rank, tsp_event event) {
  Local &local = *locals[rank.index];
  int64_t index = event - local.firstFlight;
  if (index < 0 || index >= int64_t(local.flights.size()) ||
      local.flights[index].done) {
    session.fail(format("rank %lld waits for a transfer that is not in flight "
                        "(event %lld)",
                        (long long)rank.index, (long long)event));
    return false;
  }
  const Flight flight = local.flights[index];
  Post &own = post(*flight.group, flight.me, flight.number);
  int64_t begin = nowNs();
  rank.lastCollective.store(collectiveName(own.transfer.kind));
  rank.activity.store(Activity::Waiting);

  for (int64_t peer : sources(flight, own.transfer))
    if (!waitPosted(rank, flight, peer))
      return false;
  if (session.options.link_gbps > 0 && !waitLink(rank, local, event))
    return false;
  if (!(own.transfer.kind == Collective::AllReduce
            ? reduceAll(rank, flight, own)
            : pull(rank, flight, own)))
    return false;

  rank.activity.store(Activity::Computing);
  rank.progress.fetch_add(1, std::memory_order_relaxed);
  if (session.tracing()) {
    const char *name = collectiveName(own.transfer.kind);
    rank.transfers.events.push_back(
        {name, own.time, nowNs(), own.transfer.bytesReceived(flight.me)});
    rank.pool.track(0).events.push_back({"wait", begin, nowNs(), -1});
  }
  finish(local, event);
  return true;
}

void HostCommunicator::finish(Local &local, int64_t event) {
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

std::vector<int64_t>
HostCommunicator::sources(const Flight &flight, const Transfer &transfer) {
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

std::vector<int64_t>
HostCommunicator::readers(const Flight &flight, const Transfer &transfer) {
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

bool HostCommunicator::waitPosted(tsp_rank &rank, const Flight &flight,
                                  int64_t peer) {
  Post &theirs = post(*flight.group, peer, flight.number);
  return waitUntil(rank, flight, peer, "joined",
                   [&] { return theirs.number.load() == flight.number + 1; }) &&
         checkPeer(rank, flight, peer);
}

bool HostCommunicator::checkPeer(tsp_rank &rank, const Flight &flight,
                                 int64_t peer) {
  const Transfer &mine =
      post(*flight.group, flight.me, flight.number).transfer;
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
  session.fail(format(
      "ranks %lld and %lld disagree on transfer number %llu of axis '%s': rank "
      "%lld does %s, rank %lld does %s; they differ in %s",
      (long long)rank.index,
      (long long)flight.group->members[peer]->rank->index,
      (unsigned long long)flight.number, flight.group->axis.c_str(),
      (long long)rank.index, mine.text().c_str(),
      (long long)flight.group->members[peer]->rank->index,
      theirs.text().c_str(), difference.c_str()));
  return false;
}

bool HostCommunicator::waitReaders(tsp_rank &rank, const Flight &flight,
                                   Post &own) {
  for (int64_t peer : readers(flight, own.transfer)) {
    Post &theirs = post(*flight.group, peer, flight.number);
    if (!waitPosted(rank, flight, peer) ||
        !waitUntil(rank, flight, peer, "finished reading in", [&] {
          return theirs.pulled.load() == flight.number + 1;
        }))
      return false;
  }
  return true;
}

bool HostCommunicator::waitLink(tsp_rank &rank, Local &local, int64_t event) {
  const tsp_options &options = session.options;
  // The link delivers in the order of the starts.
  for (int64_t i = 0; i <= event - local.firstFlight; ++i) {
    Flight &flight = local.flights[i];
    if (flight.linkEnd >= 0)
      continue;
    Post &own = post(*flight.group, flight.me, flight.number);
    int64_t ready = own.time;
    for (int64_t peer : sources(flight, own.transfer)) {
      if (!waitPosted(rank, flight, peer))
        return false;
      ready = std::max(ready, post(*flight.group, peer, flight.number).time);
    }
    int64_t bytes = own.transfer.bytesReceived(flight.me);
    ready = std::max(ready, local.linkFree);
    if (bytes > 0) {
      local.linkFree = ready + int64_t(double(bytes) / options.link_gbps);
      flight.linkEnd = local.linkFree + int64_t(options.link_us * 1e3);
    } else {
      flight.linkEnd = ready;
    }
  }
  int64_t end = local.flights[event - local.firstFlight].linkEnd;
  while (!session.failed()) {
    uint32_t ticket = local.bell.ticket();
    int64_t left = end - nowNs();
    if (left <= 0)
      return true;
    if (!session.failed())
      local.bell.sleep(ticket, std::min<int64_t>(left, 100000000));
    rank.progress.fetch_add(1, std::memory_order_relaxed);
  }
  return false;
}
