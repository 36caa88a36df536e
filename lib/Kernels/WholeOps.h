//===- WholeOps.h - ops that are computed as a whole ------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sorts, scatters and the like have no code for a single element: they write
// their results to buffers, in rows that do not depend on each other where the
// op allows it.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_WHOLEOPS_H
#define TSP_LIB_KERNELS_WHOLEOPS_H

#include "LoopNest.h"

namespace tsp {

bool isWholeOp(mlir::Operation *op);
/// Number of parts that can be computed apart.
int64_t getWholeOpGrid(mlir::Operation *op);
/// Writes parts [begin, end) of the results to the flat buffers `outputs`.
/// `inPlace` is an operand whose buffer is the first output, or null.
void emitWholeOp(ElementEmitter &emitter, ScratchPlan &scratch,
                 mlir::Operation *op, llvm::ArrayRef<mlir::Value> outputs,
                 mlir::Value inPlace, mlir::Value begin, mlir::Value end);

//===----------------------------------------------------------------------===//
// Scatter.cpp
//===----------------------------------------------------------------------===//

void emitScatter(ElementEmitter &emitter, mlir::Operation *op,
                 llvm::ArrayRef<mlir::Value> outputs, mlir::Value inPlace,
                 mlir::Value begin, mlir::Value end);

//===----------------------------------------------------------------------===//
// Sort.cpp: sort and top_k
//===----------------------------------------------------------------------===//

int64_t getSortGrid(mlir::Operation *op);
void emitSort(ElementEmitter &emitter, ScratchPlan &scratch,
              mlir::Operation *op, llvm::ArrayRef<mlir::Value> outputs,
              mlir::Value begin, mlir::Value end);

//===----------------------------------------------------------------------===//
// Scan.cpp: a reduce_window over all elements up to, or from, each
//===----------------------------------------------------------------------===//

struct Scan {
  mlir::Operation *op;
  bool isReverse;
  /// Sizes of the dims before the scanned one, of it, and after it.
  int64_t outer, size, inner;
  llvm::SmallVector<int64_t> shape;
};

std::optional<Scan> getScan(mlir::Operation *reduceWindow);
int64_t getScanGrid(const Scan &scan);
void emitScan(ElementEmitter &emitter, ScratchPlan &scratch, const Scan &scan,
              llvm::ArrayRef<mlir::Value> outputs, mlir::Value begin,
              mlir::Value end);

} // namespace tsp

#endif // TSP_LIB_KERNELS_WHOLEOPS_H
