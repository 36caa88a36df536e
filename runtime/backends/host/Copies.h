//===- Copies.h - strided copies between buffers ----------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_RUNTIME_BACKENDS_HOST_COPIES_H
#define TSP_RUNTIME_BACKENDS_HOST_COPIES_H

#include "core/Moves.h"
#include "core/ThreadPool.h"

namespace tsp::runtime {

/// Makes a move between two buffers on the rank's threads, if there is enough
/// to do. src null: zeros.
void runCopy(ThreadPool &pool, const Move &move, char *dst, const char *src);

} // namespace tsp::runtime

#endif // TSP_RUNTIME_BACKENDS_HOST_COPIES_H
