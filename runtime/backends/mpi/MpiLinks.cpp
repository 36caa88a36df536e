//===- MpiLinks.cpp - messages between processes by MPI -------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/host/MessageCommunicator.h"
#include "backends/mpi/Mpi.h"
#include "core/Sync.h"

#include <algorithm>
#include <sched.h>

using namespace tsp::runtime;
using namespace tsp::runtime::mpi;

namespace {
class MpiLinks : public MessageLinks {
public:
  explicit MpiLinks(Session &session) : mpi(Mpi::get()), session(session) {
    int size = 0, index = 0;
    mpi.check(mpi.commSize(mpi.world, &size), "MPI_Comm_size");
    mpi.check(mpi.commRank(mpi.world, &index), "MPI_Comm_rank");
    const Processes &processes = *session.processes;
    if (size != processes.count() || index != processes.index())
      throw Error(
          format("%s started %lld processes, but MPI knows of %d; start "
                 "them with the mpirun of that MPI",
                 processes.how().launcher.c_str(), (long long)processes.count(),
                 size));
    // Its own communicator, apart from messages of the embedding program.
    mpi.check(mpi.commDup(mpi.world, &comm), "MPI_Comm_dup");
    mpi.check(mpi.commSetErrhandler(comm, mpi.errorsReturn),
              "MPI_Comm_set_errhandler");
  }

  ~MpiLinks() override {
    if (session.failed())
      Mpi::abandon();
  }

  void exchange(const std::vector<Message> &sends,
                const std::vector<Message> &receives, int tag) override {
    std::vector<Request> requests;
    for (const Message &message : receives)
      inPieces(message, requests, [&](char *data, int bytes, Request *request) {
        return mpi.irecv(data, bytes, mpi.byte, int(message.peer), tag, comm,
                         request);
      });
    for (const Message &message : sends)
      inPieces(message, requests, [&](char *data, int bytes, Request *request) {
        return mpi.isend(data, bytes, mpi.byte, int(message.peer), tag, comm,
                         request);
      });
    finish(requests);
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
  Handle comm = nullptr;
  Session &session;
};
} // namespace

std::unique_ptr<MessageLinks> tsp::runtime::makeMpiLinks(Session &session) {
  return std::make_unique<MpiLinks>(session);
}
