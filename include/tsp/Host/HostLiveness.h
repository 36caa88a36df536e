//===- HostLiveness.h - lifetimes in the program of one rank ----*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_HOST_HOSTLIVENESS_H
#define TSP_HOST_HOSTLIVENESS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace tsp {

/// Program points, both ends included.
struct Interval {
  int64_t begin = 0, end = 0;
  bool meets(const Interval &other) const {
    return begin <= other.end && other.begin <= end;
  }
  void include(const Interval &other) {
    begin = std::min(begin, other.begin);
    end = std::max(end, other.end);
  }
};

/// Lifetimes of the values of an entry on one line of program points: ops are
/// numbered in the order of the text; an op with regions has a number before and
/// one after them. A value defined outside of a loop and used inside lives until
/// the loop's end, so one interval a value suffices.
///
/// Values that are the same bytes have one *root*: a reshape is its operand, a
/// value that a loop only hands on is the loop's operand.
class HostLiveness {
public:
  explicit HostLiveness(mlir::func::FuncOp entry);

  mlir::Value getRoot(mlir::Value value) const;
  Interval getLife(mlir::Value root) const { return lives.lookup(root); }

  /// All roots in program order.
  mlir::ArrayRef<mlir::Value> getRoots() const { return roots; }

  /// The operand whose buffer a launch's or an all_reduce's result may take, as
  /// a root, or null.
  mlir::Value getTied(mlir::Value result) const { return ties.lookup(result); }

  /// Numbers of an op: where its operands are read, and where its results start.
  int64_t getEnter(mlir::Operation *op) const { return enters.lookup(op); }
  int64_t getExit(mlir::Operation *op) const { return exits.lookup(op); }
  int64_t getBegin(mlir::Block *block) const { return begins.lookup(block); }

  /// Keeps `root` alive until `point`.
  void extend(mlir::Value root, int64_t point);

  /// Whether ops of a fold loop that run ahead make the root for later ones: two of
  /// it are alive at the same time.
  bool isTwofold(mlir::Value root) const { return twofold.contains(root); }

private:
  void findTwofold(mlir::func::FuncOp entry);
  void findRoots(mlir::func::FuncOp entry);
  void number(mlir::Block &block);
  void addUse(mlir::Value value, mlir::Operation *user, int64_t point);
  void findTies(mlir::func::FuncOp entry);

  llvm::DenseMap<mlir::Value, mlir::Value> sameBytes, ties;
  llvm::DenseSet<mlir::Value> twofold;
  llvm::DenseMap<mlir::Value, Interval> lives;
  llvm::DenseMap<mlir::Operation *, int64_t> enters, exits;
  llvm::DenseMap<mlir::Block *, int64_t> begins;
  llvm::SmallVector<mlir::Value> roots;
  int64_t next = 0;
};

/// Whether the op is a collective on tensors, started or not.
bool isCollective(mlir::Operation *op);

/// The op that started the transfer `wait` ends, or null when the program is
/// malformed.
mlir::Operation *getStart(mlir::Operation *wait);

/// Attributes of a kernel, whether it is still a function on tensors or already
/// one on pointers.
mlir::Operation *lookupKernel(mlir::Operation *launch);
bool mustTie(mlir::Operation *kernel);

/// Bytes of a value: i1, i4 and ui4 take one byte an element.
int64_t getElementBytes(mlir::Type elementType);
int64_t getBytes(mlir::Type shapedType);

} // namespace tsp

#endif // TSP_HOST_HOSTLIVENESS_H
