//===- GemmResults.h - what a kernel does with a product --------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GEMMRESULTS_H
#define TSP_LIB_KERNELS_GEMMRESULTS_H

#include "GemmKernel.h"
#include "tsp/Kernels/ElementEmitter.h"

namespace tsp {

/// Computes the results of a kernel from finished sums of its product.
class GemmResults {
public:
  /// A place in the product: values of type index.
  struct Place {
    llvm::SmallVector<mlir::Value> outer;
    mlir::Value m, n;
  };

  /// `tensorBody` is the kernel's block in tensor form, `block` the new one.
  GemmResults(const GemmKernel &kernel, mlir::Block &tensorBody,
              mlir::ValueRange inputs, mlir::ValueRange outputs,
              mlir::Block *block);

  /// Stores the results of elements that follow each other along n. All are
  /// computed before the first is stored, so that reads and writes of memory
  /// can be joined.
  void store(mlir::OpBuilder &at, const Place &place, mlir::ValueRange sums);
  bool failed() const { return emitter.failed(); }

private:
  /// The place of an element in the buffers of the results.
  LinearIndex placeOf(const Place &place, int64_t count);

  stablehlo::DotGeneralOp dot;
  const DotProduct &product;
  ElementEmitter emitter;
  /// Results and their flat buffers.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> targets;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_GEMMRESULTS_H
