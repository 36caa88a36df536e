//===- Group.h - calls between ncclGroupStart and ncclGroupEnd --*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_NCCL_GROUP_H
#define TSP_EMULATION_NCCL_GROUP_H

#include "nccl/Communicator.h"

namespace tsp::emulation {

/// Checks an operation and adds it to this thread's group; outside of a group
/// it is put on its stream at once.
ncclResult_t submit(ncclComm_t comm, const Operation &operation,
                    CUstream stream);

/// A communicator is being made: the group, or this call, waits for it if it is
/// blocking.
ncclResult_t submitInit(ncclComm_t comm);

void startGroup();
ncclResult_t endGroup();

} // namespace tsp::emulation

#endif // TSP_EMULATION_NCCL_GROUP_H
