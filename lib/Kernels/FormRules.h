//===- FormRules.h - what each op is to the kernels of its block -*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_KERNELS_FORMRULES_H
#define TSP_LIB_KERNELS_FORMRULES_H

#include "tsp/Support/TensorTypes.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace tsp {

/// Rows of a reduction from which on threads can share them out, so that what
/// reads a row's results may be in one kernel with it.
inline constexpr int64_t kSharedRows = 16;

enum class OpClass {
  Host,        ///< stays in the host program: collectives, loops, views, data
  Source,      ///< computed from nothing: splat constant, iota
  Elementwise, ///< result[i] = f(operands[i])
  Expand,      ///< broadcast_in_dim
  Move,        ///< transpose, slice, concatenate..: elements in other places
  Reshape,     ///< a view on the host, or no code inside a kernel
  Contraction, ///< dot_general
  Reduction,   ///< reduce
  Irregular,   ///< attention, scatter, sort..: a kernel of its own
  Unknown,     ///< no kernel is made of it
};

OpClass classify(mlir::Operation *op);

/// Source, Elementwise, Expand, Move or Reshape: an op that can be computed element
/// by element inside the kernel of its consumer.
bool isLight(OpClass opClass);

/// An op that a contraction reads its operand through at no cost: by strides, or
/// by a conversion that loses nothing. A reshape, which is a view of the host of
/// what is in memory, counts where it divides dims of what may not be.
bool isOperandView(mlir::Operation *op);

/// An op that a contraction writes its result through at no cost.
bool isResultView(mlir::Operation *op);

/// Costs much more than loading a value: exp, tanh, division...
bool isExpensive(mlir::Operation *op);

/// What may be computed inside the kernels that use it, and what more than once.
class RecomputeRules {
public:
  /// True if the op that defines `use` may be computed inside the kernel of the
  /// user, false if that kernel has to find the value in a buffer.
  bool mayFuseInto(mlir::OpOperand &use);

  /// True for ops that depend on nothing and are cheap: they are computed in
  /// every kernel that uses them, and never read from memory there.
  bool isFromNothing(mlir::Operation *op);

  /// True if computing `op` in each of `kernels` kernels reads no more bytes
  /// than storing it once and loading it there.
  bool isWorthRepeating(mlir::Operation *op, int64_t kernels);

  /// True if the kernels of the contractions that use `op` compute it for
  /// themselves, element by element, rather than find it in memory: it belongs
  /// to the function of buffers that is one of their operands, and that costs
  /// less than storing the operand (FormPrologue.cpp).
  bool isInPrologue(mlir::Operation *op);

private:
  /// An operand of contractions as a function of what is in memory.
  struct Prologue {
    llvm::SetVector<mlir::Operation *> ops;
    llvm::SetVector<mlir::Value> inputs;
    /// In ops on single elements.
    int64_t cost = 0;
  };
  bool collectPrologue(mlir::Operation *op, int64_t elements,
                       Prologue &prologue);
  enum class PrologueInput {
    Computed, ///< for each element, in the kernel of the contraction
    Loaded,   ///< from a buffer
    Unfit,    ///< then the operand is better computed with it, and stored
  };
  PrologueInput classifyInput(mlir::Value value, int64_t elements,
                              const Prologue &prologue);

  /// Cost of computing `op` from nothing; above `maxCost` when it cannot be.
  int64_t costFromNothing(mlir::Operation *op);
  bool isInMemoryAnyway(mlir::Value value, mlir::Block *block, int64_t kernels);

  llvm::DenseMap<mlir::Operation *, int64_t> costs;
  llvm::DenseMap<mlir::Operation *, bool> inPrologue;
};

} // namespace tsp

#endif // TSP_LIB_KERNELS_FORMRULES_H
