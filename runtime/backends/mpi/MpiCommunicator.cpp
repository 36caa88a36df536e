//===- MpiCommunicator.cpp - one rank a process, over MPI -----------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/host/HostOps.h"
#include "backends/mpi/Mpi.h"
#include "core/GroupCommunicator.h"
#include "core/MessageTransfer.h"

#include <climits>
#include <cstring>
#include <sched.h>

using namespace tsp::runtime;
using namespace tsp::runtime::mpi;

namespace {
/// Messages between the processes of a group, done when a function returns.
class MpiTransport : public Transport {
public:
  MpiTransport(const Mpi &mpi, Handle comm, Session &session,
               std::vector<int64_t> processes, int64_t me, int tag)
      : mpi(mpi), comm(comm), session(session), processes(std::move(processes)),
        me(me), tag(tag) {}

  void exchange(const std::vector<Message> &sends,
                const std::vector<Message> &receives) override {
    std::vector<Request> requests;
    for (const Message &message : receives)
      inPieces(message, requests, [&](char *data, int bytes, Request *request) {
        return mpi.irecv(data, bytes, mpi.byte, int(processes[message.peer]),
                         tag, comm, request);
      });
    for (const Message &message : sends)
      inPieces(message, requests, [&](char *data, int bytes, Request *request) {
        return mpi.isend(data, bytes, mpi.byte, int(processes[message.peer]),
                         tag, comm, request);
      });
    finish(requests);
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
  /// Counts are ints: larger messages go in pieces.
  template <typename Post>
  void inPieces(const Message &message, std::vector<Request> &requests,
                Post post) {
    const int64_t most = int64_t(1) << 30;
    for (int64_t done = 0; done < message.bytes; done += most) {
      requests.emplace_back();
      mpi.check(post(message.data + done,
                     int(std::min(most, message.bytes - done)),
                     &requests.back()),
                "starting a message");
    }
  }

  void finish(std::vector<Request> &requests) {
    int64_t begin = nowNs();
    for (Request &request : requests) {
      int done = 0;
      while (true) {
        mpi.check(mpi.test(&request, &done, mpi.statusIgnore), "a message");
        if (done)
          break;
        if (session.failed())
          throw Error("stopped");
        // MPI makes progress only in its calls: look often at first.
        if (nowNs() - begin < 2000000) {
          sched_yield();
          continue;
        }
        timespec pause{0, 50000};
        nanosleep(&pause, nullptr);
      }
    }
  }

  const Mpi &mpi;
  const Handle comm;
  Session &session;
  const std::vector<int64_t> processes; ///< of the group's members
  const int64_t me;
  const int tag;
};

/// A thread does the transfers in the order of their starts, beside the rank's
/// kernels.
class MpiCommunicator : public GroupCommunicator {
public:
  explicit MpiCommunicator(Session &session)
      : GroupCommunicator(session), mpi(Mpi::get()),
        rank(*session.ranks.front()), pool(1, 0, rank.progress), ops(pool) {
    // Its own communicator, apart from messages of the embedding program.
    mpi.check(mpi.commDup(mpi.world, &comm), "MPI_Comm_dup");
    mpi.check(mpi.commSetErrhandler(comm, mpi.errorsReturn),
              "MPI_Comm_set_errhandler");
    thread = std::thread([this] { loop(); });
  }

  ~MpiCommunicator() override {
    stop.store(true);
    bell.ring();
    thread.join();
    if (session.failed())
      Mpi::abandon();
  }

  void reset() override {
    GroupCommunicator::reset();
    std::lock_guard<std::mutex> lock(mutex);
    queue.clear();
  }

  int64_t touched(const tsp_rank &) const override { return ops.touched(); }

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
      rank.pool.track(0).events.push_back({"wait", begin, nowNs(), -1});
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
    // Messages of one pair and tag keep their order. Ranks that disagree have
    // other tags and meet nobody. Every MPI allows tags up to 32767.
    std::string what = format("%d %llu ", flight.group->number,
                              (unsigned long long)flight.number) +
                       own.transfer.signature();
    int tag = int(std::hash<std::string>()(what) % 32768);
    try {
      MpiTransport transport(mpi, comm, session, processes, flight.me, tag);
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

  const Mpi &mpi;
  Handle comm = nullptr;
  tsp_rank &rank;
  ThreadPool pool;
  HostOps ops;
  std::mutex mutex;
  std::deque<Flight> queue;
  Doorbell bell, doneBell;
  std::atomic<bool> stop{false};
  std::thread thread;
};

class MpiBackend : public Backend {
public:
  std::unique_ptr<Device> makeDevice(tsp_rank &rank) override {
    return host->makeDevice(rank);
  }
  std::unique_ptr<Communicator> makeCommunicator(Session &session) override {
    if (session.ranks.size() != 1)
      throw Error(format("%lld processes were started for a model of %lld "
                         "ranks: over MPI each rank is a process of its own",
                         (long long)session.processes->count(),
                         (long long)session.model.numRanks()));
    if (session.options.link_gbps > 0)
      throw Error("--link simulates links between the ranks of one process; "
                  "this run has several");
    const Mpi &mpi = Mpi::get();
    int size = 0, index = 0;
    mpi.check(mpi.commSize(mpi.world, &size), "MPI_Comm_size");
    mpi.check(mpi.commRank(mpi.world, &index), "MPI_Comm_rank");
    const Processes &processes = *session.processes;
    if (size != processes.count() || index != processes.index())
      throw Error(format("%s started %lld processes, but MPI knows of %d: "
                         "ranks in host memory are connected by MPI; start "
                         "them with mpirun",
                         processes.how().launcher.c_str(),
                         (long long)processes.count(), size));
    return std::make_unique<MpiCommunicator>(session);
  }

private:
  const std::unique_ptr<Backend> host = makeHostBackend();
};
} // namespace

std::unique_ptr<Backend> tsp::runtime::makeMpiBackend() {
  return std::make_unique<MpiBackend>();
}
