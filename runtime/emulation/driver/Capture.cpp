//===- Capture.cpp - streams whose work becomes a graph -------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Capture.h"

#include <algorithm>

using namespace tsp::emulation;

/// All captures that have not ended. Guarded by the driver's lock.
static std::vector<CaptureRef> &activeCaptures() {
  static auto *captures = new std::vector<CaptureRef>;
  return *captures;
}

static thread_local CUstreamCaptureMode threadMode =
    CU_STREAM_CAPTURE_MODE_GLOBAL;

CUresult tsp::emulation::invalidate(Capture &capture, CUresult error) {
  capture.invalidated = true;
  return error;
}

bool tsp::emulation::isActive(const CaptureRef &capture) {
  auto &active = activeCaptures();
  return std::find(active.begin(), active.end(), capture) != active.end();
}

static void addUnique(NodeList &nodes, const NodeList &more) {
  for (CUgraphNode node : more)
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end())
      nodes.push_back(node);
}

CUresult tsp::emulation::joinCapture(CUstream stream, const CaptureRef &capture,
                                     const NodeList &after) {
  if (capture->invalidated)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream == stream->context->legacyStream)
    return invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  if (stream->capture && stream->capture != capture)
    return invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  if (!stream->capture) {
    stream->capture = capture;
    capture->streams.push_back(stream);
  }
  addUnique(stream->captureTail, after);
  return CUDA_SUCCESS;
}

CUresult tsp::emulation::enqueueCaptured(const CaptureRef &capture,
                                         const std::vector<CUstream> &streams,
                                         StreamWork work) {
  if (capture->invalidated)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  NodeList after;
  for (CUstream stream : streams) {
    if (CUresult error = joinCapture(stream, capture, {}))
      return error;
    addUnique(after, stream->captureTail);
  }
  CUgraphNode node =
      addNode(capture->graph, work.type, streams.front()->context,
              std::move(work.work), after);
  node->params = std::move(work.params);
  for (CUstream stream : streams)
    stream->captureTail = {node};
  return CUDA_SUCCESS;
}

CUresult tsp::emulation::checkLegacyCapture(CUstream stream) {
  CUcontext context = stream->context;
  if (stream != context->legacyStream)
    return CUDA_SUCCESS;
  for (CUstream other : context->streams)
    if (other->capture && other->isBlocking())
      return invalidate(*other->capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  return CUDA_SUCCESS;
}

void tsp::emulation::leaveCapture(CUstream stream) {
  CaptureRef capture = std::move(stream->capture);
  capture->invalidated = true;
  auto &streams = capture->streams;
  streams.erase(std::find(streams.begin(), streams.end(), stream));
  if (stream != capture->origin)
    return;
  for (CUstream other : streams)
    other->capture = nullptr;
  auto &active = activeCaptures();
  active.erase(std::find(active.begin(), active.end(), capture));
  destroyGraph(capture->graph);
}

CUresult tsp::emulation::checkNoCapture() {
  DriverGuard guard(driverLock());
  if (threadMode == CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_SUCCESS;
  for (const CaptureRef &capture : activeCaptures()) {
    if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
      continue;
    bool own = capture->thread == std::this_thread::get_id();
    bool global = threadMode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                  capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (own || global)
      return invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, threadMode);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamBeginCapture(CUstream handle,
                                      CUstreamCaptureMode mode) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_INVALID_VALUE;
  static unsigned long long ids = 1;
  DriverGuard guard(driverLock());
  if (stream == stream->context->legacyStream)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->graph = createGraph();
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = ids++;
  capture->streams.push_back(stream);
  activeCaptures().push_back(capture);
  stream->capture = capture;
  stream->captureTail.clear();
  return CUDA_SUCCESS;
}

/// Whether all nodes lead to one that the stream would come after.
static bool allJoined(const Capture &capture) {
  std::unordered_set<CUgraphNode> followed;
  for (auto &node : capture.graph->nodes)
    followed.insert(node->after.begin(), node->after.end());
  const NodeList &tail = capture.origin->captureTail;
  for (auto &node : capture.graph->nodes)
    if (!followed.count(node.get()) &&
        std::find(tail.begin(), tail.end(), node.get()) == tail.end())
      return false;
  return true;
}

CUresult CUDAAPI cuStreamEndCapture(CUstream handle, CUgraph *graph) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  if (!graph)
    return CUDA_ERROR_INVALID_VALUE;
  *graph = nullptr;
  DriverGuard guard(driverLock());
  CaptureRef capture = stream->capture;
  if (!capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream)
    return invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture->thread != std::this_thread::get_id())
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  CUresult result = CUDA_SUCCESS;
  if (capture->invalidated)
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  else if (!allJoined(*capture))
    result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  for (CUstream member : capture->streams) {
    member->capture = nullptr;
    member->captureTail.clear();
  }
  auto &active = activeCaptures();
  active.erase(std::find(active.begin(), active.end(), capture));
  if (result)
    destroyGraph(capture->graph);
  else
    *graph = capture->graph;
  return result;
}

static CUstreamCaptureStatus statusOf(CUstream stream) {
  if (!stream->capture)
    return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream->capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                      : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream handle,
                                     CUstreamCaptureStatus *status) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  if (!status)
    return CUDA_ERROR_INVALID_VALUE;
  DriverGuard guard(driverLock());
  if (CUresult error = checkLegacyCapture(stream))
    return error;
  *status = statusOf(stream);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuStreamGetCaptureInfo(CUstream handle,
                                        CUstreamCaptureStatus *status,
                                        cuuint64_t *id, CUgraph *graph,
                                        const CUgraphNode **nodes,
                                        const CUgraphEdgeData **edges,
                                        size_t *count) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  if (!status)
    return CUDA_ERROR_INVALID_VALUE;
  DriverGuard guard(driverLock());
  *status = statusOf(stream);
  if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return CUDA_SUCCESS;
  if (id)
    *id = stream->capture->id;
  if (graph)
    *graph = stream->capture->graph;
  if (nodes)
    *nodes = stream->captureTail.data();
  if (edges)
    *edges = nullptr;
  if (count)
    *count = stream->captureTail.size();
  return CUDA_SUCCESS;
}
