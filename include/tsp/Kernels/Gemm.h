//===- Gemm.h - code for matrix products ------------------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C[o.., m, n] = sum over k.. of A[o.., m, k..] B[o.., k.., n], each side
// being strides over a flat buffer. `planGemm` chooses the loops and blocks
// from the shapes, the vector unit and nothing else; `emitGemm` writes them.
//
// The grid counts blocks of C:
//
//   (outer dims of B) x (chunks of nc columns) x (other outer dims) x (chunks
//   of mc rows)
//
// `packed` (the rule):   a chunk of B is copied to scratch as panels of nr
//   columns, kept for the blocks of rows that follow, and a register tile of
//   mr x nr is summed over blocks of kc. A is read in place by broadcasts of
//   scalars, or through a copy when its layout or type is not good for that.
// `direct` (few rows):   the same tile, B read in place.
// `rows` (few rows, B with k innermost): dot products of rows, one vector of
//   columns at a time.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_KERNELS_GEMM_H
#define TSP_KERNELS_GEMM_H

#include "tsp/Kernels/VectorEmitter.h"
#include <functional>

namespace tsp {

/// One side of the product: a flat buffer and strides in elements.
struct GemmOperand {
  mlir::Value flat;
  mlir::Type element; ///< element type of the tensor
  llvm::SmallVector<int64_t> outer;
  int64_t free = 0; ///< stride of m (A) or n (B)
  llvm::SmallVector<int64_t> k;
};

/// A finished piece of a row of C, and where it belongs.
struct GemmRow {
  mlir::Value sums, at; ///< buffer of the computation's type, first element
  llvm::SmallVector<mlir::Value> outer;
  mlir::Value m, n;  ///< row, and column of the first element
  int64_t width;     ///< elements, of which those up to `count` are columns
  mlir::Value count; ///< null: all of them
};

/// What becomes of a finished piece of a row.
using GemmStore = std::function<void(VectorEmitter &, const GemmRow &)>;

struct GemmSpec {
  llvm::SmallVector<int64_t> outer; ///< sizes
  int64_t m = 1, n = 1;
  llvm::SmallVector<int64_t> k; ///< sizes, at least one
  mlir::Type compute;           ///< f32 or f64
  GemmOperand a, b;

  int64_t depth() const;
};

/// How an operand gets into the register tile.
enum class GemmCopy {
  none,      ///< read in place
  lines,     ///< copied along a free or contracted dim of stride 1
  transpose, ///< copied, turned from k innermost to n innermost
  scalar     ///< copied element by element
};

struct GemmPlan {
  enum Kind { packed, direct, rows } kind = packed;
  int64_t lanes = 16;       ///< of one vector
  int64_t mr = 12, nv = 2;  ///< register tile: rows, vectors of columns
  int64_t mc = 12, nc = 32; ///< rows and columns of a block of C
  int64_t ks = 1;           ///< contraction per copy of A and B
  int64_t kc = 1;           ///< contraction per pass of the register tile
  GemmCopy copyA = GemmCopy::none, copyB = GemmCopy::lines;
  bool aColumns = false; ///< the copy of A has m innermost
  int64_t lda = 0;       ///< elements between lines of the copy of A
  int64_t panel = 0;     ///< elements of one panel of the copy of B
  int64_t rowChunks = 1, columnChunks = 1, grid = 1;
  int64_t scratchA = 0, scratchB = 0, scratchC = 0; ///< byte offsets
  int64_t scratchBytes = 0;

  int64_t nr() const { return nv * lanes; }
  int64_t steps(const GemmSpec &spec) const; ///< copies per block of C
};

GemmPlan planGemm(const GemmSpec &spec, const VectorTarget &target);

/// Writes the blocks [begin, end) of the grid.
void emitGemm(VectorEmitter &e, const GemmSpec &spec, const GemmPlan &plan,
              mlir::Value begin, mlir::Value end, mlir::Value scratch,
              const GemmStore &store);

} // namespace tsp

#endif // TSP_KERNELS_GEMM_H
