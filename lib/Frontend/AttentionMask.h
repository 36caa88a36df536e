//===- AttentionMask.h - predicates as what tsp.sdpa says -------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mask is a conjunction of predicates over (batch, head, query, key). With K
// what varies along the key (and batch) only and Q what varies along the query
// (and batch) only, the normal forms are
//
//   K <= Q        causal, with positions K and Q (strictness goes into Q)
//   K >= Q - c    with a K <= Q: window c + 1
//   K == Q        segments
//   p(key)        a mask [B|1,1,1,Skv]
//   p(query)      segments: rows that see no key get an id that no key has
//   the rest      a mask over the dims it varies along
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_FRONTEND_ATTENTIONMASK_H
#define TSP_LIB_FRONTEND_ATTENTIONMASK_H

#include "Projection.h"

namespace tsp::raise {

/// Key lets itself be seen where the accessed i1 is true (false when negated).
struct Predicate {
  Access access;
  bool negated = false;
};

/// Two sides that are compared, and the integer type in which they are.
struct Sides {
  Linear query, key;
  mlir::Type type;
};

struct MaskPlan {
  std::optional<Sides> positions, segments;
  bool causal = false;
  std::optional<int64_t> window;
  llvm::SmallVector<Predicate> queryOnly, keyOnly, others;
};

/// What sdpa's operands are indexed by.
struct AttentionDims {
  AtomList batch, kvHeads, groups, query, key, features, valueFeatures;
  AtomList heads() const;
};

struct MaskValues {
  mlir::Value qPositions, kvPositions, qSegments, kvSegments, mask;
};

/// Splits a predicate into the conjuncts it is made of.
void addConjuncts(IndexSpace &space, Predicate predicate,
                  llvm::SmallVectorImpl<Predicate> &out);

/// Sorts the conjuncts by form; the roles of atoms have to be known. With
/// `singleQuery` there is one query, so bounds need not vary along queries.
MaskPlan planMask(IndexSpace &space, llvm::ArrayRef<Predicate> conjuncts,
                  bool singleQuery);

MaskValues emitMask(mlir::OpBuilder &builder, mlir::Location loc,
                    IndexSpace &space, const MaskPlan &plan,
                    const AttentionDims &dims);

/// The value over [B|1, Hq|1, Sq|1, Skv], of the dims that it varies along.
mlir::Value emitOverScores(
    mlir::OpBuilder &builder, mlir::Location loc, IndexSpace &space,
    llvm::ArrayRef<Access> accesses, const AttentionDims &dims,
    llvm::function_ref<mlir::Value(llvm::ArrayRef<mlir::Value>)> combine);

} // namespace tsp::raise

#endif // TSP_LIB_FRONTEND_ATTENTIONMASK_H
