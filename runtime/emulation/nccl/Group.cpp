//===- Group.cpp - calls between ncclGroupStart and ncclGroupEnd ----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nccl/Group.h"

#include "driver/Enqueue.h"

#include <algorithm>

using namespace tsp::emulation;

namespace {
/// What one communicator has to do when the group ends.
struct Pending {
  ncclComm_t comm;
  std::vector<Operation> operations;
  std::vector<CUstream> streams;
};
} // namespace

static thread_local int depth = 0;
static thread_local std::vector<Pending> pending;
static thread_local std::vector<ncclComm_t> inits;
static thread_local ncclResult_t groupError = ncclSuccess;

static ncclResult_t checkBuffer(ncclComm_t comm, const Operation &operation,
                                const char *what, const void *buffer,
                                size_t bytes) {
  char why[256];
  if (bytes == 0 ||
      tspEmulationIsReachable(comm->context, buffer, bytes, why, sizeof(why)))
    return ncclSuccess;
  return fail(comm, ncclInvalidArgument,
              operation.signature.str() + ": " + what + " buffer: " + why);
}

/// Where the receive buffer has to lie to be the send buffer in place; null if
/// the call has no such form.
static const char *placeInPlace(const Operation &operation, int rank,
                                bool isRoot) {
  size_t bytes = operation.bytes();
  switch (operation.signature.call) {
  case Call::AllReduce:
  case Call::Reduce:
  case Call::Broadcast:
    return operation.send;
  case Call::AllGather:
    return operation.send - rank * bytes;
  case Call::ReduceScatter:
    return operation.send + rank * bytes;
  case Call::Gather:
    return isRoot ? operation.send - rank * bytes : nullptr;
  case Call::Scatter:
    return isRoot ? operation.send + rank * bytes : nullptr;
  default:
    return nullptr;
  }
}

static ncclResult_t check(ncclComm_t comm, const Operation &operation) {
  const Signature &signature = operation.signature;
  auto wrong = [&](const std::string &why) {
    return fail(comm, ncclInvalidArgument, signature.str() + ": " + why);
  };
  if (!isDataType(ncclDataType_t(signature.type)))
    return wrong("no such type");
  if (operation.reduces() && !isReduction(ncclRedOp_t(signature.reduction)))
    return wrong("only predefined reductions are supported");
  if ((operation.hasRoot() || operation.isPointToPoint()) &&
      (signature.root < 0 || signature.root >= comm->ranks))
    return wrong("there are " + std::to_string(comm->ranks) + " ranks");
  size_t sent = operation.sendBytes(comm->rank, comm->ranks);
  size_t received = operation.receiveBytes(comm->rank, comm->ranks);
  if (ncclResult_t error =
          checkBuffer(comm, operation, "send", operation.send, sent))
    return error;
  if (ncclResult_t error =
          checkBuffer(comm, operation, "receive", operation.receive, received))
    return error;
  bool overlap = operation.send < operation.receive + received &&
                 operation.receive < operation.send + sent;
  bool isRoot = comm->rank == signature.root;
  if (sent && received && overlap &&
      operation.receive != placeInPlace(operation, comm->rank, isRoot))
    return wrong("the buffers overlap in another way than in place");
  return ncclSuccess;
}

static ncclResult_t flush(Pending &one) {
  return enqueueOperations(one.comm, std::move(one.operations),
                           std::move(one.streams));
}

ncclResult_t tsp::emulation::submit(ncclComm_t comm, const Operation &operation,
                                    CUstream stream) {
  ncclResult_t error = checkReady(comm, operation.signature.str());
  if (!error)
    error = check(comm, operation);
  if (error) {
    groupError = error;
    return error;
  }
  if (depth == 0) {
    Pending one{comm, {operation}, {stream}};
    return flush(one);
  }
  auto found = std::find_if(pending.begin(), pending.end(),
                            [&](Pending &one) { return one.comm == comm; });
  if (found == pending.end())
    found = pending.insert(pending.end(), Pending{comm, {}, {}});
  found->operations.push_back(operation);
  auto &streams = found->streams;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end())
    streams.push_back(stream);
  return ncclSuccess;
}

ncclResult_t tsp::emulation::submitInit(ncclComm_t comm) {
  if (!comm->isBlocking)
    return ncclInProgress;
  if (depth == 0)
    return join(comm);
  inits.push_back(comm);
  return ncclSuccess;
}

void tsp::emulation::startGroup() {
  if (depth++ == 0)
    groupError = ncclSuccess;
}

ncclResult_t tsp::emulation::endGroup() {
  if (depth == 0)
    return fail(nullptr, ncclInvalidUsage,
                "ncclGroupEnd without ncclGroupStart");
  if (--depth > 0)
    return ncclSuccess;
  std::vector<Pending> calls = std::move(pending);
  std::vector<ncclComm_t> made = std::move(inits);
  pending.clear();
  inits.clear();
  ncclResult_t result = groupError;
  for (ncclComm_t comm : made)
    if (ncclResult_t error = join(comm))
      result = error;
  // A group that was wrong in one call makes none of them.
  for (Pending &one : calls) {
    if (result)
      return result;
    result = flush(one);
  }
  return result;
}
