//===- GroupCommunicator.h - transfers of groups of ranks -------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_GROUPCOMMUNICATOR_H
#define TSP_RUNTIME_CORE_GROUPCOMMUNICATOR_H

#include "core/Session.h"

#include <deque>

namespace tsp::runtime {

/// What all communicators share: the ranks that differ only in the coordinates
/// of an axis number form a group, which numbers its transfers. Equal numbers
/// belong together and are checked to be the same collective. A rank posts each
/// transfer that it starts, so that the ranks of its process see it, and says
/// what it has done with it. How data moves is the backend's: `complete`.
class GroupCommunicator : public Communicator {
public:
  explicit GroupCommunicator(Session &session);

  void reset() override;
  bool start(tsp_rank &rank, const Transfer &transfer,
             tsp_event &event) override;
  bool wait(tsp_rank &rank, tsp_event event) override;
  int64_t pending(const tsp_rank &rank) const override;
  std::string findConflict(const tsp_rank &rank, const Transfer::Range &range,
                           bool writes) const override;
  void wakeAll() override;

protected:
  static constexpr uint64_t window = 256; ///< posts a rank may have in flight

  /// A transfer that a rank has started. Valid for number n when
  /// `number` == n + 1; the marks likewise.
  struct Post {
    Transfer transfer;
    int64_t time = 0; ///< of the start
    std::atomic<uint64_t> number{0};
    std::atomic<uint64_t> reduced{0}; ///< own slice of a reduction is ready
    std::atomic<uint64_t> pulled{0};  ///< has read all it needs
  };

  /// One rank's side of a group.
  struct Member {
    tsp_rank *rank = nullptr; ///< null: lives in another process
    int64_t index = 0;        ///< of the rank
    std::unique_ptr<Post[]> posts;
    uint64_t next = 0;                 ///< number of the next transfer
    uint64_t limit = window;           ///< numbers below need no look at peers
    std::atomic<uint64_t> finished{0}; ///< all numbers below have been waited
    std::vector<bool> waited;          ///< of the numbers modulo the window
  };

  struct Group {
    std::string axis;
    int number = 0; ///< the axis number
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

  /// Before the peers see the start.
  virtual bool prepare(tsp_rank &, const Flight &) { return true; }
  /// After the start was posted and counted.
  virtual bool posted(tsp_rank &, const Flight &, tsp_event) { return true; }
  /// The work of tsp_wait.
  virtual bool complete(tsp_rank &rank, const Flight &flight,
                        tsp_event event) = 0;

  Local &localOf(const tsp_rank &rank) { return *locals[rank.slot]; }
  static Post &post(Group &group, int64_t member, uint64_t number) {
    return group.members[member]->posts[number % window];
  }
  static Post &ownPost(const Flight &flight) {
    return post(*flight.group, flight.me, flight.number);
  }

  /// Ranks of the group that a rank reads from, and that read from it.
  static std::vector<int64_t> sources(const Flight &flight,
                                      const Transfer &transfer);
  static std::vector<int64_t> readers(const Flight &flight,
                                      const Transfer &transfer);

  /// Sets a mark of the own post and wakes the group.
  void announce(const Flight &flight, std::atomic<uint64_t> &mark);

  /// Waits until a peer of this process has posted; compares the transfers.
  bool waitPosted(tsp_rank &rank, const Flight &flight, int64_t peer);
  /// Waits until all who read from this rank have said that they did.
  bool waitReaders(tsp_rank &rank, const Flight &flight);
  /// Waits until a peer has set a mark.
  bool waitMark(tsp_rank &rank, const Flight &flight, int64_t peer,
                std::atomic<uint64_t> &mark, const char *what);
  bool checkPeer(tsp_rank &rank, const Flight &flight, int64_t peer);

  /// Tells the roster, if there is one, what a rank waits for.
  void noteWait(tsp_rank &rank, const Flight &flight);
  void noteWaitEnd(tsp_rank &rank);

  /// After an error of the transport, which is often the outcome of two ranks
  /// that disagree: gives process 0 the time to find out.
  void waitForExplanation();

  /// "all_gather of .., number 3 of axis 't'".
  static std::string flightText(const Flight &flight);

  /// Waits until `ready()`, which may itself fail. `late` is the rank it
  /// depends on, for the watchdog; `what` completes "has not ..".
  template <typename Ready>
  bool waitUntil(tsp_rank &rank, const Flight &flight, int64_t late,
                 const char *what, Ready ready);

  Session &session;
  std::vector<std::unique_ptr<Group>> groups;

private:
  void ring(Group &group, int64_t me);
  bool watch(tsp_rank &rank, const Flight &flight, int64_t late,
             Activity activity, const char *what, int64_t idleNs);
  TransferKey keyOf(const Flight &flight) const;
  bool claimPost(tsp_rank &rank, const Flight &flight);
  void finish(Local &local, int64_t event);

  std::vector<std::unique_ptr<Local>> locals; ///< one a rank of this process
};

template <typename Ready>
bool GroupCommunicator::waitUntil(tsp_rank &rank, const Flight &flight,
                                  int64_t late, const char *what, Ready ready) {
  if (ready())
    return !session.failed();
  if (session.spin)
    for (int i = 0; i < 2000; ++i) {
      cpuRelax();
      if (ready())
        return !session.failed();
    }
  tsp_rank &other = *flight.group->members[late]->rank;
  uint64_t lastProgress = other.progress.load();
  int64_t lastChange = nowNs();
  Local &local = localOf(rank);
  Doorbell &bell = local.bell;
  while (true) {
    local.waitsFor.store(&other);
    uint32_t ticket = bell.ticket();
    bool isReady = ready();
    if (session.failed() || isReady) {
      local.waitsFor.store(nullptr);
      return !session.failed();
    }
    bell.sleep(ticket, 50000000);
    uint64_t progress = other.progress.load();
    if (progress != lastProgress || session.options.watchdog_s <= 0) {
      lastProgress = progress;
      lastChange = nowNs();
    }
    // Read before `ready`: what a finished rank did is visible then.
    Activity activity = other.activity.load();
    int64_t idle = nowNs() - lastChange;
    if ((activity == Activity::Finished || idle > 50000000) && !ready() &&
        !watch(rank, flight, late, activity, what, idle))
      return false;
  }
}

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_GROUPCOMMUNICATOR_H
