//===- Stream.cpp - streams and what they put in order --------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Stream.h"

#include "driver/Capture.h"

#include <algorithm>
#include <map>

using namespace tsp::emulation;

CUstream tsp::emulation::createStream(CUcontext context, unsigned flags,
                                      int priority) {
  static std::atomic<unsigned long long> ids{1};
  auto stream = std::make_unique<CUstream_st>();
  stream->context = context;
  stream->flags = flags;
  stream->priority = priority;
  stream->id = ids++;
  DriverGuard guard(driverLock());
  CUstream result = handles<CUstream_st>().add(std::move(stream));
  context->streams.insert(result);
  return result;
}

void tsp::emulation::destroyStream(CUstream stream) {
  DriverGuard guard(driverLock());
  if (stream->capture)
    leaveCapture(stream);
  CUcontext context = stream->context;
  context->streams.erase(stream);
  auto &orphans = context->orphans;
  orphans.erase(std::remove_if(orphans.begin(), orphans.end(),
                               [](const TaskRef &task) {
                                 return Scheduler::get().isDone(task);
                               }),
                orphans.end());
  orphans.push_back(stream->last);
  handles<CUstream_st>().take(stream);
}

static CUstream perThreadStream(CUcontext context) {
  static thread_local std::map<CUcontext, CUstream> streams;
  CUstream &stream = streams[context];
  if (!stream || !handles<CUstream_st>().has(stream))
    stream = createStream(context, CU_STREAM_DEFAULT, 0);
  return stream;
}

CUresult tsp::emulation::findStream(CUstream handle, CUstream &stream) {
  if (inHostFunction())
    return CUDA_ERROR_NOT_PERMITTED;
  if (handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
    if (!handles<CUstream_st>().has(handle))
      return CUDA_ERROR_INVALID_HANDLE;
    stream = handle;
    return stickyError(stream->context);
  }
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  stream = handle == CU_STREAM_PER_THREAD ? perThreadStream(context)
                                          : context->legacyStream;
  return CUDA_SUCCESS;
}

std::vector<TaskRef> tsp::emulation::tasksBefore(CUstream stream) {
  CUcontext context = stream->context;
  std::vector<TaskRef> tasks{stream->last};
  if (stream == context->legacyStream) {
    for (CUstream other : context->streams)
      if (other->isBlocking())
        tasks.push_back(other->last);
  } else if (stream->isBlocking()) {
    tasks.push_back(context->legacyStream->last);
  }
  return tasks;
}

CUresult tsp::emulation::enqueue(const std::vector<CUstream> &streams,
                                 StreamWork work) {
  DriverGuard guard(driverLock());
  CaptureRef capture;
  for (CUstream stream : streams) {
    if (CUresult error = checkLegacyCapture(stream))
      return error;
    if (capture && stream->capture && stream->capture != capture)
      return invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    if (stream->capture)
      capture = stream->capture;
  }
  if (capture)
    return enqueueCaptured(capture, streams, std::move(work));

  std::vector<TaskRef> before;
  for (CUstream stream : streams)
    for (TaskRef &task : tasksBefore(stream))
      before.push_back(std::move(task));
  CUstream first = streams.front();
  TaskRef task = Scheduler::get().submit(first->context, first->id,
                                         std::move(work.work), before);
  HostWatch::get().begin(task, work.params.hostUses);
  for (CUstream stream : streams)
    stream->last = task;
  return CUDA_SUCCESS;
}

void tsp::emulation::waitForRoom(CUstream stream) {
  if (!isCapturing(stream))
    Scheduler::get().waitForRoom(stream->context);
}

CUresult tsp::emulation::synchronizeStream(CUstream stream, bool isPromised) {
  std::vector<TaskRef> tasks;
  CUcontext context = stream->context;
  {
    DriverGuard guard(driverLock());
    if (stream->capture)
      return invalidate(*stream->capture,
                        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    tasks = tasksBefore(stream);
    if (stream != context->legacyStream)
      tasks.resize(1);
  }
  for (const TaskRef &task : tasks)
    Scheduler::get().wait(task, isPromised);
  return stickyError(context);
}

bool tsp::emulation::isCapturing(CUstream stream) {
  DriverGuard guard(driverLock());
  return stream->capture != nullptr;
}
