//===- DimClasses.h - dims that are sharded together ------------*- C++ -*-===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TSP_SHARDING_DIMCLASSES_H
#define TSP_SHARDING_DIMCLASSES_H

#include "tsp/Sharding/ShardingRule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tsp {

/// The classes of dims of a function: dims are in one class when a sharding
/// rule ties them together, directly or through other values. A dim that
/// reshapes take apart (576 = 3 x 3 x 64) is a sequence of classes, major to
/// minor.
class DimClasses {
public:
  explicit DimClasses(mlir::func::FuncOp func);

  /// The class along which the dim can be sharded: its first one of a size
  /// other than 1; -1 when the dim has size 1.
  int majorClass(mlir::Value value, int64_t dim);
  /// Number of elements of a class.
  int64_t size(int cls) { return nodes[find(cls)].size; }

private:
  struct Node {
    int64_t size;
    int parent;
    llvm::SmallVector<int> children;
  };

  int addNode(int64_t size);
  int find(int node);
  /// The classes that make up `node`, major to minor.
  void leaves(int node, llvm::SmallVectorImpl<int> &out);
  /// Makes two sequences of equal size the same, splitting where needed; stops
  /// at the first place where neither size divides the other.
  void unify(llvm::ArrayRef<int> a, llvm::ArrayRef<int> b);
  void unifyValues(mlir::Value a, mlir::Value b);
  llvm::SmallVector<int> &dimsOf(mlir::Value value);
  void visit(mlir::Operation *op);

  std::vector<Node> nodes;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int>> dims;
};

} // namespace tsp

#endif // TSP_SHARDING_DIMCLASSES_H
