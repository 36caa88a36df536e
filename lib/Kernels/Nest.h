//===- Nest.h - what the loops that write results have to do ----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A nest writes results of one shape. Loops that every reduction inside it
// keeps are the rows; in a row come the reductions, in order of use, then the
// remaining loops over the results. How rows and loops are spread over a
// machine is up to the target: LoopNest for the host, DeviceNest for a GPU.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_NEST_H
#define TSP_LIB_KERNELS_NEST_H

#include "Reductions.h"

#include <memory>

namespace tsp {

/// A tensor and the flat buffer that it is written to. With `update`, a
/// dynamic_update_slice in place: the tensor is written to its part of the
/// buffer.
struct Target {
  mlir::Value tensor;
  mlir::Value buffer;
  mlir::Operation *update = nullptr;
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
  /// Buffers of results of the kernel that these are, or null.
  llvm::SmallVector<mlir::Value> resultBuffers;

  /// What one step meets, and the symbols of that trial.
  Trial trial;
  ElementIndex trialLoops, trialPosition;

  /// Host: the loop of ownLoops that is innermost, the accumulators being in
  /// memory, and where to divide the innermost loop.
  std::optional<unsigned> vectorLoop;
  llvm::SmallVector<int64_t> splits;
};

class Nest {
public:
  struct Range {
    int64_t lower, upper;
    int64_t size() const { return upper - lower; }
  };

  virtual ~Nest() = default;

  /// Reductions that do not fit in the rows: their results have to be in
  /// memory before this nest can be planned.
  llvm::ArrayRef<mlir::Operation *> getMisfits() const { return misfits; }
  std::vector<RowReduction> &getReductions() { return reductions; }
  /// Nests over parts of the loops that make up this one, if it has to be
  /// divided.
  std::vector<std::unique_ptr<Nest>> takeParts() { return std::move(parts); }

  int64_t getGrid() const { return grid; }

protected:
  Nest(ElementEmitter &emitter, llvm::ArrayRef<Target> targets,
       llvm::ArrayRef<Range> ranges)
      : emitter(emitter), targets(targets), loops(ranges) {}

  /// Finds out whether one loop over all elements will do, or a loop for each
  /// dim, and what has to be computed in them.
  void findWork();
  /// Replaces the nest by nests over the parts of one loop, if there are points
  /// within it.
  bool divide(unsigned loop, llvm::ArrayRef<int64_t> points,
              llvm::function_ref<std::unique_ptr<Nest>(llvm::ArrayRef<Range>)>
                  makePart);
  void unbindReductions();

  /// Computes the targets' elements at each of the indices, then stores them: a
  /// result may share the buffer of an argument.
  void emitTargets(llvm::ArrayRef<ElementIndex> indices, bool store = true);
  ElementIndex getReductionIndex(const RowReduction &row) const;
  /// Stores results of the kernel that the reduction is, at the present index.
  void storeResults(const RowReduction &row);

  ElementEmitter &emitter;
  llvm::SmallVector<Target> targets;
  /// The loops: a range for each dim, or one for all elements if flat.
  llvm::SmallVector<Range> loops;
  bool isFlat = false;
  llvm::SmallVector<unsigned> rowLoops, innerLoops;
  std::vector<RowReduction> reductions;
  llvm::SmallVector<mlir::Operation *> misfits;
  int64_t grid = 1;

  /// What an element meets, and the symbols of that trial.
  Trial elementTrial;
  ElementIndex trialIndex;
  /// While code is made: the index of each loop.
  ElementIndex loopIndex;

private:
  std::vector<std::unique_ptr<Nest>> parts;

  bool tryFlat();
  void makeTrialIndex();
  void planReduction(const Trial::Use &use);
};

/// Adds the points at which the symbol's loop has to be divided; none if there
/// are so many that it is better to choose at run time.
void addSplits(llvm::SmallVectorImpl<int64_t> &points, const Trial &trial,
               const LinearIndex &symbol);

/// How many loads walk through memory with this symbol.
int countContiguous(const Trial &trial, const LinearIndex &symbol);

} // namespace tsp

#endif // TSP_LIB_KERNELS_NEST_H
