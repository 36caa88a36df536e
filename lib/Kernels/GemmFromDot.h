//===- GemmFromDot.h - dot_general as a matrix product ----------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GEMMFROMDOT_H
#define TSP_LIB_KERNELS_GEMMFROMDOT_H

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Kernels/Gemm.h"
#include "tsp/Kernels/StridedView.h"

namespace tsp {

/// A dot_general taken apart. Each loop of the product has one stride in the
/// buffer of the result.
struct DotProduct {
  GemmSpec spec; ///< without the buffers
  llvm::SmallVector<int64_t> outerStrides;
  int64_t mStride = 0, nStride = 0;
  mlir::Value baseA, baseB; ///< what spec.a and spec.b read
  int64_t offsetA = 0, offsetB = 0;
};

/// Whether the product can be computed in f32 or f64, and in which.
mlir::Type dotComputeType(stablehlo::DotGeneralOp dot);

/// Whether the product is one of 8-bit integers with a sign, in 32 bits.
bool isProductOfBytes(stablehlo::DotGeneralOp dot);

/// Normalises a dot_general without empty dims; `dims` are those of
/// its result in the buffer that it is stored to, by which the loops are
/// chosen.
DotProduct takeApart(stablehlo::DotGeneralOp dot, mlir::Type compute,
                     llvm::ArrayRef<StridedDim> dims);

} // namespace tsp

#endif // TSP_LIB_KERNELS_GEMMFROMDOT_H
