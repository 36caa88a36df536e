//===- StreamApi.cpp - calls on streams -----------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Capture.h"

using namespace tsp::emulation;

constexpr int greatestPriority = -5;

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *result, unsigned flags,
                                            int priority) {
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  if (!result || (flags & ~unsigned(CU_STREAM_NON_BLOCKING)))
    return CUDA_ERROR_INVALID_VALUE;
  priority = std::min(0, std::max(greatestPriority, priority));
  *result = createStream(context, flags, priority);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamCreate(CUstream *result, unsigned flags) {
  return cuStreamCreateWithPriority(result, flags, 0);
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  if (least)
    *least = 0;
  if (greatest)
    *greatest = greatestPriority;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamDestroy(CUstream stream) {
  DriverGuard guard(driverLock());
  if (!handles<CUstream_st>().has(stream) ||
      stream == stream->context->legacyStream)
    return CUDA_ERROR_INVALID_HANDLE;
  destroyStream(stream);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamSynchronize(CUstream handle) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  return synchronizeStream(stream);
}

CUresult CUDAAPI cuStreamQuery(CUstream handle) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  DriverGuard guard(driverLock());
  if (stream->capture)
    return invalidate(*stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  return Scheduler::get().answersDone(stream->last)
             ? stickyError(stream->context)
             : CUDA_ERROR_NOT_READY;
}

CUresult CUDAAPI cuStreamGetPriority(CUstream handle, int *priority) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  if (!priority)
    return CUDA_ERROR_INVALID_VALUE;
  *priority = stream->priority;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetFlags(CUstream handle, unsigned *flags) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  if (!flags)
    return CUDA_ERROR_INVALID_VALUE;
  *flags = stream->flags;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetId(CUstream handle, unsigned long long *id) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  if (!id)
    return CUDA_ERROR_INVALID_VALUE;
  *id = stream->id;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetCtx(CUstream handle, CUcontext *context) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  if (!context)
    return CUDA_ERROR_INVALID_VALUE;
  *context = stream->context;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetCtx_v2(CUstream handle, CUcontext *context,
                                   CUgreenCtx *green) {
  if (green)
    *green = nullptr;
  return cuStreamGetCtx(handle, context);
}

CUresult CUDAAPI cuStreamGetDevice(CUstream handle, CUdevice *device) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  *device = stream->context->device;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLaunchHostFunc(CUstream handle, CUhostFn function,
                                  void *data) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  if (!function)
    return CUDA_ERROR_INVALID_VALUE;
  StreamWork work;
  work.type = CU_GRAPH_NODE_TYPE_HOST;
  work.params.host = CUDA_HOST_NODE_PARAMS{function, data};
  work.work = [=](const TaskRef &task) {
    runHostFunction([&] { function(data); });
    // It may tell a thread of the host that the stream has come here.
    task->order.tellHost();
    return CUDA_SUCCESS;
  };
  return enqueue(stream, std::move(work));
}

CUresult CUDAAPI cuStreamAddCallback(CUstream handle, CUstreamCallback callback,
                                     void *data, unsigned flags) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  if (!callback || flags)
    return CUDA_ERROR_INVALID_VALUE;
  DriverGuard guard(driverLock());
  if (stream->capture)
    return invalidate(*stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  StreamWork work;
  work.work = [=](const TaskRef &task) {
    runHostFunction(
        [&] { callback(handle, stickyError(task->context()), data); });
    task->order.tellHost();
    return CUDA_SUCCESS;
  };
  return enqueue(stream, std::move(work));
}
