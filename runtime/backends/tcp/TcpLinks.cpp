//===- TcpLinks.cpp - messages between processes by TCP -------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "backends/host/MessageCommunicator.h"
#include "core/Sockets.h"
#include "core/Sync.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

using namespace tsp::runtime;

namespace {
/// One direction of a connection: its messages, each behind a header.
struct Queue {
  struct Item {
    FrameHeader header;
    char *data;
  };
  std::vector<Item> items;
  size_t current = 0;
  uint64_t done = 0; ///< bytes of the current item, the header's first
  FrameHeader found; ///< what a receiver reads

  bool empty() const { return current == items.size(); }
};

class TcpLinks : public MessageLinks {
public:
  explicit TcpLinks(Session &session);
  ~TcpLinks() override {
    for (int socket : sockets)
      if (socket >= 0)
        close(socket);
  }

  void exchange(const std::vector<Message> &sends,
                const std::vector<Message> &receives, int tag) override;

private:
  static void add(std::vector<Queue> &queues,
                  const std::vector<Message> &messages, int tag);
  /// Moves what can be moved now. Throws an Error.
  void send(int64_t peer, Queue &queue);
  void receive(int64_t peer, Queue &queue);
  [[noreturn]] void broken(int64_t peer, const char *reason) const;

  Session &session;
  std::vector<int> sockets; ///< by process; -1: this one
};
} // namespace

/// Each process listens, and connects to those with lower numbers.
TcpLinks::TcpLinks(Session &session)
    : session(session), sockets(session.processes->count(), -1) {
  const double patience = 60;
  Processes &processes = *session.processes;
  int port = 0, listening = listenOn(port);
  std::string table;
  for (const std::string &place :
       processes.gather(processes.address() + " " + std::to_string(port)))
    table += place + "\n";
  processes.broadcast(table);
  size_t begin = 0;
  for (int64_t peer = 0; peer < processes.index(); ++peer) {
    size_t end = table.find('\n', begin), space = table.find(' ', begin);
    std::string host = table.substr(begin, space - begin), reason;
    int number = atoi(table.c_str() + space);
    // On the machine of process 0.
    if (host.empty())
      host = processes.how().host;
    sockets[peer] = connectTo(host, number, patience, reason);
    if (sockets[peer] < 0)
      throw Error(format("process %lld cannot reach process %lld at %s:%d: %s",
                         (long long)processes.index(), (long long)peer,
                         host.c_str(), number, reason.c_str()));
    sayHello(sockets[peer], processes.index());
    begin = end + 1;
  }
  acceptProcesses(listening, processes.count() - 1 - processes.index(),
                  patience, [&](int64_t peer, int socket) {
                    if (peer <= processes.index() ||
                        peer >= processes.count() || sockets[peer] >= 0)
                      return false;
                    sockets[peer] = socket;
                    return true;
                  });
  for (int socket : sockets)
    if (socket >= 0)
      fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
}

void TcpLinks::add(std::vector<Queue> &queues,
                   const std::vector<Message> &messages, int tag) {
  for (const Message &message : messages) {
    Queue::Item item;
    item.header.kind = uint32_t(tag);
    item.header.bytes = uint64_t(message.bytes);
    item.data = message.data;
    queues[message.peer].items.push_back(item);
  }
}

void TcpLinks::exchange(const std::vector<Message> &sends,
                        const std::vector<Message> &receives, int tag) {
  std::vector<Queue> outgoing(sockets.size()), incoming(sockets.size());
  add(outgoing, sends, tag);
  add(incoming, receives, tag);
  while (true) {
    std::vector<pollfd> waiting;
    std::vector<int64_t> peers;
    for (int64_t peer = 0; peer < int64_t(sockets.size()); ++peer) {
      short events = short((outgoing[peer].empty() ? 0 : POLLOUT) |
                           (incoming[peer].empty() ? 0 : POLLIN));
      if (!events)
        continue;
      waiting.push_back({sockets[peer], events, 0});
      peers.push_back(peer);
    }
    if (waiting.empty())
      return;
    const int interval = 100; // ms, to see a failure
    if (poll(waiting.data(), waiting.size(), interval) <= 0) {
      if (session.failed())
        throw Error("stopped");
      continue;
    }
    for (size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents & POLLOUT)
        send(peers[i], outgoing[peers[i]]);
      if (waiting[i].revents & ~POLLOUT)
        receive(peers[i], incoming[peers[i]]);
    }
  }
}

void TcpLinks::broken(int64_t peer, const char *reason) const {
  throw Error(
      format("the line to process %lld broke: %s", (long long)peer, reason));
}

void TcpLinks::send(int64_t peer, Queue &queue) {
  while (!queue.empty()) {
    Queue::Item &item = queue.items[queue.current];
    const uint64_t head = sizeof(FrameHeader);
    iovec parts[2];
    size_t count = 0;
    if (queue.done < head)
      parts[count++] = {reinterpret_cast<char *>(&item.header) + queue.done,
                        size_t(head - queue.done)};
    uint64_t sent = queue.done < head ? 0 : queue.done - head;
    parts[count++] = {item.data + sent, size_t(item.header.bytes - sent)};
    msghdr message = {};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    ssize_t moved = sendmsg(sockets[peer], &message, MSG_NOSIGNAL);
    if (moved < 0 && (errno == EAGAIN || errno == EINTR))
      return;
    if (moved < 0)
      broken(peer, strerror(errno));
    queue.done += uint64_t(moved);
    if (queue.done < head + item.header.bytes)
      return;
    queue.done = 0;
    ++queue.current;
  }
}

void TcpLinks::receive(int64_t peer, Queue &queue) {
  while (!queue.empty()) {
    Queue::Item &item = queue.items[queue.current];
    const uint64_t head = sizeof(FrameHeader);
    FrameHeader &found = queue.found;
    bool inHeader = queue.done < head;
    char *place = inHeader ? reinterpret_cast<char *>(&found) + queue.done
                           : item.data + (queue.done - head);
    uint64_t end = inHeader ? head : head + item.header.bytes;
    if (queue.done < end) {
      ssize_t moved = recv(sockets[peer], place, size_t(end - queue.done), 0);
      if (moved < 0 && (errno == EAGAIN || errno == EINTR))
        return;
      if (moved <= 0)
        broken(peer, moved ? strerror(errno) : "it has ended");
      queue.done += uint64_t(moved);
    }
    if (queue.done == head &&
        (found.magic != item.header.magic || found.kind != item.header.kind ||
         found.bytes != item.header.bytes))
      broken(peer, "it is at another transfer");
    if (queue.done < head + item.header.bytes)
      continue;
    queue.done = 0;
    ++queue.current;
  }
}

std::unique_ptr<MessageLinks> tsp::runtime::makeTcpLinks(Session &session) {
  return std::make_unique<TcpLinks>(session);
}
