//===- FusedLowering.cpp - from ops to nests, for any target --------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusedLowering.h"

#include "WholeOps.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"
#include "tsp/Kernels/Kernels.h"

using namespace mlir;
using namespace tsp;
namespace sh = tsp::stablehlo;

void FusedLowering::lower(ValueRange inputs, ValueRange outputs) {
  emitter.setLoc(kernel.getLoc());
  for (auto [argument, buffer] : llvm::zip_equal(body.getArguments(), inputs))
    emitter.bindBuffer(argument, buffer);
  for (auto [result, buffer] :
       llvm::zip_equal(body.front().getTerminator()->getOperands(), outputs))
    targets.push_back({result, emitter.flatten(buffer)});

  takeUpdatesInPlace();
  SmallVector<Operation *> wholeOps;
  for (Operation &op : body.front())
    if (isWholeOp(&op))
      wholeOps.push_back(&op);
  if (needsOrder(wholeOps)) {
    emitInOrder([&] { lowerInOrder(wholeOps); });
  } else if (!wholeOps.empty()) {
    lowerWhole(wholeOps.front());
  } else {
    std::vector<std::unique_ptr<Nest>> nests = planNests();
    emitApart(nests);
  }
}

/// A result that must share the buffer of an argument, made by writing parts
/// of it, becomes a target for each part.
void FusedLowering::takeUpdatesInPlace() {
  if (!kernel->hasAttr(kMustTieAttr))
    return;
  auto tied = kernel->getAttrOfType<DenseI64ArrayAttr>(kTiedAttr);
  SmallVector<Target> all;
  for (auto [target, argument] : llvm::zip_equal(targets, tied.asArrayRef())) {
    SmallVector<Target> updates;
    Value value = target.tensor;
    while (auto update = value.getDefiningOp<sh::DynamicUpdateSliceOp>()) {
      updates.push_back({update.getUpdate(), target.buffer, update});
      value = update.getOperand();
    }
    if (updates.empty() || argument < 0 ||
        value != body.getArgument(argument)) {
      all.push_back(target);
      continue;
    }
    hasUpdateChain |= updates.size() > 1;
    llvm::append_range(all, llvm::reverse(updates));
  }
  targets = std::move(all);
}

/// Nests for the targets that are left, one for each shape.
std::vector<std::unique_ptr<Nest>> FusedLowering::planNests() {
  std::vector<std::unique_ptr<Nest>> nests;
  llvm::MapVector<Type, SmallVector<Target>> groups;
  for (const Target &target : targets)
    groups[RankedTensorType::get(
               cast<RankedTensorType>(target.tensor.getType()).getShape(),
               IntegerType::get(kernel.getContext(), 1))]
        .push_back(target);
  DenseMap<Type, unsigned> order;
  for (const auto &group : groups)
    order.try_emplace(group.first, order.size());
  auto ordered = groups.takeVector();
  auto size = [](const auto &group) {
    return cast<RankedTensorType>(group.second.front().tensor.getType())
        .getNumElements();
  };
  llvm::sort(ordered, [&](const auto &a, const auto &b) {
    return std::make_tuple(-size(a), order.lookup(a.first)) <
           std::make_tuple(-size(b), order.lookup(b.first));
  });
  // Reductions inside the larger nests are stored from there.
  DenseSet<Value> stored;
  for (auto &entry : ordered) {
    SmallVector<Target> &group = entry.second;
    llvm::erase_if(group, [&](const Target &target) {
      return stored.contains(target.tensor);
    });
    if (group.empty())
      continue;
    std::unique_ptr<Nest> nest = plan(group);
    std::vector<std::unique_ptr<Nest>> parts = nest->takeParts();
    if (!parts.empty()) {
      llvm::move(parts, std::back_inserter(nests));
      continue;
    }
    if (nest->getMisfits().empty())
      for (RowReduction &row : nest->getReductions())
        storeFrom(row, group, stored);
    nests.push_back(std::move(nest));
  }
  return nests;
}

/// Results of the kernel that are this reduction are stored by its nest.
void FusedLowering::storeFrom(RowReduction &row, ArrayRef<Target> own,
                              DenseSet<Value> &stored) {
  for (Value result : row.reduction.getOp()->getResults()) {
    row.resultBuffers.push_back({});
    for (const Target &target : targets)
      if (target.tensor == result && !stored.contains(result) &&
          llvm::none_of(own,
                        [&](const Target &t) { return t.tensor == result; }) &&
          llvm::count_if(targets, [&](const Target &t) {
            return t.tensor == result;
          }) == 1) {
        row.resultBuffers.back() = target.buffer;
        stored.insert(result);
      }
  }
}

/// Whether one part of the kernel reads what another has written.
bool FusedLowering::needsOrder(ArrayRef<Operation *> wholeOps) {
  if (hasUpdateChain)
    return true;
  if (!wholeOps.empty())
    return wholeOps.size() > 1 ||
           llvm::any_of(targets, [&](const Target &target) {
             return target.tensor.getDefiningOp() != wholeOps.front() ||
                    llvm::count_if(targets, [&](const Target &other) {
                      return other.tensor == target.tensor;
                    }) > 1;
           });
  return llvm::any_of(planNests(), [](const std::unique_ptr<Nest> &nest) {
    return !nest->getMisfits().empty();
  });
}

/// All results are those of one op, whose rows are independent.
void FusedLowering::lowerWhole(Operation *op) {
  SmallVector<Value> outputs(op->getNumResults());
  for (const Target &target : targets)
    outputs[cast<OpResult>(target.tensor).getResultNumber()] = target.buffer;
  fillOutputs(op, outputs);
  emitAlone(op, outputs, getTiedArgument());
}

/// Everything in order of use.
void FusedLowering::lowerInOrder(ArrayRef<Operation *> wholeOps) {
  for (Operation *op : wholeOps)
    putInMemory(op);
  for (const Target &target : targets)
    emitOrdered(target);
}

/// A nest for these targets, after what it needs in memory.
void FusedLowering::emitOrdered(ArrayRef<Target> nestTargets) {
  std::unique_ptr<Nest> nest = plan(nestTargets);
  while (!nest->getMisfits().empty()) {
    for (Operation *op : nest->getMisfits())
      putInMemory(op);
    nest = plan(nestTargets);
  }
  std::vector<std::unique_ptr<Nest>> parts = nest->takeParts();
  if (parts.empty())
    parts.push_back(std::move(nest));
  for (std::unique_ptr<Nest> &part : parts)
    emitPart(*part);
}

/// Computes all of an op's results, into temporaries.
void FusedLowering::putInMemory(Operation *op) {
  SmallVector<Value> outputs(op->getNumResults());
  fillOutputs(op, outputs);
  if (isWholeOp(op)) {
    emitPart(op, outputs);
  } else {
    SmallVector<Target> results;
    for (auto [result, buffer] : llvm::zip_equal(op->getResults(), outputs))
      results.push_back({result, buffer});
    emitOrdered(results);
  }
  for (auto [result, buffer] : llvm::zip_equal(op->getResults(), outputs))
    emitter.bindBuffer(result, buffer);
}

void FusedLowering::fillOutputs(Operation *op, MutableArrayRef<Value> outputs) {
  for (auto [result, output] : llvm::zip_equal(op->getResults(), outputs))
    if (!output) {
      auto type = cast<RankedTensorType>(result.getType());
      output = allocate(type.getNumElements(), type.getElementType());
    }
}

/// The argument that a scatter works on in place, if its result must share the
/// argument's buffer.
Value FusedLowering::getTiedArgument() {
  if (!kernel->hasAttr(kMustTieAttr))
    return {};
  auto tied = kernel->getAttrOfType<DenseI64ArrayAttr>(kTiedAttr);
  int64_t argument = tied.empty() ? -1 : tied[0];
  return argument < 0 ? Value() : Value(body.getArgument(argument));
}
