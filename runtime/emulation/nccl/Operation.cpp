//===- Operation.cpp - one call, and how ranks compare theirs -------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nccl/Operation.h"

#include "nccl/DataTypes.h"

using namespace tsp::emulation;

static const char *callName(Call call) {
  switch (call) {
  case Call::None:
    return "nothing";
  case Call::AllGather:
    return "ncclAllGather";
  case Call::AllReduce:
    return "ncclAllReduce";
  case Call::AlltoAll:
    return "ncclAlltoAll";
  case Call::Broadcast:
    return "ncclBroadcast";
  case Call::Gather:
    return "ncclGather";
  case Call::Reduce:
    return "ncclReduce";
  case Call::ReduceScatter:
    return "ncclReduceScatter";
  case Call::Scatter:
    return "ncclScatter";
  case Call::Send:
    return "ncclSend";
  case Call::Recv:
    return "ncclRecv";
  }
  return "?";
}

std::string Signature::str() const {
  std::string text = std::string(callName(call)) + " of " +
                     std::to_string(count) + " " + nameOf(ncclDataType_t(type));
  Operation operation{*this, nullptr, nullptr};
  if (operation.reduces())
    text += std::string(" by ") + nameOf(ncclRedOp_t(reduction));
  if (operation.hasRoot())
    text += " with root " + std::to_string(root);
  if (call == Call::Send)
    text += " to " + std::to_string(root);
  if (call == Call::Recv)
    text += " from " + std::to_string(root);
  return text;
}

bool tsp::emulation::agree(const Signature &a, const Signature &b) {
  return a.call == b.call && a.type == b.type && a.reduction == b.reduction &&
         a.root == b.root && a.count == b.count;
}

size_t Operation::bytes() const {
  return signature.count * sizeOf(ncclDataType_t(signature.type));
}

size_t Operation::sendBytes(int rank, int ranks) const {
  bool isRoot = rank == signature.root;
  switch (signature.call) {
  case Call::Recv:
  case Call::None:
    return 0;
  case Call::Broadcast:
    return isRoot ? bytes() : 0;
  case Call::Scatter:
    return isRoot ? bytes() * ranks : 0;
  case Call::AlltoAll:
  case Call::ReduceScatter:
    return bytes() * ranks;
  default:
    return bytes();
  }
}

size_t Operation::receiveBytes(int rank, int ranks) const {
  bool isRoot = rank == signature.root;
  switch (signature.call) {
  case Call::Send:
  case Call::None:
    return 0;
  case Call::Reduce:
    return isRoot ? bytes() : 0;
  case Call::Gather:
    return isRoot ? bytes() * ranks : 0;
  case Call::AllGather:
  case Call::AlltoAll:
    return bytes() * ranks;
  default:
    return bytes();
  }
}
