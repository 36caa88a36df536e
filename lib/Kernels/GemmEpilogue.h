//===- GemmEpilogue.h - what a kernel does with a product -------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GEMMEPILOGUE_H
#define TSP_LIB_KERNELS_GEMMEPILOGUE_H

#include "GemmFromDot.h"
#include "tsp/Kernels/ElementEmitter.h"
#include "tsp/Kernels/Kernels.h"

namespace tsp {

/// Whether each element of each result is computed from the element of `dot` at
/// the same place and from what is in memory.
bool isEpilogue(mlir::ValueRange results, stablehlo::DotGeneralOp dot);

/// Computes the results of a kernel from finished pieces of rows, element by
/// element, in loops that LLVM vectorises.
class GemmEpilogue {
public:
  /// `tensorBody` is the kernel's block in tensor form, `block` the new one.
  GemmEpilogue(stablehlo::DotGeneralOp dot, const DotProduct &product,
               mlir::Block &tensorBody, const KernelBuffers &buffers,
               mlir::Block *block, int64_t lanes);

  GemmStore getStore();
  bool failed() const { return emitter.failed(); }

private:
  void storeRow(VectorEmitter &e, const GemmRow &row);
  void storeElement(VectorEmitter &e, const GemmRow &row, mlir::Value x);
  /// Place of an element, in row-major order of the results.
  LinearIndex placeOf(VectorEmitter &e, const GemmRow &row, mlir::Value x);

  stablehlo::DotGeneralOp dot;
  const DotProduct &product;
  int64_t lanes; ///< of the vectors to be made
  ElementEmitter emitter;
  /// Results and their flat buffers.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> targets;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_GEMMEPILOGUE_H
