//===- Graph.h - captured work ----------------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_DRIVER_GRAPH_H
#define TSP_EMULATION_DRIVER_GRAPH_H

#include "driver/Context.h"
#include "driver/HostWatch.h"
#include "driver/Scheduler.h"

#include <optional>
#include <thread>
#include <vector>

namespace tsp::emulation {

using NodeList = std::vector<CUgraphNode>;

/// What a node was made from, for the functions that ask.
struct NodeParams {
  std::optional<CUDA_KERNEL_NODE_PARAMS> kernel;
  std::optional<CUDA_HOST_NODE_PARAMS> host;
  std::optional<CUDA_MEMSET_NODE_PARAMS> memset;
  /// Of the checker.
  std::vector<HostUse> hostUses;
};

/// One capture: from cuStreamBeginCapture on a stream until cuStreamEndCapture
/// on the same, with all streams that joined by events in between.
struct Capture {
  CUgraph graph = nullptr;
  CUstream origin = nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  unsigned long long id = 0;
  std::vector<CUstream> streams;
  /// A call that cannot be captured was made.
  bool invalidated = false;
};
using CaptureRef = std::shared_ptr<Capture>;

} // namespace tsp::emulation

struct CUgraphNode_st {
  CUgraph graph = nullptr;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CUcontext context = nullptr;
  tsp::emulation::Work work;
  tsp::emulation::NodeParams params;
  tsp::emulation::NodeList after;
};

struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};

/// A graph ready to be launched: its nodes in an order that respects theirs.
struct CUgraphExec_st {
  struct Step {
    CUcontext context;
    tsp::emulation::Work work;
    std::vector<size_t> after;
    std::vector<tsp::emulation::HostUse> hostUses;
  };
  std::vector<Step> steps;
  unsigned long long flags = 0;
  /// The end of the last launch: launches of one graph do not overlap.
  tsp::emulation::TaskRef last;
};

namespace tsp::emulation {

CUgraph createGraph();
void destroyGraph(CUgraph graph);
CUgraphNode addNode(CUgraph graph, CUgraphNodeType type, CUcontext context,
                    Work work, const NodeList &after);

} // namespace tsp::emulation

#endif // TSP_EMULATION_DRIVER_GRAPH_H
