//===- Sockets.cpp - lines between processes ------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Sockets.h"
#include "core/Sync.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

using namespace tsp::runtime;

void tsp::runtime::writeAll(int socket, const void *data, size_t bytes) {
  auto next = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t written = ::send(socket, next, bytes, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      throw Error(
          format("a line to another process broke: %s", strerror(errno)));
    next += written;
    bytes -= size_t(written);
  }
}

void tsp::runtime::writeFrame(int socket, uint32_t kind,
                              const std::string &data) {
  FrameHeader header;
  header.kind = kind;
  header.bytes = data.size();
  writeAll(socket, &header, sizeof(header));
  writeAll(socket, data.data(), data.size());
}

static void setUp(int socket) {
  int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  fcntl(socket, F_SETFD, FD_CLOEXEC);
}

int tsp::runtime::listenOn(int &port) {
  int socket = ::socket(AF_INET6, SOCK_STREAM, 0);
  int no = 0, yes = 1;
  sockaddr_storage address = {};
  socklen_t length;
  if (socket >= 0) {
    setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    auto &in6 = reinterpret_cast<sockaddr_in6 &>(address);
    in6.sin6_family = AF_INET6;
    in6.sin6_addr = in6addr_any;
    in6.sin6_port = htons(uint16_t(port));
    length = sizeof(in6);
  } else { // a machine without IPv6
    socket = ::socket(AF_INET, SOCK_STREAM, 0);
    auto &in = reinterpret_cast<sockaddr_in &>(address);
    in.sin_family = AF_INET;
    in.sin_port = htons(uint16_t(port));
    length = sizeof(in);
  }
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (socket < 0 ||
      bind(socket, reinterpret_cast<sockaddr *>(&address), length) != 0 ||
      listen(socket, 1024) != 0)
    throw Error(format("process 0 cannot listen on port %d: %s; choose another "
                       "one with TSP_PORT",
                       port, strerror(errno)));
  setUp(socket);
  length = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr *>(&address), &length);
  // The port is at the same place in both kinds of address.
  port = ntohs(reinterpret_cast<sockaddr_in &>(address).sin_port);
  return socket;
}

/// Whether the other end is the socket itself: so it ends if nobody listens on
/// a port of this machine, and the system gives the socket that very port.
static bool meetsItself(int socket) {
  sockaddr_storage own = {}, other = {};
  socklen_t length = sizeof(own), otherLength = sizeof(other);
  return getsockname(socket, reinterpret_cast<sockaddr *>(&own), &length) ==
             0 &&
         getpeername(socket, reinterpret_cast<sockaddr *>(&other),
                     &otherLength) == 0 &&
         length == otherLength && memcmp(&own, &other, length) == 0;
}

int tsp::runtime::connectTo(const std::string &host, int port,
                            double timeoutSeconds, std::string &reason) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  int64_t end = nowNs() + int64_t(timeoutSeconds * 1e9);
  while (true) {
    int result =
        getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    reason = result ? gai_strerror(result) : "";
    int socket = -1;
    for (addrinfo *address = found; !result && address && socket < 0;
         address = address->ai_next) {
      int candidate = ::socket(address->ai_family, address->ai_socktype, 0);
      if (candidate < 0)
        continue;
      // Even one that meets itself leaves the port to process 0.
      int yes = 1;
      setsockopt(candidate, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
      bool isConnected =
          connect(candidate, address->ai_addr, address->ai_addrlen) == 0;
      int error = isConnected ? ECONNREFUSED : errno;
      if (isConnected && !meetsItself(candidate)) {
        socket = candidate;
      } else {
        reason = strerror(error);
        close(candidate);
      }
    }
    if (!result)
      freeaddrinfo(found);
    if (socket >= 0) {
      setUp(socket);
      return socket;
    }
    if (nowNs() > end)
      return -1;
    timespec pause{0, 20000000};
    nanosleep(&pause, nullptr);
  }
}

//===----------------------------------------------------------------------===//
// Getting to know each other
//===----------------------------------------------------------------------===//

constexpr uint32_t hello = 0;

void tsp::runtime::sayHello(int socket, int64_t process) {
  writeFrame(socket, hello, std::to_string(process));
}

/// The process at the other end, or -1.
static int64_t hearHello(int socket) {
  timeval patience{5, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  FrameHeader header;
  char text[24] = "";
  bool isOurs =
      recv(socket, &header, sizeof(header), MSG_WAITALL) == sizeof(header) &&
      header.magic == FrameHeader::ours && header.kind == hello &&
      header.bytes < sizeof(text) &&
      recv(socket, text, header.bytes, MSG_WAITALL) == ssize_t(header.bytes);
  return isOurs ? strtoll(text, nullptr, 10) : -1;
}

void tsp::runtime::acceptProcesses(
    int listening, int64_t missing, double timeoutSeconds,
    const std::function<bool(int64_t process, int socket)> &known) {
  int64_t end = nowNs() + int64_t(timeoutSeconds * 1e9), all = missing;
  while (missing > 0) {
    pollfd waiting{listening, POLLIN, 0};
    int left = int(std::max<int64_t>(0, (end - nowNs()) / 1000000));
    if (poll(&waiting, 1, left) <= 0) {
      if (nowNs() < end)
        continue;
      close(listening);
      throw Error(format("%lld of %lld processes did not come within %g s",
                         (long long)missing, (long long)all, timeoutSeconds));
    }
    int socket = accept(listening, nullptr, nullptr);
    if (socket < 0)
      continue;
    setUp(socket);
    if (known(hearHello(socket), socket))
      --missing;
    else
      close(socket);
  }
  close(listening);
}

std::string tsp::runtime::localAddress(int socket) {
  sockaddr_storage address = {};
  socklen_t length = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr *>(&address), &length);
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const in_addr &in = reinterpret_cast<sockaddr_in &>(address).sin_addr;
    inet_ntop(AF_INET, &in, text, sizeof(text));
    return ntohl(in.s_addr) >> 24 == IN_LOOPBACKNET ? "" : text;
  }
  const in6_addr &in6 = reinterpret_cast<sockaddr_in6 &>(address).sin6_addr;
  inet_ntop(AF_INET6, &in6, text, sizeof(text));
  return IN6_IS_ADDR_LOOPBACK(&in6) ? "" : text;
}
