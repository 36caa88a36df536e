//===- BlockCode.h - threads of a block that work together ------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a fused kernel's code on a GPU has at hand: the place of its thread, the
// memory of its block and of the launch, and teams. A team is a part of a block
// that works on one row: its threads share out the elements of a loop, and
// merge what they have found in an order that is fixed at compile time.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GPU_BLOCKCODE_H
#define TSP_LIB_KERNELS_GPU_BLOCKCODE_H

#include "../Reductions.h"
#include "../ScratchPlan.h"
#include "tsp/Kernels/GPU/DeviceForm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tsp {

class BlockCode {
public:
  BlockCode(ElementEmitter &emitter, DeviceKernel &kernel);

  /// Fixes the number of threads in a block; the code of the kernel follows, in
  /// the emitter's present scope.
  void start(int64_t numThreads);
  /// The kernel has one block, which does all units one after the other.
  void setOneBlock() { oneBlock = true; }
  bool isOneBlock() const { return oneBlock; }

  int64_t getNumThreads() const { return numThreads; }
  const LinearIndex &getThread() const { return thread; }

  /// All threads of the block have come here, and see what the others stored.
  void barrier();
  /// Makes the code of `count` units of work: one for each block from block
  /// `first` on, of `numBlocks` in all, or one after the other if there is one
  /// block. Their shared memory is given back.
  void forUnits(int64_t count, int64_t first, int64_t numBlocks,
                llvm::function_ref<void(LinearIndex)> body);

  /// A buffer of the launch in device memory.
  mlir::Value allocate(int64_t count, mlir::Type elementType);
  /// A buffer of a unit: shared memory while there is some left, else a part
  /// for each of `grid` units of a buffer of the launch.
  struct Buffer {
    mlir::Value flat;
    LinearIndex start;
  };
  Buffer allocateInUnit(int64_t count, mlir::Type elementType,
                        const LinearIndex &unit, int64_t grid);
  /// A buffer of a unit that is small: shared memory.
  mlir::Value allocateShared(int64_t count, mlir::Type elementType);

  /// Sets the sizes of what was given out.
  void finish(DeviceLaunch &launch);

  ElementEmitter &emitter;
  mlir::OpBuilder &builder;

private:
  DeviceKernel &kernel;
  mlir::Value sharedBytes;
  std::optional<ScratchPlan> shared;
  ScratchPlan workspace;
  LinearIndex thread;
  mlir::Value block;
  int64_t numThreads = 0;
  bool oneBlock = false;
};

/// How a block is divided into teams of `size` threads, a power of two.
struct TeamShape {
  int64_t size = 1;
  /// Neighbours are in different teams, so that rows, not elements of a row,
  /// are side by side in memory.
  bool isStrided = false;
};

class Team {
public:
  using Values = llvm::SmallVector<mlir::Value>;
  using Body = llvm::function_ref<Values(llvm::ArrayRef<ElementIndex>,
                                         mlir::ValueRange)>;

  Team(BlockCode &code, TeamShape shape);

  int64_t getSize() const { return shape.size; }
  int64_t getPerBlock() const { return perBlock; }
  /// The number of this thread in its team, and of its team in the block.
  const LinearIndex &getLane() const { return lane; }
  const LinearIndex &getNumber() const { return number; }

  /// The row of this team, of those of a unit, and whether it is one of
  /// `numRows`; null if it is for sure. Else it does another team's work, as
  /// all threads are needed at barriers, and has to store nothing.
  std::pair<LinearIndex, mlir::Value> emitRow(const LinearIndex &unit,
                                              int64_t numRows);

  /// Loops over `extents`, outermost first, shared out over the team; each
  /// thread carries values of its own. The body gets `width` neighbours along
  /// the last loop, whose extent is a multiple of that.
  Values emitLoop(llvm::ArrayRef<int64_t> extents, int64_t width,
                  mlir::ValueRange inits, Body body);
  /// The same, but each thread has a part of the order to itself.
  Values emitLoopInParts(llvm::ArrayRef<int64_t> extents, int64_t width,
                         mlir::ValueRange inits, Body body);
  /// The results of a reduction, known to all threads of the team. All threads
  /// of the block have to come here.
  Values emitReduction(const Reduction &reduction, int64_t width,
                       llvm::ArrayRef<LinearIndex> index);

private:
  Values merge(const Reduction &reduction, Values values);
  Values exchange(mlir::ValueRange values, int64_t offset);
  mlir::Value isLane(mlir::arith::CmpIPredicate predicate, int64_t bound);

  BlockCode &code;
  ElementEmitter &emitter;
  mlir::OpBuilder &builder;
  TeamShape shape;
  int64_t perBlock;
  LinearIndex lane, number;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_GPU_BLOCKCODE_H
