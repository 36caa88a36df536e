//===- Atomics.h - read, combine, write -------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_EMULATION_EXEC_ATOMICS_H
#define TSP_EMULATION_EXEC_ATOMICS_H

#include "exec/WarpContext.h"

namespace tsp::emulation {

/// Combines an element of 2, 4 or 8 bytes in memory with `second` (and `third`,
/// the new value of a compare-and-swap); gives what was there.
uint64_t updateAtomically(AtomicOp operation, ptx::Type type, unsigned size,
                          uint64_t address, uint64_t second, uint64_t third);

} // namespace tsp::emulation

#endif // TSP_EMULATION_EXEC_ATOMICS_H
