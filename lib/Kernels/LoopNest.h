//===- LoopNest.h - the loops of a nest on the host -------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows are collapsed and split over the grid. In a row come the reductions,
// each into scalars or a small buffer, then the remaining loops over the
// results. A softmax over the last dim, say:
//
//   for row in [begin, end):                      rows
//     m = max over j of x[row, j]                 a reduction, a scalar
//     s = sum over j of exp(x[row, j] - m)        the next one
//     for j: y[row, j] = exp(x[row, j] - m) / s   the results
//
// When the last dim belongs to the rows and memory is contiguous along it (a
// sum over rows, any elementwise op), rows hold a block of it, which is the
// innermost loop of everything:
//
//   for block in [begin, end):
//     for j in block: a[j] = 0
//     for i: for j in block: a[j] += x[i, j]
//     for j in block: y[j] = a[j]
//
// A transpose has blocks of two loops, so that the lines of memory that it
// reads across are used whole while they are near.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_LOOPNEST_H
#define TSP_LIB_KERNELS_LOOPNEST_H

#include "Nest.h"
#include "ScratchPlan.h"

namespace tsp {

class LoopNest : public Nest {
public:
  /// Plans the loops for targets of one shape.
  LoopNest(ElementEmitter &emitter, ScratchPlan &scratch,
           llvm::ArrayRef<Target> targets, llvm::ArrayRef<Range> ranges = {});

  /// The code of units [begin, end) of this nest's grid.
  void emit(mlir::Value begin, mlir::Value end);

private:
  void planTile();
  void planReductionLoops(RowReduction &row);
  bool divideRows();
  void chooseGrid();

  void emitRow(const LinearIndex &row);
  void emitReduction(RowReduction &row);
  void emitResults(const RowReduction &row);
  void emitLoopsInRow(llvm::ArrayRef<unsigned> loops,
                      llvm::ArrayRef<int64_t> splits,
                      llvm::function_ref<void()> body);

  ScratchPlan &scratch;
  /// The row loops of which a row holds a block: the innermost loop, and one
  /// around it if elements are contiguous along that.
  std::optional<unsigned> blockedLoop, tiledLoop;
  int64_t blockSize = 1, tileSize = 1;
  int64_t rowsPerUnit = 1, numRows = 1;
  llvm::SmallVector<int64_t> splits;

  /// The block of a loop that the present row holds.
  struct Block {
    LinearIndex start;
    mlir::Value lower, upper;
  };
  int64_t getBlockSize(unsigned loop) const;
  std::map<unsigned, Block> blocks;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_LOOPNEST_H
