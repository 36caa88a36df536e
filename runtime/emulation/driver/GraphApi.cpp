//===- GraphApi.cpp - making graphs by hand, and looking at them ----------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "driver/Copy.h"
#include "driver/Launch.h"
#include "driver/Stream.h"

#include <algorithm>

using namespace tsp::emulation;

CUresult CUDAAPI cuGraphCreate(CUgraph *graph, unsigned flags) {
  if (!graph || flags)
    return CUDA_ERROR_INVALID_VALUE;
  *graph = createGraph();
  return CUDA_SUCCESS;
}

/// Adds a node behind `count` others of the same graph.
static CUresult add(CUgraphNode *result, CUgraph graph,
                    const CUgraphNode *dependencies, size_t count,
                    CUcontext context, StreamWork work) {
  DriverGuard guard(driverLock());
  if (!result || !handles<CUgraph_st>().has(graph) || (count && !dependencies))
    return CUDA_ERROR_INVALID_VALUE;
  NodeList after(dependencies, dependencies + count);
  for (CUgraphNode node : after)
    if (!handles<CUgraphNode_st>().has(node) || node->graph != graph)
      return CUDA_ERROR_INVALID_VALUE;
  *result = addNode(graph, work.type, context, std::move(work.work), after);
  (*result)->params = std::move(work.params);
  return CUDA_SUCCESS;
}

/// Adds the node that `make` makes of parameters for a context.
template <typename Params>
static CUresult add(CUgraphNode *result, CUgraph graph,
                    const CUgraphNode *dependencies, size_t count,
                    CUcontext context, const Params *params,
                    CUresult (*make)(CUcontext, const Params &, StreamWork &)) {
  if (!params)
    return CUDA_ERROR_INVALID_VALUE;
  StreamWork work;
  if (CUresult error = make(context, *params, work))
    return error;
  return add(result, graph, dependencies, count, context, std::move(work));
}

CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode *result, CUgraph graph,
                                      const CUgraphNode *dependencies,
                                      size_t count,
                                      const CUDA_KERNEL_NODE_PARAMS *params) {
  CUcontext context;
  if (CUresult error = currentContext(context))
    return error;
  return add(result, graph, dependencies, count, context, params, makeLaunch);
}

CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode *result, CUgraph graph,
                                      const CUgraphNode *dependencies,
                                      size_t count,
                                      const CUDA_MEMSET_NODE_PARAMS *params,
                                      CUcontext context) {
  if (!handles<CUctx_st>().has(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  return add(result, graph, dependencies, count, context, params, makeMemset);
}

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode *result, CUgraph graph,
                                      const CUgraphNode *dependencies,
                                      size_t count, const CUDA_MEMCPY3D *params,
                                      CUcontext context) {
  if (!handles<CUctx_st>().has(context))
    return CUDA_ERROR_INVALID_CONTEXT;
  return add(result, graph, dependencies, count, context, params, makeCopy);
}

CUresult CUDAAPI cuGraphAddHostNode(CUgraphNode *result, CUgraph graph,
                                    const CUgraphNode *dependencies,
                                    size_t count,
                                    const CUDA_HOST_NODE_PARAMS *params) {
  if (!params || !params->fn)
    return CUDA_ERROR_INVALID_VALUE;
  StreamWork work;
  work.type = CU_GRAPH_NODE_TYPE_HOST;
  work.params.host = *params;
  work.work = [copy = *params](const TaskRef &task) {
    runHostFunction([&] { copy.fn(copy.userData); });
    task->order.tellHost();
    return CUDA_SUCCESS;
  };
  return add(result, graph, dependencies, count, nullptr, std::move(work));
}

CUresult CUDAAPI cuGraphAddEmptyNode(CUgraphNode *result, CUgraph graph,
                                     const CUgraphNode *dependencies,
                                     size_t count) {
  return add(result, graph, dependencies, count, nullptr, StreamWork());
}

CUresult CUDAAPI cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from,
                                        const CUgraphNode *to,
                                        const CUgraphEdgeData *edges,
                                        size_t count) {
  DriverGuard guard(driverLock());
  if (!handles<CUgraph_st>().has(graph) || (count && (!from || !to)))
    return CUDA_ERROR_INVALID_VALUE;
  if (edges)
    return notSupported("cuGraphAddDependencies with edge data");
  for (size_t i = 0; i < count; ++i) {
    for (CUgraphNode node : {from[i], to[i]})
      if (!handles<CUgraphNode_st>().has(node) || node->graph != graph)
        return CUDA_ERROR_INVALID_VALUE;
    NodeList &after = to[i]->after;
    if (std::find(after.begin(), after.end(), from[i]) != after.end())
      return CUDA_ERROR_INVALID_VALUE;
    after.push_back(from[i]);
  }
  return CUDA_SUCCESS;
}

/// Answers with as many nodes as the caller has room for, or with the number of
/// nodes if it gives no room.
static CUresult answer(const NodeList &nodes, CUgraphNode *room,
                       size_t *count) {
  if (!count)
    return CUDA_ERROR_INVALID_VALUE;
  if (!room) {
    *count = nodes.size();
    return CUDA_SUCCESS;
  }
  std::fill(room, room + *count, nullptr);
  *count = std::min(*count, nodes.size());
  std::copy(nodes.begin(), nodes.begin() + *count, room);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes,
                                 size_t *count) {
  DriverGuard guard(driverLock());
  if (!handles<CUgraph_st>().has(graph))
    return CUDA_ERROR_INVALID_VALUE;
  NodeList all;
  for (auto &node : graph->nodes)
    all.push_back(node.get());
  return answer(all, nodes, count);
}

CUresult CUDAAPI cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes,
                                     size_t *count) {
  DriverGuard guard(driverLock());
  if (!handles<CUgraph_st>().has(graph))
    return CUDA_ERROR_INVALID_VALUE;
  NodeList roots;
  for (auto &node : graph->nodes)
    if (node->after.empty())
      roots.push_back(node.get());
  return answer(roots, nodes, count);
}

CUresult CUDAAPI cuGraphGetEdges(CUgraph graph, CUgraphNode *from,
                                 CUgraphNode *to, CUgraphEdgeData *edges,
                                 size_t *count) {
  DriverGuard guard(driverLock());
  if (!handles<CUgraph_st>().has(graph) || !count || !from != !to)
    return CUDA_ERROR_INVALID_VALUE;
  NodeList sources, targets;
  for (auto &node : graph->nodes) {
    for (CUgraphNode earlier : node->after) {
      sources.push_back(earlier);
      targets.push_back(node.get());
    }
  }
  size_t room = *count;
  if (edges)
    std::fill(edges, edges + std::min(room, sources.size()), CUgraphEdgeData());
  if (CUresult error = answer(sources, from, count))
    return error;
  return from ? answer(targets, to, &room) : CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphNodeGetDependencies(CUgraphNode node,
                                            CUgraphNode *dependencies,
                                            CUgraphEdgeData *edges,
                                            size_t *count) {
  DriverGuard guard(driverLock());
  if (!handles<CUgraphNode_st>().has(node) || !count)
    return CUDA_ERROR_INVALID_VALUE;
  if (edges)
    std::fill(edges, edges + std::min(*count, node->after.size()),
              CUgraphEdgeData());
  return answer(node->after, dependencies, count);
}

CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type) {
  if (!handles<CUgraphNode_st>().has(node) || !type)
    return CUDA_ERROR_INVALID_VALUE;
  *type = node->type;
  return CUDA_SUCCESS;
}

/// Copies what a node was made from; an error if it is of another type.
template <typename T>
static CUresult getParams(CUgraphNode node,
                          std::optional<T> NodeParams::*member, T *result) {
  DriverGuard guard(driverLock());
  if (!handles<CUgraphNode_st>().has(node) || !result ||
      !(node->params.*member))
    return CUDA_ERROR_INVALID_VALUE;
  *result = *(node->params.*member);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphKernelNodeGetParams(CUgraphNode node,
                                            CUDA_KERNEL_NODE_PARAMS *params) {
  return getParams(node, &NodeParams::kernel, params);
}

CUresult CUDAAPI cuGraphHostNodeGetParams(CUgraphNode node,
                                          CUDA_HOST_NODE_PARAMS *params) {
  return getParams(node, &NodeParams::host, params);
}

CUresult CUDAAPI cuGraphMemsetNodeGetParams(CUgraphNode node,
                                            CUDA_MEMSET_NODE_PARAMS *params) {
  return getParams(node, &NodeParams::memset, params);
}
