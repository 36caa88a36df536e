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
// An operand that is computed (dequantised, scaled..) is computed where it is
// copied, by loops of scalars that LLVM makes vectors of; with few rows B is
// copied in parts that stay in the first cache, or multiplied as it is computed.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_KERNELS_GEMM_H
#define TSP_KERNELS_GEMM_H

#include "tsp/Kernels/VectorEmitter.h"

#include "llvm/Support/MathExtras.h"

#include <functional>

namespace tsp {

/// A place in an operand: values of type index. The last index of k may be in
/// two parts: `ahead` (null: zero) is below the operand's `run`, of which
/// k.back() then is a multiple.
struct GemmPlace {
  llvm::SmallVector<mlir::Value> outer;
  mlir::Value free; ///< m (A) or n (B)
  llvm::SmallVector<mlir::Value> k;
  mlir::Value ahead;
};

/// One side of the product: a flat buffer and strides in elements; or computed
/// element by element, from buffers that `compute` knows, the strides being
/// those of a buffer that would hold the result.
struct GemmOperand {
  mlir::Value flat;   ///< null: computed
  mlir::Type element; ///< element type of the tensor
  llvm::SmallVector<int64_t> outer;
  int64_t free = 0; ///< stride of m (A) or n (B)
  llvm::SmallVector<int64_t> k;

  /// An element, of the type of the product's computation.
  std::function<mlir::Value(mlir::OpBuilder &, const GemmPlace &)> compute;
  /// Steps of the last dim of k in which `compute` divides no index; 0: all.
  int64_t run = 0;

  bool isComputed() const { return bool(compute); }
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
  mlir::Type compute;           ///< f32 or f64 (on a GPU also i32)
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
  int64_t lineSteps = 0; ///< steps of k of a computed line of B, to be turned
  int64_t scratchA = 0, scratchB = 0, scratchC = 0; ///< byte offsets
  int64_t scratchLines = 0;
  int64_t scratchBytes = 0;

  int64_t nr() const { return nv * lanes; }
  /// Elements between computed lines: an odd number of vectors.
  int64_t linePitch() const {
    return (llvm::divideCeil(lineSteps, lanes) | 1) * lanes;
  }
  int64_t steps(const GemmSpec &spec) const; ///< copies per block of C
};

GemmPlan planGemm(const GemmSpec &spec, const VectorTarget &target);

/// Writes the blocks [begin, end) of the grid.
void emitGemm(VectorEmitter &e, const GemmSpec &spec, const GemmPlan &plan,
              mlir::Value begin, mlir::Value end, mlir::Value scratch,
              const GemmStore &store);

} // namespace tsp

#endif // TSP_KERNELS_GEMM_H
