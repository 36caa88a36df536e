//===- Projection.h - what a value depends on, and smaller forms *- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Masks are written on whole [.., Sq, Skv] shapes, from values that vary along
// fewer dims. `varies` finds the atoms a value depends on; `project` rebuilds
// it on just those; `linearize` writes an integer value as a sum of indices,
// other values and a constant.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_FRONTEND_PROJECTION_H
#define TSP_LIB_FRONTEND_PROJECTION_H

#include "IndexSpace.h"

#include "llvm/ADT/MapVector.h"

namespace tsp::raise {

/// The number that every element of `value` is, if that is known.
std::optional<double> getSplat(mlir::Value value);

/// The atoms that the accessed element may depend on.
AtomSet varies(IndexSpace &space, const Access &access);

/// The accessed value with one dim for each atom in `atoms` (not split, with
/// all of `varies`).
mlir::Value project(mlir::OpBuilder &builder, mlir::Location loc,
                    IndexSpace &space, const Access &access,
                    llvm::ArrayRef<Atom> atoms);

/// constant + sum of coefficient * atom + sum of coefficient * term.
struct Linear {
  struct Term {
    Access access;
    int64_t coefficient;
    /// When not negative the value is clamped to [0, clampMax].
    int64_t clampMax = -1;
  };
  int64_t constant = 0;
  llvm::SmallMapVector<Atom, int64_t, 4> atoms;
  llvm::SmallVector<Term, 4> terms;

  bool sameTerms(const Linear &other) const;
  void negate();
};

/// Writes the accessed value, of signed integers, as a linear form; what is no
/// sum becomes a term.
Linear linearize(IndexSpace &space, const Access &access);

/// a - b.
Linear subtract(Linear a, const Linear &b);

/// The linear form as a value of element type `type` with a dim for each atom.
mlir::Value emitLinear(mlir::OpBuilder &builder, mlir::Location loc,
                       IndexSpace &space, const Linear &linear,
                       llvm::ArrayRef<Atom> atoms, mlir::Type type);

/// A constant of which each element is `number`.
mlir::Value emitSplat(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::RankedTensorType type, double number);

} // namespace tsp::raise

#endif // TSP_LIB_FRONTEND_PROJECTION_H
