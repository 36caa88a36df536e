//===- Api.cpp - the functions of nccl.h ----------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nccl/Group.h"
#include "nccl/Link.h"
#include "nccl/Version.h"

#include <cstdlib>
#include <cstring>
#include <random>

using namespace tsp::emulation;

/// First bytes of a unique id, by which one that was never made is found.
static const char idMagic[8] = {'t', 's', 'p', 'n', 'c', 'c', 'l', 1};

/// The name that ranks with this id share memory under; empty if it is none.
static std::string nameOf(const ncclUniqueId &id) {
  if (memcmp(id.internal, idMagic, sizeof(idMagic)) != 0)
    return "";
  std::string name = "/tsp-nccl-";
  for (int i = 8; i < 24; ++i) {
    char hex[3];
    snprintf(hex, sizeof(hex), "%02x", uint8_t(id.internal[i]));
    name += hex;
  }
  return name;
}

static ncclResult_t checkComm(ncclComm_t comm) {
  return comm ? ncclSuccess
              : fail(nullptr, ncclInvalidArgument, "the communicator is null");
}

static ncclResult_t checkPlace(const void *result, const char *call) {
  return result ? ncclSuccess
                : fail(nullptr, ncclInvalidArgument,
                       std::string(call) + ": no place for the result");
}

static int readVersion() {
  const char *text = getenv("TSP_EMULATED_NCCL_VERSION");
  if (!text || !*text)
    return NCCL_VERSION_CODE;
  int major, minor, patch;
  char rest;
  return sscanf(text, "%d.%d.%d%c", &major, &minor, &patch, &rest) == 3
             ? NCCL_VERSION(major, minor, patch)
             : 0;
}

int tsp::emulation::ncclVersion() {
  static const int version = readVersion();
  return version;
}

ncclResult_t ncclGetVersion(int *version) {
  if (ncclResult_t error = checkPlace(version, "ncclGetVersion"))
    return error;
  *version = ncclVersion();
  return *version ? ncclSuccess
                  : fail(nullptr, ncclInvalidUsage,
                         "TSP_EMULATED_NCCL_VERSION: expected a release such "
                         "as 2.28.9");
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  if (ncclResult_t error = checkPlace(id, "ncclGetUniqueId"))
    return error;
  std::random_device random;
  memset(id->internal, 0, sizeof(id->internal));
  memcpy(id->internal, idMagic, sizeof(idMagic));
  for (int i = 8; i < 24; i += 4) {
    uint32_t bits = random();
    memcpy(id->internal + i, &bits, 4);
  }
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  switch (result) {
  case ncclSuccess:
    return "no error";
  case ncclUnhandledCudaError:
    return "a call of the CUDA driver failed";
  case ncclSystemError:
    return "a call of the operating system failed";
  case ncclInternalError:
    return "internal error";
  case ncclInvalidArgument:
    return "invalid argument";
  case ncclInvalidUsage:
    return "invalid usage";
  case ncclRemoteError:
    return "a remote rank has failed or left";
  case ncclInProgress:
    return "in progress";
  default:
    return "unknown error";
  }
}

const char *ncclGetLastError(ncclComm_t comm) {
  // Lives until the thread's next call.
  static thread_local std::string text;
  text = comm ? lastErrorOf(comm) : lastErrorOfThread();
  return text.c_str();
}

/// The environment has the last word.
static bool isBlocking(const ncclConfig_t *config) {
  const char *text = getenv("NCCL_COMM_BLOCKING");
  if (text && *text)
    return atoi(text) != 0;
  return !config || config->blocking != 0;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks,
                                    ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  std::string name = nameOf(id);
  if (!comm || ranks < 1 || rank < 0 || rank >= ranks)
    return fail(nullptr, ncclInvalidArgument,
                "rank " + std::to_string(rank) + " of " +
                    std::to_string(ranks));
  if (name.empty())
    return fail(nullptr, ncclInvalidArgument,
                "the id was not made by this library's ncclGetUniqueId");
  if (ncclResult_t error =
          startCommunicator(comm, name, rank, ranks, isBlocking(config)))
    return error;
  return submitInit(*comm);
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id,
                              int rank) {
  return ncclCommInitRankConfig(comm, ranks, id, rank, nullptr);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int ranks, int rank,
                                      int ids, ncclUniqueId *id,
                                      ncclConfig_t *config) {
  // Several ids only spread the load of getting to know each other.
  if (ids < 1 || !id)
    return fail(nullptr, ncclInvalidArgument, "no unique id");
  return ncclCommInitRankConfig(comm, ranks, id[0], rank, config);
}

ncclResult_t ncclCommInitAll(ncclComm_t *comms, int devices, const int *list) {
  if (!comms || devices < 1)
    return fail(nullptr, ncclInvalidArgument, "no devices");
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  startGroup();
  ncclResult_t result = ncclSuccess;
  for (int rank = 0; rank < devices && !result; ++rank) {
    CUcontext context;
    if (cuInit(0) ||
        cuDevicePrimaryCtxRetain(&context, list ? list[rank] : rank)) {
      result = fail(nullptr, ncclUnhandledCudaError,
                    "device " + std::to_string(list ? list[rank] : rank) +
                        " has no context");
      break;
    }
    cuCtxPushCurrent(context);
    result = ncclCommInitRank(&comms[rank], devices, id, rank);
    cuCtxPopCurrent(nullptr);
  }
  ncclResult_t end = endGroup();
  return result ? result : end;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key,
                           ncclComm_t *result, ncclConfig_t *config) {
  if (ncclResult_t error = checkComm(comm))
    return error;
  if (!result || (color < 0 && color != NCCL_SPLIT_NOCOLOR))
    return fail(comm, ncclInvalidArgument, "color " + std::to_string(color));
  if (ncclResult_t error = checkReady(comm, "ncclCommSplit"))
    return error;
  // A part is made on its parent's device, whatever is current.
  cuCtxPushCurrent(comm->context);
  ncclResult_t error = startSplit(comm, color, key, isBlocking(config), result);
  cuCtxPopCurrent(nullptr);
  return error || !*result ? error : submitInit(*result);
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (ncclResult_t error = checkComm(comm))
    return error;
  return finalize(comm);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return comm ? destroy(comm, /*aborts=*/false) : ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return comm ? destroy(comm, /*aborts=*/true) : ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result) {
  if (ncclResult_t error = checkComm(comm))
    return error;
  if (ncclResult_t error = checkPlace(result, "ncclCommGetAsyncError"))
    return error;
  *result = asyncError(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count) {
  if (ncclResult_t error = checkComm(comm))
    return error;
  if (ncclResult_t error = checkPlace(count, "ncclCommCount"))
    return error;
  *count = comm->ranks;
  return ncclSuccess;
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device) {
  if (ncclResult_t error = checkComm(comm))
    return error;
  if (ncclResult_t error = checkPlace(device, "ncclCommCuDevice"))
    return error;
  *device = comm->device;
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank) {
  if (ncclResult_t error = checkComm(comm))
    return error;
  if (ncclResult_t error = checkPlace(rank, "ncclCommUserRank"))
    return error;
  *rank = comm->rank;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  startGroup();
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() { return endGroup(); }

static ncclResult_t submit(Call call, const void *send, void *receive,
                           size_t count, ncclDataType_t type, int reduction,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  if (ncclResult_t error = checkComm(comm))
    return error;
  Operation operation;
  operation.signature = {call, type, reduction, root, count};
  operation.send = static_cast<const char *>(send);
  operation.receive = static_cast<char *>(receive);
  return submit(comm, operation, stream);
}

ncclResult_t ncclAllGather(const void *send, void *receive, size_t count,
                           ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return submit(Call::AllGather, send, receive, count, type, 0, 0, comm,
                stream);
}

ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count,
                           ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream) {
  return submit(Call::AllReduce, send, receive, count, type, op, 0, comm,
                stream);
}

ncclResult_t ncclAlltoAll(const void *send, void *receive, size_t count,
                          ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream) {
  return submit(Call::AlltoAll, send, receive, count, type, 0, 0, comm, stream);
}

ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count,
                           ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return submit(Call::Broadcast, send, receive, count, type, 0, root, comm,
                stream);
}

ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type,
                       int root, ncclComm_t comm, cudaStream_t stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

ncclResult_t ncclGather(const void *send, void *receive, size_t count,
                        ncclDataType_t type, int root, ncclComm_t comm,
                        cudaStream_t stream) {
  return submit(Call::Gather, send, receive, count, type, 0, root, comm,
                stream);
}

ncclResult_t ncclReduce(const void *send, void *receive, size_t count,
                        ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return submit(Call::Reduce, send, receive, count, type, op, root, comm,
                stream);
}

ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t count,
                               ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  return submit(Call::ReduceScatter, send, receive, count, type, op, 0, comm,
                stream);
}

ncclResult_t ncclScatter(const void *send, void *receive, size_t count,
                         ncclDataType_t type, int root, ncclComm_t comm,
                         cudaStream_t stream) {
  return submit(Call::Scatter, send, receive, count, type, 0, root, comm,
                stream);
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t comm, cudaStream_t stream) {
  return submit(Call::Send, send, nullptr, count, type, 0, peer, comm, stream);
}

ncclResult_t ncclRecv(void *receive, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t comm, cudaStream_t stream) {
  return submit(Call::Recv, nullptr, receive, count, type, 0, peer, comm,
                stream);
}
