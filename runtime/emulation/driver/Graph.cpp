//===- Graph.cpp - graphs of work -----------------------------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Graph.h"

#include "driver/Stream.h"

#include <algorithm>
#include <map>

using namespace tsp::emulation;

CUgraph tsp::emulation::createGraph() {
  return handles<CUgraph_st>().add(std::make_unique<CUgraph_st>());
}

void tsp::emulation::destroyGraph(CUgraph graph) {
  DriverGuard guard(driverLock());
  if (auto owned = handles<CUgraph_st>().take(graph))
    for (auto &node : owned->nodes)
      handles<CUgraphNode_st>().take(node.get()).release();
}

CUgraphNode tsp::emulation::addNode(CUgraph graph, CUgraphNodeType type,
                                    CUcontext context, Work work,
                                    const NodeList &after) {
  DriverGuard guard(driverLock());
  auto node = std::make_unique<CUgraphNode_st>();
  node->graph = graph;
  node->type = type;
  node->context = context;
  node->work = std::move(work);
  node->after = after;
  // The graph owns the node; the table only knows that it lives.
  CUgraphNode result = handles<CUgraphNode_st>().add(std::move(node));
  graph->nodes.emplace_back(result);
  return result;
}

/// The steps of a graph in an order that respects dependencies; empty if they
/// form a cycle.
static std::vector<CUgraphExec_st::Step> orderSteps(const CUgraph_st &graph) {
  std::vector<CUgraphExec_st::Step> steps;
  std::map<CUgraphNode, size_t> placed;
  while (steps.size() < graph.nodes.size()) {
    size_t before = steps.size();
    for (auto &node : graph.nodes) {
      auto isPlaced = [&](CUgraphNode one) { return placed.count(one) != 0; };
      if (isPlaced(node.get()) ||
          !std::all_of(node->after.begin(), node->after.end(), isPlaced))
        continue;
      CUgraphExec_st::Step step{
          node->context, node->work, {}, node->params.hostUses};
      for (CUgraphNode earlier : node->after)
        step.after.push_back(placed[earlier]);
      placed[node.get()] = steps.size();
      steps.push_back(std::move(step));
    }
    if (steps.size() == before)
      return {};
  }
  return steps;
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *result, CUgraph graph,
                                    unsigned long long flags) {
  DriverGuard guard(driverLock());
  if (!result || !handles<CUgraph_st>().has(graph))
    return CUDA_ERROR_INVALID_VALUE;
  if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
    return notSupported("cuGraphInstantiate for launches by the device");
  auto exec = std::make_unique<CUgraphExec_st>();
  exec->steps = orderSteps(*graph);
  if (exec->steps.size() != graph->nodes.size())
    return CUDA_ERROR_INVALID_VALUE;
  exec->flags = flags;
  *result = handles<CUgraphExec_st>().add(std::move(exec));
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphInstantiateWithParams(
    CUgraphExec *result, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params) {
  if (!params)
    return CUDA_ERROR_INVALID_VALUE;
  CUresult error = cuGraphInstantiate(result, graph, params->flags);
  params->result_out =
      error ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
  params->hErrNode_out = nullptr;
  return error;
}

CUresult CUDAAPI cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags) {
  if (!handles<CUgraphExec_st>().has(exec) || !flags)
    return CUDA_ERROR_INVALID_VALUE;
  *flags = exec->flags;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec) {
  // Launches that still run hold copies of their work.
  return handles<CUgraphExec_st>().take(exec) ? CUDA_SUCCESS
                                              : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream handle) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  DriverGuard guard(driverLock());
  if (!handles<CUgraphExec_st>().has(exec))
    return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture)
    return notSupported("cuGraphLaunch on a stream that is captured");
  std::vector<TaskRef> before = tasksBefore(stream), tasks, all;
  before.push_back(exec->last);
  for (const CUgraphExec_st::Step &step : exec->steps) {
    std::vector<TaskRef> after;
    for (size_t earlier : step.after)
      after.push_back(tasks[earlier]);
    tasks.push_back(Scheduler::get().submit(step.context, stream->id, step.work,
                                            after.empty() ? before : after));
    HostWatch::get().begin(tasks.back(), step.hostUses);
  }
  all = tasks.empty() ? before : tasks;
  exec->last =
      Scheduler::get().submit(stream->context, stream->id, nullptr, all);
  stream->last = exec->last;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphUpload(CUgraphExec exec, CUstream handle) {
  CUstream stream;
  if (CUresult error = findStream(handle, stream))
    return error;
  // An emulated device has nothing to upload to; only the order is kept.
  return handles<CUgraphExec_st>().has(exec) ? enqueue(stream, StreamWork())
                                             : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph) {
  if (!handles<CUgraph_st>().has(graph))
    return CUDA_ERROR_INVALID_VALUE;
  destroyGraph(graph);
  return CUDA_SUCCESS;
}
