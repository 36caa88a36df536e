//===- TspOps.td - operations of the tsp dialect --------------------- *- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_OPS_TD
#define TSP_OPS_TD

include "tsp/Dialect/TSP/IR/TspBlockOps.td"
include "tsp/Dialect/TSP/IR/TspComputeOps.td"
include "tsp/Dialect/TSP/IR/TspCollectiveOps.td"
include "tsp/Dialect/TSP/IR/TspFoldOps.td"
include "tsp/Dialect/TSP/IR/TspHostOps.td"
include "tsp/Dialect/TSP/IR/TspBufferOps.td"

#endif // TSP_OPS_TD
