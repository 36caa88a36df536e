//===- GemmEmit.h - pieces of the code for matrix products ------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_GEMMEMIT_H
#define TSP_LIB_KERNELS_GEMMEMIT_H

#include "tsp/Kernels/Gemm.h"

namespace tsp {

/// Copies a chunk of A, rows [row, row + rows) and contraction [k0, k0 +
/// count), to scratch; `outer` are the indices of the outer dims.
void copyA(VectorEmitter &e, const GemmSpec &spec, const GemmPlan &plan,
           mlir::ValueRange outer, mlir::Value row, mlir::Value rows,
           mlir::Value k0, mlir::Value count, mlir::Value to);

/// Copies `panels` panels of B, from column `column` on, to scratch; `lines` is
/// scratch for lines of a computed B.
void copyB(VectorEmitter &e, const GemmSpec &spec, const GemmPlan &plan,
           mlir::ValueRange outer, mlir::Value column, mlir::Value panels,
           mlir::Value k0, mlir::Value count, mlir::Value to,
           mlir::Value lines);

/// The same for operands that are computed (GemmCompute.cpp).
void computeA(VectorEmitter &e, const GemmSpec &spec, const GemmPlan &plan,
              mlir::ValueRange outer, mlir::Value row, mlir::Value rows,
              mlir::Value k0, mlir::Value count, mlir::Value to);
void computeB(VectorEmitter &e, const GemmSpec &spec, const GemmPlan &plan,
              mlir::ValueRange outer, mlir::Value column, mlir::Value panels,
              mlir::Value k0, mlir::Value count, mlir::Value to,
              mlir::Value lines);

/// An operand as the register tile reads it: two strides.
struct TileOperand {
  mlir::Value flat, base;
  mlir::Type element;
  int64_t free = 0, k = 0;
};

struct TileShape {
  int64_t lanes, mr, nv;
};

/// The register tile: mr rows of nv vectors, summed over `count` steps of k;
/// A is read by broadcasts of scalars.
VectorEmitter::Values emitTile(VectorEmitter &e, TileShape shape,
                               mlir::Type compute, const TileOperand &a,
                               const TileOperand &b, mlir::Value count,
                               mlir::ValueRange masks = {});

/// The body of one block in `rows` form.
void emitRowsBlock(
    VectorEmitter &e, const GemmSpec &spec, const GemmPlan &plan,
    mlir::Value aBase, mlir::Value bBase, mlir::Value scratchA,
    mlir::Value column,
    llvm::function_ref<void(mlir::Value vector, mlir::Value m, mlir::Value n)>
        store);

/// The same with B computed. The sums of a vector of columns are left in `sums`,
/// a vector for each row, of which `store` is given the place.
void emitComputedRowsBlock(
    VectorEmitter &e, const GemmSpec &spec, const GemmPlan &plan,
    mlir::ValueRange outer, mlir::Value scratchA, mlir::Value column,
    mlir::Value sums,
    llvm::function_ref<void(mlir::Value at, mlir::Value m, mlir::Value n)>
        store);

/// Offset of contraction index `k`.
mlir::Value depthOffset(VectorEmitter &e, const GemmSpec &spec,
                        const GemmOperand &operand, mlir::Value base,
                        mlir::Value k);

} // namespace tsp

#endif // TSP_LIB_KERNELS_GEMMEMIT_H
