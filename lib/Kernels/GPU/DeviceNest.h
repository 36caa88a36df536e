//===- DeviceNest.h - the loops of a nest on a GPU --------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without reductions a thread computes a few neighbouring elements, so many
// that they fill 16 bytes. With reductions a team of threads computes a row:
//
//   x[row, j] contiguous along j          rows contiguous (a sum over rows)
//   team = neighbouring threads           team = threads of a column
//     m = max of own j; merge               s = sum of own i; merge
//     s = sum of own j; merge               lane 0: y[column] = s
//     own j: y[row, j] = ...
//
// Threads take the same elements in each loop of a row, and what a thread has
// loaded or computed for the first is still in its registers for the next.
//
// What is read across lines of memory, as by a transpose, comes by a tile in
// shared memory, which is filled along the lines.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GPU_DEVICENEST_H
#define TSP_LIB_KERNELS_GPU_DEVICENEST_H

#include "../Nest.h"
#include "BlockCode.h"

namespace tsp {

class DeviceNest : public Nest {
public:
  DeviceNest(ElementEmitter &emitter, BlockCode &code, int64_t numThreads,
             llvm::ArrayRef<Target> targets, llvm::ArrayRef<Range> ranges = {});

  int64_t getNumThreads() const { return numThreads; }
  /// Whether there are so few and so long rows that larger blocks are better.
  bool hasLongRows() const;
  /// One unit of the grid, done by a block.
  void emitUnit(const LinearIndex &unit);

private:
  bool divideRows();
  void planElements();
  void planTeams();
  bool isContiguous(unsigned loop) const;
  int64_t getWidth(const Trial &trial, const LinearIndex &symbol, int64_t size,
                   bool isStored) const;

  bool planTile();
  void emitElements(const LinearIndex &unit);
  void emitTile(const LinearIndex &unit);
  void fillTile(const Trial::Access &access, mlir::Value tile,
                llvm::ArrayRef<LinearIndex> corner);
  void forTile(
      unsigned fast, unsigned slow, llvm::ArrayRef<LinearIndex> corner,
      llvm::function_ref<void(const LinearIndex &, const LinearIndex &)> body);
  LinearIndex getAddress(const Trial::Access &access) const;
  void emitRow(Team &team, const LinearIndex &unit);
  void emitReduction(Team &team, RowReduction &row, const LinearIndex &unit,
                     mlir::Value isReal);
  /// Runs `body` if the row exists; what it computes is not used otherwise.
  void setRow(const LinearIndex &row, llvm::ArrayRef<int64_t> sizes);

  BlockCode &code;
  int64_t numThreads;
  /// Elements of a thread, side by side along the last row loop.
  int64_t elementWidth = 1;
  /// The loop along which some loads are contiguous, and these loads.
  std::optional<unsigned> tiledLoop;
  llvm::SmallVector<Trial::Access> tiledAccesses;
  TeamShape shape;
  int64_t innerWidth = 1, reductionWidth = 1;
  int64_t numRows = 1, rowWork = 1;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_DEVICENEST_H
