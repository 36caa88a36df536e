//===- AttentionMatch.h - attention found in the dataflow -------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_FRONTEND_ATTENTIONMATCH_H
#define TSP_LIB_FRONTEND_ATTENTIONMATCH_H

#include "AttentionMask.h"

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Dialect/TSP/IR/TspDialect.h"

namespace tsp::raise {

/// A value added to the scores, times a constant.
struct Bias {
  Access access;
  double factor = 1;
};

/// What lies between the scores' contraction and the softmax.
struct ScoreForm {
  double scale = 1;
  std::optional<double> softcap;
  llvm::SmallVector<Bias> biases;
  llvm::SmallVector<Predicate> masks;
  /// The finite fill of the masks; empty while none or -inf was met.
  std::optional<double> fill;
  bool hasInfiniteFill = false;
  /// Ops from the softmax down to the contraction.
  llvm::SmallVector<mlir::Operation *> path;
  stablehlo::DotGeneralOp contraction;
  Access result;
};

/// An attention, as accesses in one index space.
struct AttentionMatch {
  IndexSpace space;
  /// The value that sdpa computes.
  mlir::Operation *root = nullptr;
  llvm::SmallVector<AtomList> rootDims;
  Access q, k, v;
  ScoreForm scores;
  EmptyRows empty = EmptyRows::Nan;
  mlir::Type elementType;
  AttentionDims dims;
  /// Ops that are dead once the root is replaced, users first.
  llvm::SmallVector<mlir::Operation *> ops;
};

/// Why something that looks like attention is not raised.
struct NearMiss {
  mlir::Operation *at = nullptr;
  std::string reason;
  explicit operator bool() const { return at; }
};

/// Matches the attention whose product with the values is `product`. Returns
/// true on success; else `miss` is set when a softmax was found.
bool matchAttention(stablehlo::DotGeneralOp product, AttentionMatch &match,
                    NearMiss &miss);

/// Peels scale, softcap, bias and masks off the scores down to a contraction.
bool peelScores(IndexSpace &space, const Access &scores, ScoreForm &form,
                NearMiss &miss);

/// The accesses of both operands of a contraction, given that of its result;
/// contracted dims get new atoms with `role`.
std::pair<Access, Access> stepContraction(IndexSpace &space,
                                          const Access &result,
                                          stablehlo::DotGeneralOp op,
                                          Role role);

/// Follows queries, keys and values up as far as they are only moved and
/// scaled, and chooses the element type of the sdpa.
bool traceOperands(AttentionMatch &match, stablehlo::DotGeneralOp product,
                   NearMiss &miss);

/// Sorts the atoms into batch, heads, query and key. False when keys and values
/// vary along different atoms.
bool assignRoles(AttentionMatch &match, NearMiss &miss);

/// Puts the sdpa in the place of what was matched.
SdpaOp buildSdpa(AttentionMatch &match, const MaskPlan &plan);

} // namespace tsp::raise

#endif // TSP_LIB_FRONTEND_ATTENTIONMATCH_H
