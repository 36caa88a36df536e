//===- DimClasses.cpp - dims that are sharded together --------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tsp/Sharding/DimClasses.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;

DimClasses::DimClasses(func::FuncOp func) {
  func.walk<WalkOrder::PreOrder>([&](Operation *op) { visit(op); });
}

int DimClasses::majorClass(Value value, int64_t dim) {
  SmallVector<int> list;
  leaves(dimsOf(value)[dim], list);
  for (int node : list)
    if (nodes[node].size != 1)
      return node;
  return -1;
}

int DimClasses::addNode(int64_t size) {
  nodes.push_back({size, (int)nodes.size(), {}});
  return nodes.size() - 1;
}

int DimClasses::find(int node) {
  while (nodes[node].parent != node)
    node = nodes[node].parent = nodes[nodes[node].parent].parent;
  return node;
}

void DimClasses::leaves(int node, SmallVectorImpl<int> &out) {
  node = find(node);
  if (nodes[node].children.empty()) {
    out.push_back(node);
    return;
  }
  for (int child : SmallVector<int>(nodes[node].children))
    leaves(child, out);
}

void DimClasses::unify(ArrayRef<int> first, ArrayRef<int> second) {
  SmallVector<int> a, b;
  for (int node : first)
    leaves(node, a);
  for (int node : second)
    leaves(node, b);
  // As stacks, the major class on top.
  std::reverse(a.begin(), a.end());
  std::reverse(b.begin(), b.end());
  auto split = [&](SmallVectorImpl<int> &stack, int64_t major) {
    int node = stack.pop_back_val();
    int64_t minor = nodes[node].size / major;
    int high = addNode(major), low = addNode(minor);
    nodes[node].children = {high, low};
    stack.push_back(low);
    stack.push_back(high);
  };
  // A split may have changed what lies deeper in the stacks.
  auto refresh = [&](SmallVectorImpl<int> &stack) {
    while (!stack.empty()) {
      SmallVector<int> list;
      leaves(stack.back(), list);
      if (list.size() == 1) {
        stack.back() = list[0];
        if (nodes[list[0]].size != 1)
          return;
        stack.pop_back();
        continue;
      }
      stack.pop_back();
      stack.append(list.rbegin(), list.rend());
    }
  };
  while (true) {
    refresh(a);
    refresh(b);
    if (a.empty() || b.empty())
      return;
    int64_t sizeA = nodes[a.back()].size, sizeB = nodes[b.back()].size;
    if (sizeA == sizeB) {
      nodes[b.back()].parent = a.back();
      a.pop_back();
      b.pop_back();
    } else if (sizeA < sizeB && sizeA > 0 && sizeB % sizeA == 0) {
      split(b, sizeA);
    } else if (sizeB < sizeA && sizeB > 0 && sizeA % sizeB == 0) {
      split(a, sizeB);
    } else {
      return;
    }
  }
}

SmallVector<int> &DimClasses::dimsOf(Value value) {
  auto [it, isNew] = dims.try_emplace(value);
  if (isNew)
    for (int64_t size : cast<RankedTensorType>(value.getType()).getShape())
      it->second.push_back(addNode(size));
  return it->second;
}

void DimClasses::unifyValues(Value a, Value b) {
  SmallVector<int> dimsA = dimsOf(a), dimsB = dimsOf(b);
  for (auto [x, y] : llvm::zip(dimsA, dimsB))
    unify(x, y);
}

void DimClasses::visit(Operation *op) {
  if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
    Operation *yield = loop.getBody().front().getTerminator();
    for (auto [i, operand] : llvm::enumerate(loop.getOperand()))
      for (Value other : {Value(loop.getCond().getArgument(i)),
                          Value(loop.getBody().getArgument(i)),
                          yield->getOperand(i), Value(loop->getResult(i))})
        unifyValues(operand, other);
    return;
  }
  if (auto branch = dyn_cast<stablehlo::CaseOp>(op)) {
    for (Region &region : branch.getBranches())
      for (auto [result, value] : llvm::zip(
               op->getResults(), region.front().getTerminator()->getOperands()))
        unifyValues(result, value);
    return;
  }
  auto rules = dyn_cast<ShardingRuleOpInterface>(op);
  if (!rules)
    return;
  ShardingRule rule = rules.getShardingRule();
  SmallVector<int> factors;
  for (const Factor &factor : rule.factors)
    factors.push_back(addNode(factor.size));
  auto tie = [&](Value value, const ShardingRule::ValueFactors &valueDims) {
    SmallVector<int> nodesOfValue = dimsOf(value);
    for (auto [node, list] : llvm::zip(nodesOfValue, valueDims)) {
      SmallVector<int> sequence;
      for (int f : list)
        sequence.push_back(factors[f]);
      if (!sequence.empty())
        unify(node, sequence);
    }
  };
  for (auto [value, valueDims] : llvm::zip(op->getOperands(), rule.operands))
    tie(value, valueDims);
  for (auto [value, valueDims] : llvm::zip(op->getResults(), rule.results))
    tie(value, valueDims);
}
