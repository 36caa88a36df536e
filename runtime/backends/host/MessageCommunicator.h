//===- MessageCommunicator.h - one host rank a process ----------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_BACKENDS_HOST_MESSAGECOMMUNICATOR_H
#define TSP_RUNTIME_BACKENDS_HOST_MESSAGECOMMUNICATOR_H

#include "core/MessageTransfer.h"
#include "core/Session.h"

namespace tsp::runtime {

/// Carries bytes between processes. Used by one thread.
class MessageLinks {
public:
  virtual ~MessageLinks() = default;

  using Message = Transport::Message;

  /// Sends and receives at the same time; returns when all is done. A peer is
  /// the number of a process. Messages between two processes keep their order;
  /// those with another tag do not match. Throws an Error, also when the
  /// session fails meanwhile.
  virtual void exchange(const std::vector<Message> &sends,
                        const std::vector<Message> &receives, int tag) = 0;
};

/// By MPI, which knows of all processes.
std::unique_ptr<MessageLinks> makeMpiLinks(Session &session);

/// By TCP, a connection for each two processes.
std::unique_ptr<MessageLinks> makeTcpLinks(Session &session);

} // namespace tsp::runtime

#endif // TSP_RUNTIME_BACKENDS_HOST_MESSAGECOMMUNICATOR_H
