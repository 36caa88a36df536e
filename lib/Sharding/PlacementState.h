//===- PlacementState.h - what a local value is to one mesh axis *- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The checker's own view of the program of one rank: it shares nothing with the
// partitioner but the placements that arguments and results promise.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_SHARDING_PLACEMENTSTATE_H
#define TSP_LIB_SHARDING_PLACEMENTSTATE_H

#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Dialect/TSP/IR/TspDialect.h"

#include <string>

namespace tsp::check {

/// What the ranks along one mesh axis hold of a value.
struct State {
  enum Kind {
    Replicated, ///< equal values
    Sharded,    ///< parts of `dim`, by `layout` and `minor`
    Partial,    ///< values that `combine` makes into the true one
    Varying,    ///< values that differ in a way that is not tracked
    LookedUp ///< rows of a sharded table: wrong where another rank has the row
  };
  Kind kind = Replicated;
  int64_t dim = -1;
  CombineKind combine = CombineKind::Sum;
  Layout layout = Layout::Contiguous;
  /// Axes that split what this one leaves of the dim, the minor one last.
  llvm::SmallVector<mlir::StringAttr, 1> minor;

  static State ofKind(Kind kind) {
    State state;
    state.kind = kind;
    return state;
  }
  static State replicated() { return State(); }
  static State sharded(int64_t dim, Layout layout = Layout::Contiguous) {
    State state = ofKind(Sharded);
    state.dim = dim;
    state.layout = layout;
    return state;
  }
  static State partial(CombineKind combine) {
    State state = ofKind(Partial);
    state.combine = combine;
    return state;
  }
  static State varying() { return ofKind(Varying); }
  static State lookedUp() { return ofKind(LookedUp); }

  bool isShardedIn(int64_t d) const { return kind == Sharded && dim == d; }
  /// The same parts, now of dim `d`.
  State movedTo(int64_t d) const {
    State state = *this;
    state.dim = d;
    return state;
  }
  bool operator==(const State &o) const {
    return kind == o.kind && dim == o.dim &&
           (kind != Partial || combine == o.combine) && layout == o.layout &&
           minor == o.minor;
  }
  bool operator!=(const State &o) const { return !(*this == o); }
  std::string str() const;
};

/// The state of the results, or what is wrong with the op.
struct Transfer {
  State state;
  std::string error;
  Transfer(State state) : state(state) {}
  static Transfer fail(std::string error) {
    Transfer transfer{State()};
    transfer.error = std::move(error);
    return transfer;
  }
};

/// Whether the value is the same along dim `dim`, as far as can be seen.
bool isConstantAlong(mlir::Value value, int64_t dim, unsigned depth = 12);

/// What the results of an op without control flow are for the states of its
/// operands, on mesh axis `axis`.
Transfer transfer(mlir::Operation *op, llvm::ArrayRef<State> operands,
                  llvm::StringRef axis);

/// What flows together from two ways: the weaker of both.
State join(const State &a, const State &b, mlir::Value valueOfA);

} // namespace tsp::check

#endif // TSP_LIB_SHARDING_PLACEMENTSTATE_H
