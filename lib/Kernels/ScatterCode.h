//===- ScatterCode.h - code of scatter's updates ----------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_SCATTERCODE_H
#define TSP_LIB_KERNELS_SCATTERCODE_H

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Kernels/ElementEmitter.h"

namespace tsp {

class ScatterCode {
public:
  ScatterCode(ElementEmitter &emitter, stablehlo::ScatterOp op,
              llvm::ArrayRef<mlir::Value> outputs);

  /// Applies all updates, in order.
  void emit();

  /// Leaves out all updates but those to elements of one index along this dim
  /// of the input, which no scatter index moves along.
  void restrict(int64_t dim, const LinearIndex &index);
  /// Leaves out updates to elements for which `test` gives false.
  using Test = std::function<mlir::Value(llvm::ArrayRef<LinearIndex>)>;
  void restrict(Test test) { isWanted = std::move(test); }

  /// Whether no scatter index moves along a dim of the input.
  bool isFree(int64_t dim) const;

private:
  LinearIndex emitStart(llvm::ArrayRef<LinearIndex> batch, unsigned component);
  mlir::Value emitIsInside(mlir::Value condition, const LinearIndex &index,
                           int64_t size);
  void emitWindow(llvm::ArrayRef<LinearIndex> batch);
  void emitElement(llvm::ArrayRef<LinearIndex> batch,
                   llvm::ArrayRef<LinearIndex> window,
                   llvm::ArrayRef<LinearIndex> start);
  void emitUpdate(llvm::ArrayRef<LinearIndex> updateIndex,
                  llvm::ArrayRef<LinearIndex> index);

  ElementEmitter &emitter;
  stablehlo::ScatterOp op;
  stablehlo::ScatterDimensionNumbersAttr dims;
  llvm::ArrayRef<mlir::Value> outputs;
  llvm::ArrayRef<int64_t> updateShape, shape;
  llvm::SmallVector<int64_t> windowDims, scatterDims;
  /// For each dim of the input, the dim of the updates that moves along it.
  llvm::SmallVector<int64_t> windowDimOf;
  /// For each dim of the updates, its only index, if it has one.
  llvm::SmallVector<std::optional<LinearIndex>> fixed;
  Test isWanted;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_SCATTERCODE_H
