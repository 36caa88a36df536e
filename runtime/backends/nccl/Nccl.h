//===- Nccl.h - NCCL, opened at run time ------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of NCCL that the runtime uses, declared here so that it builds
// without NCCL; test/Unit compares it with nccl.h.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_BACKENDS_NCCL_NCCL_H
#define TSP_RUNTIME_BACKENDS_NCCL_NCCL_H

#include "backends/cuda/Driver.h"

namespace tsp::runtime::nccl {

using Result = int;
using Comm = struct ncclComm *;
using Stream = cuda::Stream;

constexpr Result success = 0, inProgress = 7;
constexpr int int8 = 0; ///< a data type: transfers are bytes

struct UniqueId {
  char internal[128];
};

// Member, symbol, parameters.
#define TSP_NCCL_FUNCTIONS(F)                                                  \
  F(getVersion, ncclGetVersion, (int *))                                       \
  F(getUniqueId, ncclGetUniqueId, (UniqueId *))                                \
  F(commInitRank, ncclCommInitRank, (Comm *, int, UniqueId, int))              \
  F(commSplit, ncclCommSplit, (Comm, int, int, Comm *, void *))                \
  F(commDestroy, ncclCommDestroy, (Comm))                                      \
  F(commAbort, ncclCommAbort, (Comm))                                          \
  F(commGetAsyncError, ncclCommGetAsyncError, (Comm, Result *))                \
  F(groupStart, ncclGroupStart, ())                                            \
  F(groupEnd, ncclGroupEnd, ())                                                \
  F(send, ncclSend, (const void *, size_t, int, int, Comm, Stream))            \
  F(recv, ncclRecv, (void *, size_t, int, int, Comm, Stream))                  \
  F(broadcast, ncclBroadcast,                                                  \
    (const void *, void *, size_t, int, int, Comm, Stream))                    \
  F(allGather, ncclAllGather, (const void *, void *, size_t, int, Comm, Stream))

// Those of releases from 2.19 on.
#define TSP_NCCL_LATER_FUNCTIONS(F)                                            \
  F(commRegister, ncclCommRegister, (Comm, void *, size_t, void **))           \
  F(commDeregister, ncclCommDeregister, (Comm, void *))

/// The table of NCCL's functions; a later one may be null.
struct Nccl {
#define TSP_MEMBER(member, symbol, parameters) Result(*member) parameters;
  TSP_NCCL_FUNCTIONS(TSP_MEMBER)
  TSP_NCCL_LATER_FUNCTIONS(TSP_MEMBER)
#undef TSP_MEMBER
  const char *(*getErrorString)(Result);
  const char *(*getLastError)(Comm);
  int version = 0; ///< 22809 is 2.28.9

  /// Opens NCCL once. Throws an Error that says what is missing.
  static const Nccl &get();

  std::string text(Result result, Comm comm) const;
  void check(Result result, const char *what, Comm comm = nullptr) const {
    if (result == inProgress)
      throw Error(std::string(what) +
                  ": communicators that do not block are not supported; unset "
                  "NCCL_COMM_BLOCKING");
    if (result != success)
      throw Error(std::string(what) + ": " + text(result, comm));
  }
};

} // namespace tsp::runtime::nccl

#endif // TSP_RUNTIME_BACKENDS_NCCL_NCCL_H
