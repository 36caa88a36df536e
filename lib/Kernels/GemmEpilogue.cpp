//===- GemmEpilogue.cpp - what a kernel does with a product ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmEpilogue.h"
#include "Reductions.h"
#include "WholeOps.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace tsp;

namespace {
/// Walks from results up to a dot_general.
class EpilogueCheck {
public:
  explicit EpilogueCheck(stablehlo::DotGeneralOp dot) : dot(dot) {}

  bool holds(Value value) {
    auto [it, isNew] = known.try_emplace(value, true);
    if (isNew)
      known[value] = compute(value);
    return known[value];
  }

private:
  bool compute(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op == dot)
      return true;
    if (isReduction(op) || isWholeOp(op))
      return false;
    bool reads = llvm::any_of(op->getOperands(),
                              [&](Value operand) { return needsDot(operand); });
    if (reads && !stablehlo::isElementwise(op))
      return false;
    for (Value operand : op->getOperands()) {
      if (!holds(operand))
        return false;
      if (needsDot(operand) &&
          cast<RankedTensorType>(operand.getType()).getShape() !=
              dot.getType().getShape())
        return false;
    }
    return true;
  }

  bool needsDot(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op == dot)
      return op == dot;
    auto [it, isNew] = needs.try_emplace(value, false);
    if (isNew) {
      bool result = llvm::any_of(
          op->getOperands(), [&](Value operand) { return needsDot(operand); });
      needs[value] = result;
    }
    return needs[value];
  }

  stablehlo::DotGeneralOp dot;
  DenseMap<Value, bool> known, needs;
};

/// The element types that VectorEmitter rounds to.
bool canRound(Type type) {
  return type.isF64() || type.isF32() || type.isF16() || type.isBF16();
}
} // namespace

bool tsp::isEpilogue(ValueRange results, stablehlo::DotGeneralOp dot) {
  EpilogueCheck check(dot);
  return canRound(dot.getType().getElementType()) &&
         llvm::all_of(results, [&](Value result) {
           return cast<RankedTensorType>(result.getType()).getShape() ==
                      dot.getType().getShape() &&
                  check.holds(result);
         });
}

GemmEpilogue::GemmEpilogue(stablehlo::DotGeneralOp dot,
                           const DotProduct &product, Block &tensorBody,
                           const KernelBuffers &buffers, Block *block,
                           int64_t lanes)
    : dot(dot), product(product), lanes(lanes),
      emitter(block, block->getParentOp()->getParentOfType<ModuleOp>()) {
  emitter.setLoc(dot.getLoc());
  for (auto [argument, buffer] :
       llvm::zip_equal(tensorBody.getArguments(), buffers.inputs))
    emitter.bindBuffer(argument, buffer);
  for (auto [result, buffer] : llvm::zip_equal(
           tensorBody.getTerminator()->getOperands(), buffers.outputs))
    targets.push_back({result, emitter.flatten(buffer)});
}

GemmStore GemmEpilogue::getStore() {
  return [this](VectorEmitter &e, const GemmRow &row) { storeRow(e, row); };
}

void GemmEpilogue::storeRow(VectorEmitter &e, const GemmRow &row) {
  Value count = row.count ? row.count : e.index(row.width);
  e.elementLoop(e.index(0), count, lanes,
                [&](Value x) { storeElement(e, row, x); });
}

LinearIndex GemmEpilogue::placeOf(VectorEmitter &e, const GemmRow &row,
                                  Value x) {
  LinearIndex place;
  auto add = [&](Value value, int64_t size, int64_t stride) {
    place = place + emitter.makeSymbol(value, 0, size - 1) * stride;
  };
  for (auto [value, size, stride] :
       llvm::zip_equal(row.outer, product.spec.outer, product.outerStrides))
    add(value, size, stride);
  add(row.m, product.spec.m, product.mStride);
  add(e.add(row.n, x), product.spec.n, product.nStride);
  return place;
}

void GemmEpilogue::storeElement(VectorEmitter &e, const GemmRow &row, Value x) {
  Type element = dot.getType().getElementType();
  Type type = getComputeType(element);
  Value sum = e.narrow(e.load(row.sums, e.add(row.at, x)), element);
  sum = e.widen(sum, element, type);
  emitter.emitAt(e.b, [&] {
    emitter.bind(dot, [sum](ArrayRef<LinearIndex>) { return sum; });
    LinearIndex place = placeOf(e, row, x);
    for (auto [result, buffer] : targets)
      emitter.store(emitter.emitFlat(result, place), buffer,
                    getElementTypeOrSelf(result.getType()), place);
  });
}
