//===- SortedRows.h - what sort and top_k sort by ---------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_SORTEDROWS_H
#define TSP_LIB_KERNELS_SORTEDROWS_H

#include "tsp/Kernels/ElementEmitter.h"

namespace tsp {

/// The rows of an op that sorts.
struct SortedRows {
  explicit SortedRows(mlir::Operation *op);

  /// How many elements of a sorted row are results.
  int64_t getNumKept() const;

  mlir::Operation *op;
  llvm::SmallVector<int64_t> shape;
  /// Element types of what is moved about.
  llvm::SmallVector<mlir::Type> types;
  int64_t dim = 0, size = 1, numRows = 1;
};

/// Code for the elements of one row.
class SortedRowCode {
public:
  SortedRowCode(ElementEmitter &emitter, const SortedRows &rows,
                llvm::ArrayRef<mlir::Value> outputs, const LinearIndex &row);

protected:
  using Values = llvm::SmallVector<mlir::Value>;

  mlir::Location loc() { return emitter.getLoc(); }
  /// The elements to sort at position `i` of the row.
  Values emitInputs(const LinearIndex &i);
  /// Whether `a` has to be before `b`.
  mlir::Value emitIsBefore(mlir::ValueRange a, mlir::ValueRange b);

  Values loadAll(llvm::ArrayRef<mlir::Value> buffers, const LinearIndex &place);
  void storeAll(mlir::ValueRange values, llvm::ArrayRef<mlir::Value> buffers,
                const LinearIndex &place);
  /// Stores the results at position `i` of the row.
  void storeResult(mlir::ValueRange values, const LinearIndex &i);

  ElementEmitter &emitter;
  mlir::OpBuilder &builder;
  const SortedRows &rows;
  llvm::ArrayRef<mlir::Value> outputs;

private:
  ElementIndex at(const LinearIndex &i) const;
  mlir::Value toOrder(mlir::Value value, mlir::Type type);

  ElementIndex rowIndex;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_SORTEDROWS_H
