//===- HostCommunicator.h - ranks are threads of this process ---*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_BACKENDS_HOST_HOSTCOMMUNICATOR_H
#define TSP_RUNTIME_BACKENDS_HOST_HOSTCOMMUNICATOR_H

#include "core/Session.h"

#include <deque>

namespace tsp::runtime {

/// Collectives by reading the peers' memory. A rank posts its buffers when it
/// starts a transfer; in its wait it reads from the peers that have posted
/// theirs, says so, and waits until all its readers have said so too. Ranks of a group number
/// their transfers; equal numbers belong together, and are checked to be the
/// same collective. With --link, reading begins when the simulated link would
/// have delivered; waiting for that takes no CPU.
class HostCommunicator : public Communicator {
public:
  explicit HostCommunicator(Session &session);

  void reset() override;
  bool start(tsp_rank &rank, const Transfer &transfer,
             tsp_event &event) override;
  bool wait(tsp_rank &rank, tsp_event event) override;
  int64_t pending(const tsp_rank &rank) const override;
  void wakeAll() override;

private:
  static constexpr uint64_t window = 256; ///< posts a rank may have in flight

  /// A transfer that a rank has started. Valid for number n when
  /// `number` == n + 1.
  struct Post {
    Transfer transfer;
    int64_t time = 0;                ///< of the start
    std::atomic<uint64_t> number{0};
    std::atomic<uint64_t> reduced{0}; ///< n + 1: own slice of a reduction ready
    std::atomic<uint64_t> pulled{0};  ///< n + 1: has read all it needs
  };

  /// One rank's side of a group.
  struct Member {
    tsp_rank *rank = nullptr;
    std::unique_ptr<Post[]> posts;
    uint64_t next = 0;                ///< number of the next transfer
    uint64_t limit = window;          ///< numbers below need no look at peers
    std::atomic<uint64_t> finished{0}; ///< all numbers below have been waited
    std::vector<bool> waited;         ///< of the numbers modulo the window
  };

  /// The ranks that differ only in the coordinates of an axis number.
  struct Group {
    std::string axis;
    std::vector<std::unique_ptr<Member>> members;
  };

  /// A transfer on a rank's own list, in the order of the starts.
  struct Flight {
    Group *group;
    int64_t me; ///< coordinate in the group
    uint64_t number;
    int64_t linkEnd = -1; ///< when the simulated link has delivered
    bool done = false;
  };

  /// What belongs to one rank alone (but for the bell).
  struct Local {
    std::vector<std::pair<Group *, int64_t>> groups; ///< by axis number
    std::deque<Flight> flights;
    int64_t firstFlight = 0; ///< event number of flights.front()
    int64_t linkFree = 0;
    Doorbell bell;
    std::atomic<const tsp_rank *> waitsFor{nullptr};
  };

  Post &post(Group &group, int64_t member, uint64_t number) {
    return group.members[member]->posts[number % window];
  }
  /// Tells the other members that `me` has advanced; wakes those that wait for
  /// it, and only those: with more ranks than cores each wake-up costs.
  void ring(Group &group, int64_t me);

  /// Waits until `ready()`, which may itself fail. `late` is the rank it depends
  /// on, for the watchdog; `what` completes "has not ..".
  template <typename Ready>
  bool waitUntil(tsp_rank &rank, const Flight &flight, int64_t late,
                 const char *what, Ready ready);

  bool watch(tsp_rank &rank, const Flight &flight, int64_t late,
             Activity activity, const char *what, int64_t idleNs);
  bool waitPosted(tsp_rank &rank, const Flight &flight, int64_t peer);
  bool checkPeer(tsp_rank &rank, const Flight &flight, int64_t peer);
  bool waitLink(tsp_rank &rank, Local &local, int64_t event);
  bool waitReaders(tsp_rank &rank, const Flight &flight, Post &own);
  bool pull(tsp_rank &rank, const Flight &flight, Post &own);
  bool reduceAll(tsp_rank &rank, const Flight &flight, Post &own);
  std::vector<int64_t> sources(const Flight &flight, const Transfer &transfer);
  std::vector<int64_t> readers(const Flight &flight, const Transfer &transfer);
  /// Sets a mark of the own post and wakes the group.
  void announce(const Flight &flight, std::atomic<uint64_t> &mark);
  /// What the members of the group have posted.
  std::vector<const Transfer *> transfers(const Flight &flight);
  void finish(Local &local, int64_t event);

  Session &session;
  std::vector<std::unique_ptr<Group>> groups;
  std::vector<std::unique_ptr<Local>> locals; ///< one a rank
};

} // namespace tsp::runtime

#endif // TSP_RUNTIME_BACKENDS_HOST_HOSTCOMMUNICATOR_H
