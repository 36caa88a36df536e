//===- Enqueue.cpp - what other emulated libraries put on streams ---------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Enqueue.h"

#include "driver/HostWatch.h"
#include "driver/Memory.h"
#include "driver/Options.h"
#include "driver/Races.h"
#include "driver/Stream.h"

using namespace tsp::emulation;

CUresult tspEmulationEnqueue(const CUstream *streams, size_t count,
                             const TspEmulationWork *work) {
  std::shared_ptr<void> data(work->data, work->release);
  std::vector<CUstream> found(count);
  for (size_t i = 0; i < count; ++i)
    if (CUresult error = findStream(streams[i], found[i]))
      return error;
  for (CUstream stream : found)
    waitForRoom(stream);
  StreamWork streamWork;
  streamWork.type = CU_GRAPH_NODE_TYPE_KERNEL;
  streamWork.work = [data, start = work->start](const TaskRef &task) {
    start(data.get(), new TaskRef(task));
    return std::nullopt;
  };
  return enqueue(found, std::move(streamWork));
}

void tspEmulationFinish(void *token, CUresult error) {
  std::unique_ptr<TaskRef> task(static_cast<TaskRef *>(token));
  Scheduler::get().finish(*task, error);
}

void tspEmulationEnterDevice() { HostWatch::enterDevice(); }

void tspEmulationFollow(void *token, void *sender) {
  if (options().checks)
    (*static_cast<TaskRef *>(token))
        ->order.follow((*static_cast<TaskRef *>(sender))->order);
}

CUresult tspEmulationUse(void *token, const char *what, const void *begin,
                         size_t bytes, bool writes) {
  auto address = reinterpret_cast<uintptr_t>(begin);
  auto kind = writes ? GlobalUse::Kind::Write : GlobalUse::Kind::Read;
  return bytes ? Races::get().add(*static_cast<TaskRef *>(token), what,
                                  {{{address, address + bytes}, kind, {}}})
               : CUDA_SUCCESS;
}

bool tspEmulationIsReachable(CUcontext context, const void *pointer,
                             size_t bytes, char *why, size_t size) {
  std::string reason;
  if (Memory::get().isReachable(context, uintptr_t(pointer), bytes, reason))
    return true;
  snprintf(why, size, "%s", reason.c_str());
  return false;
}
