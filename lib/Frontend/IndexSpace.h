//===- IndexSpace.h - values as functions of named indices ------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Raising proves what a program computes by following the indices of values
// through transposes, reshapes, broadcasts and slices. An index is an *atom*
// with a size; a dim of a value is indexed by a list of atoms, outer to inner.
// A reshape that splits a dim splits its atom, so that `[B, S, H * E]` and
// `[B, S, H, E]` are the same function of the atoms b, s, h, e.
//
//===----------------------------------------------------------------------===//

#ifndef TSP_LIB_FRONTEND_INDEXSPACE_H
#define TSP_LIB_FRONTEND_INDEXSPACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

namespace tsp::raise {

using Atom = int;
/// Atoms that index one dim, outer to inner; empty for a dim of size 1.
using AtomList = llvm::SmallVector<Atom, 2>;
using AtomSet = llvm::SmallSetVector<Atom, 8>;

/// What an atom counts in an attention.
enum class Role { Unknown, Batch, KvHead, Group, Query, Key, Feature };

class IndexSpace {
public:
  /// A new atom, or the empty list when `size` is 1.
  AtomList create(int64_t size, Role role = Role::Unknown);
  /// One new list for each dim of `type`.
  llvm::SmallVector<AtomList> create(mlir::RankedTensorType type);

  int64_t sizeOf(Atom atom) const { return nodes[atom].size; }
  int64_t sizeOf(llvm::ArrayRef<Atom> list) const;
  Role roleOf(Atom atom) const { return nodes[atom].role; }
  void setRole(llvm::ArrayRef<Atom> list, Role role);

  /// The list in atoms that are not split.
  AtomList resolve(llvm::ArrayRef<Atom> list) const;
  /// The list cut into one list for each size in `shape`, splitting atoms
  /// where the cut goes through them. Nothing when it does not work out.
  std::optional<llvm::SmallVector<AtomList>>
  regroup(llvm::ArrayRef<Atom> list, llvm::ArrayRef<int64_t> shape);

private:
  struct Node {
    int64_t size;
    Role role;
    Atom outer = -1, inner = -1;
  };
  void split(Atom atom, int64_t outerSize);

  std::vector<Node> nodes;
};

/// How one dim of a value is indexed: start + clamp(dynamic) + stride * (the
/// row-major number of `atoms`), where clamp is to [0, dynamicMax].
struct Axis {
  AtomList atoms;
  int64_t start = 0, stride = 1;
  mlir::Value dynamic;
  int64_t dynamicMax = 0;
};

/// A value with an index for each of its dims.
struct Access {
  mlir::Value value;
  llvm::SmallVector<Axis> axes;

  Access() = default;
  Access(mlir::Value value, llvm::ArrayRef<AtomList> lists);

  mlir::RankedTensorType getType() const {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }
  /// The same index on another value of the same rank (or on a scalar).
  Access with(mlir::Value other) const;
  /// Unsplit atoms of each dim.
  llvm::SmallVector<AtomList> lists(const IndexSpace &space) const;
  AtomSet atoms(const IndexSpace &space) const;
  bool operator==(const Access &other) const;
};

/// The elements of `value` when an op `constant` makes it, else null.
mlir::DenseElementsAttr getConstant(mlir::Value value);

/// The access of the operand when the value is made by an op that only moves
/// elements: reshape, transpose, broadcast, a convert that changes nothing, and
/// with `slices` also slice, dynamic_slice and reverse.
std::optional<Access> stepUp(IndexSpace &space, const Access &access,
                             bool slices);

/// `value` in another shape, in place of a reshape that made it.
mlir::Value reshapeTo(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, llvm::ArrayRef<int64_t> shape);

/// `value`, whose dims are indexed by `dims`, as a value whose dims are indexed
/// by `groups`: reshaped, transposed and broadcast along atoms it lacks.
mlir::Value arrange(mlir::OpBuilder &builder, mlir::Location loc,
                    const IndexSpace &space, mlir::Value value,
                    llvm::ArrayRef<AtomList> dims,
                    llvm::ArrayRef<AtomList> groups);

} // namespace tsp::raise

#endif // TSP_LIB_FRONTEND_INDEXSPACE_H
