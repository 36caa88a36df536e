//===- Staging.h - memory in which transfers pack parts ---------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes that the runtime needs at most beside source and target, as
// tsp_staging of runtime/include/tsp_runtime.h says; test/Unit compares them
// with what its transfers really take. `ranks`: of the axis; `outer`: elements
// before the dim that the collective works on.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_HOST_STAGING_H
#define TSP_HOST_STAGING_H

#include "tsp/Dialect/TSP/IR/TspDialect.h"

namespace tsp {

/// `direct`: the parts are one after the other in the target.
int64_t getAllGatherStaging(int64_t ranks, int64_t partBytes, bool direct);

/// `direct`: each rank's part is one piece of the source.
int64_t getReduceScatterStaging(int64_t ranks, int64_t partBytes,
                                int64_t wholeBytes, bool direct);

/// Of `rows` rows of `rowBytes`, and with `rowBytes2` more for pairs.
int64_t getAllReduceStaging(int64_t ranks, int64_t rows, int64_t rowBytes,
                            int64_t rowBytes2);

int64_t getAllToAllStaging(int64_t ranks, int64_t sourceBytes,
                           int64_t targetBytes);

int64_t getBroadcastStaging(int64_t ranks, int64_t outer, int64_t targetBytes);

/// Of a collective on tensors, started or not.
int64_t getStagingBytes(mlir::Operation *collective, MeshAttr mesh);

/// Of the fetch of a fold's part; `whole`: one all_gather fetches all steps'.
int64_t getStagingBytes(FoldLoopOp fold, unsigned part, bool whole,
                        MeshAttr mesh);

} // namespace tsp

#endif // TSP_HOST_STAGING_H
