//===- Reductions.h - reduce, reduce_window and dot_general -----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_REDUCTIONS_H
#define TSP_LIB_KERNELS_REDUCTIONS_H

#include "tsp/Kernels/ElementEmitter.h"

namespace tsp {

/// What changes no result of a reduction by `reducer`, as a value of `type`;
/// null where the op does not tell, or is null.
mlir::TypedAttr getNeutralElement(mlir::Operation *reducer, mlir::Type type);

/// Whether an element of the op's results is a loop over other elements.
bool isReduction(mlir::Operation *op);

/// An op whose results are accumulated over some loops. Accumulators have the
/// compute type of the results, so that narrow floats are summed in f32.
class Reduction {
public:
  explicit Reduction(mlir::Operation *op);

  mlir::Operation *getOp() const { return op; }
  /// Sizes of the loops that accumulate, outermost first.
  llvm::ArrayRef<int64_t> getExtents() const { return extents; }
  llvm::ArrayRef<int64_t> getResultShape() const;
  /// Element types in which a buffer keeps the accumulators.
  llvm::ArrayRef<mlir::Type> getAccumulatorTypes() const { return types; }

  llvm::SmallVector<mlir::Value> emitInits(ElementEmitter &emitter) const;
  /// The accumulators after one more element.
  llvm::SmallVector<mlir::Value>
  emitStep(ElementEmitter &emitter, mlir::ValueRange accumulators,
           llvm::ArrayRef<LinearIndex> result,
           llvm::ArrayRef<LinearIndex> position) const;
  /// Accumulators of a part of the elements, to which the inits are not added:
  /// what changes no sum. The inits, where the op does not tell.
  llvm::SmallVector<mlir::Value> emitNeutral(ElementEmitter &emitter) const;
  /// The accumulators of two parts of the elements, `a` having the first.
  llvm::SmallVector<mlir::Value> emitMerge(ElementEmitter &emitter,
                                           mlir::ValueRange a,
                                           mlir::ValueRange b) const;
  /// Whether parts may be any elements, not only neighbours, and be merged in
  /// any order.
  bool isCommutative() const;
  /// The value of a result when all elements have been added.
  mlir::Value emitResult(ElementEmitter &emitter, unsigned number,
                         mlir::Value accumulator) const;
  /// All steps, in order; the innermost loop is divided at `splits`.
  llvm::SmallVector<mlir::Value>
  emitLoops(ElementEmitter &emitter, llvm::ArrayRef<LinearIndex> result,
            llvm::ArrayRef<int64_t> splits) const;

private:
  mlir::Operation *op;
  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<mlir::Type> types;
};

/// Loops over `extents`, outermost first, carrying `inits`; the innermost is
/// divided at `splits`.
llvm::SmallVector<mlir::Value> emitLoopsOver(
    ElementEmitter &emitter, llvm::ArrayRef<int64_t> extents,
    llvm::ArrayRef<int64_t> splits, mlir::ValueRange inits,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(
        llvm::ArrayRef<LinearIndex>, mlir::ValueRange)>
        body);

/// Accumulators and elements through the body of a reduce or reduce_window;
/// narrow floats are not rounded in between where the body is one op.
llvm::SmallVector<mlir::Value> emitCombine(ElementEmitter &emitter,
                                           mlir::Region &body,
                                           mlir::ValueRange accumulators,
                                           mlir::ValueRange elements);

/// The results' elements by a loop where they are asked for.
llvm::SmallVector<mlir::Value>
emitReductionInPlace(ElementEmitter &emitter, mlir::Operation *op,
                     llvm::ArrayRef<LinearIndex> index);

} // namespace tsp

#endif // TSP_LIB_KERNELS_REDUCTIONS_H
