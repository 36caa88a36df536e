//===- MessageCommunicator.cpp - one host rank a process ------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/host/MessageCommunicator.h"
#include "backends/host/HostOps.h"
#include "core/GroupCommunicator.h"

#include <cstring>

using namespace tsp::runtime;

namespace {
/// Messages between the members of a group, done when a function returns.
class MessageTransport : public Transport {
public:
  MessageTransport(MessageLinks &links, std::vector<int64_t> processes,
                   int64_t me, int tag)
      : links(links), processes(std::move(processes)), me(me), tag(tag) {}

  void exchange(const std::vector<Message> &sends,
                const std::vector<Message> &receives) override {
    links.exchange(toProcesses(sends), toProcesses(receives), tag);
  }

  void allGather(const std::vector<Gather> &gathers) override {
    std::vector<Message> sends, receives;
    for (const Gather &gather : gathers)
      for (int64_t peer = 0; peer < int64_t(processes.size()); ++peer) {
        char *place = gather.all + peer * gather.bytes;
        if (peer == me) {
          if (place != gather.part)
            memcpy(place, gather.part, size_t(gather.bytes));
          continue;
        }
        sends.push_back({peer, const_cast<char *>(gather.part), gather.bytes});
        receives.push_back({peer, place, gather.bytes});
      }
    exchange(sends, receives);
  }

  void broadcast(const std::vector<Broadcast> &pieces) override {
    std::vector<Message> sends, receives;
    for (const Broadcast &piece : pieces) {
      if (piece.root != me) {
        receives.push_back({piece.root, piece.to, piece.bytes});
        continue;
      }
      if (piece.to != piece.from)
        memcpy(piece.to, piece.from, size_t(piece.bytes));
      for (int64_t peer = 0; peer < int64_t(processes.size()); ++peer)
        if (peer != me)
          sends.push_back({peer, const_cast<char *>(piece.from), piece.bytes});
    }
    exchange(sends, receives);
  }

private:
  std::vector<Message> toProcesses(std::vector<Message> messages) const {
    for (Message &message : messages)
      message.peer = processes[message.peer];
    return messages;
  }

  MessageLinks &links;
  const std::vector<int64_t> processes; ///< of the group's members
  const int64_t me;
  const int tag;
};

/// A thread does the transfers in the order of their starts, beside the rank's
/// kernels.
class MessageCommunicator : public GroupCommunicator {
public:
  MessageCommunicator(Session &session, std::unique_ptr<MessageLinks> links)
      : GroupCommunicator(session), links(std::move(links)),
        rank(*session.ranks.front()), pool(1, 0, rank.progress), ops(pool) {
    thread = std::thread([this] { loop(); });
  }

  ~MessageCommunicator() override {
    stop.store(true);
    bell.ring();
    thread.join();
  }

  void reset() override {
    GroupCommunicator::reset();
    std::lock_guard<std::mutex> lock(mutex);
    queue.clear();
  }

  void wakeAll() override {
    GroupCommunicator::wakeAll();
    bell.ring();
    doneBell.ring();
  }

private:
  bool posted(tsp_rank &, const Flight &flight, tsp_event) override {
    {
      std::lock_guard<std::mutex> lock(mutex);
      queue.push_back(flight);
    }
    bell.ring();
    return true;
  }

  bool complete(tsp_rank &, const Flight &flight, tsp_event) override {
    Post &own = ownPost(flight);
    int64_t begin = nowNs();
    auto isDone = [&] { return own.pulled.load() == flight.number + 1; };
    if (!isDone())
      noteWait(rank, flight);
    while (!isDone() && !session.failed()) {
      uint32_t ticket = doneBell.ticket();
      if (!isDone() && !session.failed())
        doneBell.sleep(ticket, 100000000);
    }
    noteWaitEnd(rank);
    if (session.tracing())
      rank.pool.track(0).events.push_back({traceWait, begin, nowNs(), -1});
    return !session.failed();
  }

  void loop() {
    while (!stop.load()) {
      uint32_t ticket = bell.ticket();
      Flight flight;
      {
        std::lock_guard<std::mutex> lock(mutex);
        if (queue.empty()) {
          flight.group = nullptr;
        } else {
          flight = queue.front();
          queue.pop_front();
        }
      }
      if (!flight.group)
        bell.sleep(ticket, 100000000);
      else if (!session.failed())
        carry(flight);
    }
  }

  void carry(const Flight &flight) {
    Post &own = ownPost(flight);
    std::vector<int64_t> processes;
    for (const auto &member : flight.group->members)
      processes.push_back(member->index);
    // Ranks that disagree have other tags and meet nobody. Every MPI allows
    // tags up to 32767.
    std::string what = format("%d %llu ", flight.group->number,
                              (unsigned long long)flight.number) +
                       own.transfer.signature();
    int tag = int(std::hash<std::string>()(what) % 32768);
    try {
      MessageTransport transport(*links, processes, flight.me, tag);
      MessageTransfer(transport, ops, own.transfer, flight.me).run();
    } catch (const std::exception &error) {
      noteWait(rank, flight);
      waitForExplanation();
      session.fail(format("rank %lld, %s: %s", (long long)rank.index,
                          flightText(flight).c_str(), error.what()));
      return;
    }
    rank.progress.fetch_add(1, std::memory_order_relaxed);
    if (session.tracing())
      rank.transfers.events.push_back({collectiveName(own.transfer.kind),
                                       own.time, nowNs(),
                                       own.transfer.bytesReceived(flight.me)});
    own.pulled.store(flight.number + 1);
    doneBell.ring();
  }

  const std::unique_ptr<MessageLinks> links;
  tsp_rank &rank;
  ThreadPool pool;
  HostOps ops;
  std::mutex mutex;
  std::deque<Flight> queue;
  Doorbell bell, doneBell;
  std::atomic<bool> stop{false};
  std::thread thread;
};

class ProcessBackend : public Backend {
public:
  std::unique_ptr<Device> makeDevice(tsp_rank &rank) override {
    return host->makeDevice(rank);
  }
  std::unique_ptr<Communicator> makeCommunicator(Session &session) override {
    const Processes &processes = *session.processes;
    if (session.ranks.size() != 1)
      throw Error(format("%lld processes were started for a model of %lld "
                         "ranks: in host memory each rank is a process of its "
                         "own",
                         (long long)processes.count(),
                         (long long)session.model.numRanks()));
    if (session.options.link_gbps > 0)
      throw Error("--link simulates links between the ranks of one process; "
                  "this run has several");
    return std::make_unique<MessageCommunicator>(
        session,
        processes.how().hasMpi ? makeMpiLinks(session) : makeTcpLinks(session));
  }

private:
  const std::unique_ptr<Backend> host = makeHostBackend();
};
} // namespace

std::unique_ptr<Backend> tsp::runtime::makeProcessBackend() {
  return std::make_unique<ProcessBackend>();
}
