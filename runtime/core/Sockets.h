//===- Sockets.h - lines between processes ----------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_CORE_SOCKETS_H
#define TSP_RUNTIME_CORE_SOCKETS_H

#include "core/Types.h"

#include <functional>

namespace tsp::runtime {

/// What comes before a frame's data.
struct FrameHeader {
  static constexpr uint32_t ours = 0x74737031;

  uint32_t magic = ours;
  uint32_t kind = 0;
  uint64_t bytes = 0;
};

/// Writes it all, or throws an Error.
void writeAll(int socket, const void *data, size_t bytes);
void writeFrame(int socket, uint32_t kind, const std::string &data);

/// Makes a socket that listens on a port of all addresses; 0: any port, which
/// is then set. Throws an Error.
int listenOn(int &port);

/// Connects, trying again until the time is over; -1 with the reason then.
int connectTo(const std::string &host, int port, double timeoutSeconds,
              std::string &reason);

/// Says who this process is, on a new connection.
void sayHello(int socket, int64_t process);

/// Accepts connections of `missing` processes and closes `listening`. Each says
/// who it is; `known` takes it, or returns false for one that is not expected.
/// Anything else that connects is sent away. Throws an Error when they do not
/// come in time.
void acceptProcesses(
    int listening, int64_t missing, double timeoutSeconds,
    const std::function<bool(int64_t process, int socket)> &known);

/// The local address of a connection, as numbers; "" if it stays on this
/// machine.
std::string localAddress(int socket);

} // namespace tsp::runtime

#endif // TSP_RUNTIME_CORE_SOCKETS_H
