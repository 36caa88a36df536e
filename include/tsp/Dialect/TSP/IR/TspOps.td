//===- TspOps.td - the tsp dialect --------------------------*- tablegen -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_OPS_TD
#define TSP_OPS_TD

include "tsp/Dialect/TSP/IR/TspDialect.td"
include "tsp/Dialect/TSP/IR/TspAttrs.td"

#endif // TSP_OPS_TD
