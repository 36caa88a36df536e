//===- Operation.h - one call, and how ranks compare theirs -----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_NCCL_OPERATION_H
#define TSP_EMULATION_NCCL_OPERATION_H

#include <cstdint>
#include <nccl.h>
#include <string>

namespace tsp::emulation {

enum class Call : int32_t {
  None,
  AllGather,
  AllReduce,
  AlltoAll,
  Broadcast,
  Gather,
  Reduce,
  ReduceScatter,
  Scatter,
  Send,
  Recv,
};

/// What all ranks of a collective have to agree on; for Send and Recv, what
/// the two sides have to. Lies in shared memory.
struct Signature {
  Call call = Call::None;
  int32_t type = 0;
  int32_t reduction = 0;
  int32_t root = 0;
  uint64_t count = 0;

  /// `ncclAllReduce of 64 float32 by sum`.
  std::string str() const;
};

/// Whether two ranks make the same collective.
bool agree(const Signature &a, const Signature &b);

/// A call on one rank. Its buffers have been checked.
struct Operation {
  Signature signature;
  const char *send = nullptr;
  char *receive = nullptr;

  bool isPointToPoint() const {
    return signature.call == Call::Send || signature.call == Call::Recv;
  }
  bool reduces() const {
    return signature.call == Call::AllReduce ||
           signature.call == Call::Reduce ||
           signature.call == Call::ReduceScatter;
  }
  bool hasRoot() const {
    return signature.call == Call::Broadcast ||
           signature.call == Call::Reduce || signature.call == Call::Gather ||
           signature.call == Call::Scatter;
  }
  /// Bytes that `count` elements take.
  size_t bytes() const;
  /// Bytes of a rank's buffers; 0 of one that the rank does not use.
  size_t sendBytes(int rank, int ranks) const;
  size_t receiveBytes(int rank, int ranks) const;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_NCCL_OPERATION_H
