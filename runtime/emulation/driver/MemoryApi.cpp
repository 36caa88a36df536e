//===- MemoryApi.cpp - calls on memory ------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Memory.h"
#include "driver/Options.h"
#include "driver/Races.h"
#include "driver/Stream.h"

using namespace tsp::emulation;

static CUresult allocate(size_t bytes, Allocation::Kind kind, unsigned flags,
                         void **result) {
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  if (CUresult error = checkNoCapture())
    return error;
  return Memory::get().allocate(bytes, kind, context, flags, result);
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr *result, size_t bytes) {
  return allocate(bytes, Allocation::Kind::Device, 0,
                  reinterpret_cast<void **>(result));
}

CUresult CUDAAPI cuMemAllocPitch(CUdeviceptr *result, size_t *pitch,
                                 size_t width, size_t height,
                                 unsigned elementSize) {
  if (!pitch || (elementSize != 4 && elementSize != 8 && elementSize != 16))
    return CUDA_ERROR_INVALID_VALUE;
  *pitch = (width + 511) / 512 * 512;
  return cuMemAlloc(result, *pitch * height);
}

/// Frees a range once the work that may use it has ended.
static CUresult release(uintptr_t begin, bool onDevice) {
  CUcontext context;
  if (CUresult error = currentContextUnchecked(context))
    return error;
  if (!begin)
    return onDevice ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  if (CUresult error = checkNoCapture())
    return error;
  Allocation range;
  if (!Memory::get().find(begin, range) || range.begin != begin)
    return CUDA_ERROR_INVALID_VALUE;
  CUresult fault = synchronizeContext(range.context);
  CUresult error = Memory::get().free(begin, onDevice);
  return error ? error : fault;
}

CUresult CUDAAPI cuMemFree(CUdeviceptr begin) {
  return release(uintptr_t(begin), true);
}

CUresult CUDAAPI cuMemFreeHost(void *begin) {
  return release(uintptr_t(begin), false);
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *result, size_t bytes,
                                 CUstream handle) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  if (isCapturing(stream))
    return notSupported("cuMemAllocAsync on a stream that is captured");
  // The range exists at once; the checker finds who uses it before the stream
  // has come here.
  if (CUresult error = Memory::get().allocate(
          bytes, Allocation::Kind::Device, stream->context, 0,
          reinterpret_cast<void **>(result)))
    return error;
  StreamWork work;
  work.work = [range = Range{*result, *result + bytes}](const TaskRef &task) {
    return Races::get().add(task, "cuMemAllocAsync",
                            {{range, GlobalUse::Kind::Write, {}}});
  };
  return enqueue(stream, std::move(work));
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr begin, CUstream handle) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  if (isCapturing(stream))
    return notSupported("cuMemFreeAsync on a stream that is captured");
  Allocation range;
  if (!Memory::get().find(begin, range) || range.begin != begin ||
      range.kind != Allocation::Kind::Device)
    return CUDA_ERROR_INVALID_VALUE;
  StreamWork work;
  work.work = [range](const TaskRef &task) {
    CUresult race = Races::get().add(task, "cuMemFreeAsync",
                                     {{{range.begin, range.begin + range.size},
                                       GlobalUse::Kind::Write,
                                       {}}});
    CUresult error = Memory::get().retire(range.begin);
    return error ? error : race;
  };
  return enqueue(stream, std::move(work));
}

CUresult CUDAAPI cuMemHostAlloc(void **result, size_t bytes, unsigned flags) {
  unsigned known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
                   CU_MEMHOSTALLOC_WRITECOMBINED;
  if (flags & ~known)
    return CUDA_ERROR_INVALID_VALUE;
  return allocate(bytes, Allocation::Kind::PinnedHost, flags, result);
}

CUresult CUDAAPI cuMemAllocHost(void **result, size_t bytes) {
  return cuMemHostAlloc(result, bytes, 0);
}

CUresult CUDAAPI cuMemHostRegister(void *begin, size_t bytes, unsigned flags) {
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  if (!begin || !bytes)
    return CUDA_ERROR_INVALID_VALUE;
  if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
    return notSupported("cuMemHostRegister of I/O memory");
  Allocation range;
  range.begin = uintptr_t(begin);
  range.size = bytes;
  range.kind = Allocation::Kind::RegisteredHost;
  range.context = context;
  range.device = context->device;
  range.flags = flags;
  return Memory::get().add(range);
}

CUresult CUDAAPI cuMemHostUnregister(void *begin) {
  CUcontext context;
  if (CUresult error = currentContextUnchecked(context))
    return error;
  CUresult fault = synchronizeContext(context);
  CUresult error =
      Memory::get().remove(uintptr_t(begin), Allocation::Kind::RegisteredHost);
  return error ? error : fault;
}

CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr *result, void *pointer,
                                           unsigned flags) {
  Allocation range;
  if (!result || flags || !Memory::get().find(uintptr_t(pointer), range) ||
      range.onDevice())
    return CUDA_ERROR_INVALID_VALUE;
  *result = CUdeviceptr(uintptr_t(pointer));
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemHostGetFlags(unsigned *flags, void *pointer) {
  Allocation range;
  if (!flags || !Memory::get().find(uintptr_t(pointer), range) ||
      range.kind != Allocation::Kind::PinnedHost)
    return CUDA_ERROR_INVALID_VALUE;
  *flags = range.flags | CU_MEMHOSTALLOC_DEVICEMAP;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemGetInfo(size_t *free, size_t *total) {
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  int64_t all = options().memoryBytes;
  if (total)
    *total = size_t(all);
  if (free)
    *free = size_t(all - Memory::get().usedBytes(context->device));
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemGetAddressRange(CUdeviceptr *begin, size_t *size,
                                      CUdeviceptr pointer) {
  Allocation range;
  if (!Memory::get().find(pointer, range))
    return CUDA_ERROR_NOT_FOUND;
  if (begin)
    *begin = range.begin;
  if (size)
    *size = range.size;
  return CUDA_SUCCESS;
}

template <typename T> static CUresult answer(void *data, T value) {
  *static_cast<T *>(data) = value;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuPointerGetAttribute(void *data,
                                       CUpointer_attribute attribute,
                                       CUdeviceptr pointer) {
  if (!isInitialized())
    return CUDA_ERROR_NOT_INITIALIZED;
  Allocation range;
  if (!data || !Memory::get().find(pointer, range))
    return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT:
    return answer(data, range.context);
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    return answer<unsigned>(data, range.onDevice() ? CU_MEMORYTYPE_DEVICE
                                                   : CU_MEMORYTYPE_HOST);
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    return answer(data, pointer);
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    if (range.onDevice())
      return CUDA_ERROR_INVALID_VALUE;
    return answer(data, reinterpret_cast<void *>(pointer));
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    return answer<unsigned>(data, 0);
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    return answer(data, range.device);
  case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    return answer<unsigned long long>(data, range.id);
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    return answer(data, CUdeviceptr(range.begin));
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    return answer(data, range.size);
  case CU_POINTER_ATTRIBUTE_MAPPED:
    return answer(data, true);
  default:
    return notSupported("cuPointerGetAttribute of attribute " +
                        std::to_string(attribute));
  }
}

CUresult CUDAAPI cuPointerGetAttributes(unsigned count,
                                        CUpointer_attribute *attributes,
                                        void **data, CUdeviceptr pointer) {
  if (!attributes || !data)
    return CUDA_ERROR_INVALID_VALUE;
  Allocation range;
  bool known = Memory::get().find(pointer, range);
  for (unsigned i = 0; i < count; ++i) {
    // Of memory that is unknown this call answers zeros.
    if (!known && attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
      *static_cast<unsigned *>(data[i]) = 0;
    else if (!known && attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
      *static_cast<int *>(data[i]) = -2;
    else if (!known)
      *static_cast<void **>(data[i]) = nullptr;
    else if (CUresult error =
                 cuPointerGetAttribute(data[i], attributes[i], pointer))
      return error;
  }
  return CUDA_SUCCESS;
}
