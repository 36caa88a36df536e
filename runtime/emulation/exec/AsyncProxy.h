//===- AsyncProxy.h - accesses that happen after their issue *- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bulk copies and wgmma access shared memory through the async proxy, at any
// time between the instruction and the wait for it (PTX ISA, "Async proxy").
// For the checker such an access is
//
//   AsyncIssue issue = checker->issueAsync(warp, site, lane);  // instruction
//   checker->readAsync(issue, offset, bytes);                  // wait
//
// What is read must have been written before the issue: by a bulk copy whose
// mbarrier's phase was waited for, or by ordinary stores with a
// fence.proxy.async between them and the issue. Who overwrites it must come
// after the wait. The order in which the emulation ran them does not matter.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_ASYNCPROXY_H
#define TSP_EMULATION_EXEC_ASYNCPROXY_H

#include "exec/Order.h"
#include "exec/WarpContext.h"

namespace tsp::emulation {

/// An instruction of the async proxy, by one thread, and what that thread knew.
struct AsyncIssue {
  const WarpContext *warp = nullptr;
  uint32_t site = 0;
  unsigned lane = 0;
  Knowledge knowledge;
  /// By the warp together, not by one thread.
  bool isWarp = false;
  /// Of the async proxy, not of the generic one (st.async).
  bool isAsync = true;
};

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_ASYNCPROXY_H
