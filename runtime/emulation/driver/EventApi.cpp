//===- EventApi.cpp - calls on events -------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Capture.h"

using namespace tsp::emulation;

static CUresult checkEvent(CUevent event) {
  if (inHostFunction())
    return CUDA_ERROR_NOT_PERMITTED;
  return handles<CUevent_st>().has(event) ? stickyError(event->context)
                                          : CUDA_ERROR_INVALID_HANDLE;
}

CUresult CUDAAPI cuEventCreate(CUevent *result, unsigned flags) {
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING;
  if (!result || (flags & ~(known | CU_EVENT_INTERPROCESS)))
    return CUDA_ERROR_INVALID_VALUE;
  if (flags & CU_EVENT_INTERPROCESS)
    return notSupported("cuEventCreate with CU_EVENT_INTERPROCESS");
  auto event = std::make_unique<CUevent_st>();
  event->context = context;
  event->flags = flags;
  *result = handles<CUevent_st>().add(std::move(event));
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventDestroy(CUevent event) {
  return handles<CUevent_st>().take(event) ? CUDA_SUCCESS
                                           : CUDA_ERROR_INVALID_HANDLE;
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream handle) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  if (CUresult error = checkEvent(event))
    return error;
  if (event->context != stream->context)
    return CUDA_ERROR_INVALID_HANDLE;
  DriverGuard guard(driverLock());
  if (stream->capture) {
    if (stream->capture->invalidated)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    event->capture = stream->capture;
    event->captureTail = stream->captureTail;
    event->task = nullptr;
    return CUDA_SUCCESS;
  }
  event->capture = nullptr;
  event->captureTail.clear();
  if (CUresult error = enqueue(stream, StreamWork()))
    return error;
  event->task = stream->last;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventRecordWithFlags(CUevent event, CUstream stream,
                                        unsigned flags) {
  if (flags & CU_EVENT_RECORD_EXTERNAL)
    return notSupported("cuEventRecordWithFlags with CU_EVENT_RECORD_EXTERNAL");
  return flags ? CUDA_ERROR_INVALID_VALUE : cuEventRecord(event, stream);
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream handle, CUevent event,
                                   unsigned flags) {
  if (flags & CU_EVENT_WAIT_EXTERNAL)
    return notSupported("cuStreamWaitEvent with CU_EVENT_WAIT_EXTERNAL");
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  if (CUresult error = checkEvent(event))
    return error;
  DriverGuard guard(driverLock());
  if (event->capture) {
    if (!isActive(event->capture))
      return CUDA_ERROR_CAPTURED_EVENT;
    return joinCapture(stream, event->capture, event->captureTail);
  }
  if (stream->capture)
    return invalidate(*stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  if (!event->task)
    return CUDA_SUCCESS;
  std::vector<TaskRef> before = tasksBefore(stream);
  before.push_back(event->task);
  stream->last =
      Scheduler::get().submit(stream->context, stream->id, nullptr, before);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuEventQuery(CUevent event) {
  if (CUresult error = checkEvent(event))
    return error;
  if (CUresult error = checkNoCapture())
    return error;
  DriverGuard guard(driverLock());
  if (event->capture)
    return CUDA_ERROR_CAPTURED_EVENT;
  return Scheduler::get().answersDone(event->task) ? stickyError(event->context)
                                                   : CUDA_ERROR_NOT_READY;
}

CUresult CUDAAPI cuEventSynchronize(CUevent event) {
  if (CUresult error = checkEvent(event))
    return error;
  TaskRef task;
  {
    DriverGuard guard(driverLock());
    if (event->capture)
      return CUDA_ERROR_CAPTURED_EVENT;
    task = event->task;
  }
  CUcontext context = event->context;
  Scheduler::get().wait(task);
  return stickyError(context);
}

CUresult CUDAAPI cuEventElapsedTime(float *milliseconds, CUevent start,
                                    CUevent end) {
  for (CUevent event : {start, end})
    if (CUresult error = checkEvent(event))
      return error;
  DriverGuard guard(driverLock());
  if (!milliseconds)
    return CUDA_ERROR_INVALID_VALUE;
  for (CUevent event : {start, end}) {
    if (!event->task || (event->flags & CU_EVENT_DISABLE_TIMING))
      return CUDA_ERROR_INVALID_HANDLE;
    if (!Scheduler::get().isDone(event->task))
      return CUDA_ERROR_NOT_READY;
  }
  *milliseconds =
      float(end->task->finishedAtNs() - start->task->finishedAtNs()) / 1e6f;
  return CUDA_SUCCESS;
}

/// The name that programs for drivers before CUDA 13 ask for.
#undef cuEventElapsedTime
extern "C" CUresult CUDAAPI cuEventElapsedTime(float *milliseconds,
                                               CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}
