//===- LoopNest.h - the loops that write results ----------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A nest writes results of one shape. Loops that every reduction inside it
// keeps are the rows: they are collapsed and split over the grid. In a row come
// the reductions, each into scalars or a small buffer, then the remaining loops
// over the results. A softmax over the last dim, say:
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

#include "Reductions.h"

namespace tsp {

/// A tensor and the flat buffer that it is written to. With `update`, a
/// dynamic_update_slice in place: the tensor is written to its part of the
/// buffer.
struct Target {
  mlir::Value tensor;
  mlir::Value buffer;
  mlir::Operation *update = nullptr;
};

/// Gives out the scratch memory of a kernel.
class ScratchPlan {
public:
  explicit ScratchPlan(mlir::Value scratch) : scratch(scratch) {}
  /// A flat buffer of `count` elements.
  mlir::Value allocate(ElementEmitter &emitter, int64_t count,
                       mlir::Type elementType);
  int64_t getBytes() const { return bytes; }

private:
  mlir::Value scratch;
  int64_t bytes = 0;
};

/// A reduction that a nest computes in each row.
struct RowReduction {
  RowReduction(mlir::Operation *op,
               llvm::ArrayRef<std::optional<unsigned>> loops)
      : reduction(op), loops(loops) {}

  Reduction reduction;
  /// The loop of the nest for each dim of the results; none for size 1.
  llvm::SmallVector<std::optional<unsigned>> loops;
  /// Loops of the nest that are not rows: the results are a buffer over them.
  llvm::SmallVector<unsigned> ownLoops;
  /// The loop of ownLoops that is innermost, the accumulators being in memory.
  std::optional<unsigned> vectorLoop;
  /// Where to divide the innermost loop.
  llvm::SmallVector<int64_t> splits;
  /// Buffers of results of the kernel that these are, or null.
  llvm::SmallVector<mlir::Value> resultBuffers;

  /// What one step meets, and the symbols of that trial.
  Trial trial;
  ElementIndex trialLoops, trialPosition;
};

class LoopNest {
public:
  struct Range {
    int64_t lower, upper;
    int64_t size() const { return upper - lower; }
  };

  /// Plans the loops for targets of one shape.
  LoopNest(ElementEmitter &emitter, llvm::ArrayRef<Target> targets,
           llvm::ArrayRef<Range> ranges = {});

  /// Reductions that do not fit in the rows: their results have to be in
  /// memory before this nest can be planned.
  llvm::ArrayRef<mlir::Operation *> getMisfits() const { return misfits; }
  /// Nests over parts of the loops that make up this one, if it has to be
  /// divided.
  std::vector<LoopNest> takeParts() { return std::move(parts); }
  std::vector<RowReduction> &getReductions() { return reductions; }

  int64_t getGrid() const { return grid; }
  /// The code of units [begin, end) of this nest's grid.
  void emit(ElementEmitter &emitter, ScratchPlan &scratch, mlir::Value begin,
            mlir::Value end);

private:
  bool planFlat(ElementEmitter &emitter);
  void plan(ElementEmitter &emitter);
  void planReduction(ElementEmitter &emitter, const Trial::Use &use,
                     llvm::ArrayRef<LinearIndex> loopIndex);
  void planTile(const Trial &trial, llvm::ArrayRef<LinearIndex> index);
  void planReductionLoops(RowReduction &row);
  bool divideAtSplits(ElementEmitter &emitter, unsigned loop,
                      llvm::ArrayRef<int64_t> points);
  void chooseGrid(int64_t elementCost);

  /// A new symbol for each loop, for a trial.
  ElementIndex makeTrialIndex(ElementEmitter &emitter);
  void emitTargets(ElementEmitter &emitter, llvm::ArrayRef<LinearIndex> index,
                   bool store);

  void emitRow(ElementEmitter &emitter, const LinearIndex &row);
  void emitReduction(ElementEmitter &emitter, RowReduction &row);
  void storeResults(ElementEmitter &emitter, const RowReduction &row);
  void emitLoopsInRow(ElementEmitter &emitter,
                      llvm::ArrayRef<unsigned> loops,
                      llvm::ArrayRef<int64_t> splits,
                      llvm::function_ref<void()> body);
  ElementIndex getElementIndex() const;
  ElementIndex getReductionIndex(const RowReduction &row) const;

  llvm::SmallVector<Target> targets;
  /// The loops: a range for each dim, or one for all elements if flat.
  llvm::SmallVector<Range> loops;
  bool isFlat = false;
  llvm::SmallVector<unsigned> rowLoops, innerLoops;
  /// The row loops of which a row holds a block: the innermost loop, and one
  /// around it if elements are contiguous along that.
  std::optional<unsigned> blockedLoop, tiledLoop;
  int64_t blockSize = 1, tileSize = 1;
  int64_t rowsPerUnit = 1, numRows = 1, grid = 1;
  llvm::SmallVector<int64_t> splits;
  std::vector<RowReduction> reductions;
  llvm::SmallVector<mlir::Operation *> misfits;
  std::vector<LoopNest> parts;

  /// The block of a loop that the present row holds.
  struct Block {
    LinearIndex start;
    mlir::Value lower, upper;
  };
  int64_t getBlockSize(unsigned loop) const;

  /// While code is made: the index of each loop, and the blocks of the row.
  ScratchPlan *scratch = nullptr;
  ElementIndex loopIndex;
  std::map<unsigned, Block> blocks;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_LOOPNEST_H
