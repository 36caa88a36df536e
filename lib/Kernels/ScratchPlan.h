//===- ScratchPlan.h - temporaries in a piece of memory ---------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_SCRATCHPLAN_H
#define TSP_LIB_KERNELS_SCRATCHPLAN_H

#include "tsp/Kernels/ElementEmitter.h"

namespace tsp {

/// Gives out the scratch memory of a kernel: an argument of type memref<?xi8>
/// for any ?, which gets its size when the kernel is finished.
class ScratchPlan {
public:
  explicit ScratchPlan(mlir::Value scratch) : scratch(scratch) {}
  /// A flat buffer of `count` elements.
  mlir::Value allocate(ElementEmitter &emitter, int64_t count,
                       mlir::Type elementType);
  /// What `allocate` would take.
  static int64_t getBytes(int64_t count, mlir::Type elementType);
  /// The greatest size in use so far.
  int64_t getBytes() const { return peak; }

  /// What is given out after a mark can be taken back.
  int64_t mark() const { return bytes; }
  void release(int64_t mark) { bytes = mark; }

private:
  mlir::Value scratch;
  int64_t bytes = 0, peak = 0;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_SCRATCHPLAN_H
