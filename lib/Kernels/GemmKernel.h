//===- GemmKernel.h - kernels that are a matrix product ---------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GEMMKERNEL_H
#define TSP_LIB_KERNELS_GEMMKERNEL_H

#include "GemmFromDot.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tsp {

/// A kernel whose work is one dot_general, whatever machine runs it.
struct GemmKernel {
  stablehlo::DotGeneralOp dot;
  DotProduct product;
  /// What product.baseA and baseB are; null: computed (GemmPrologue).
  mlir::BlockArgument a, b;
  /// Where the kernel only moves and converts the product: the element types
  /// that it is rounded to, one after the other. Else elementwise ops read it
  /// at their own place.
  std::optional<llvm::SmallVector<mlir::Type>> roundings;
};

/// Takes apart a kernel in tensor form that is one product of floats, or, where
/// `takesBytes`, of 8-bit integers with sums of 32 bits.
std::optional<GemmKernel> matchGemmKernel(mlir::func::FuncOp kernel,
                                          bool takesBytes = false);

} // namespace tsp

#endif // TSP_LIB_KERNELS_GEMMKERNEL_H
