//===- AttentionOperands.cpp - queries, keys and values -------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"

using namespace mlir;
using namespace tsp;
using namespace tsp::raise;

/// Queries, keys and values as far up as they are only moved; with `scale` also
/// through constant factors.
static void traceOperand(IndexSpace &space, Access &access, double *scale) {
  while (true) {
    if (std::optional<Access> up = stepUp(space, access, /*slices=*/false)) {
      access = *up;
      continue;
    }
    Operation *op = access.value.getDefiningOp();
    if (!scale || !isa_and_nonnull<stablehlo::MulOp, stablehlo::DivOp>(op))
      return;
    std::optional<double> factor = getSplat(op->getOperand(1));
    Value other = op->getOperand(0);
    if (!factor && isa<stablehlo::MulOp>(op)) {
      factor = getSplat(op->getOperand(0));
      other = op->getOperand(1);
    }
    if (!factor)
      return;
    *scale *= isa<stablehlo::DivOp>(op) ? 1 / *factor : *factor;
    access = access.with(other);
  }
}

/// The root's type, when all operands have it or are widened from it; else the
/// widest type that takes part.
bool raise::traceOperands(AttentionMatch &match,
                          stablehlo::DotGeneralOp product, NearMiss &miss) {
  IndexSpace &space = match.space;
  auto fail = [&](const Twine &reason) {
    miss = {product, reason.str()};
    return false;
  };
  Access *operands[] = {&match.q, &match.k, &match.v};
  double factors[] = {1, 1, 1};
  Type type = getElementTypeOrSelf(match.root->getResult(0).getType());
  SmallVector<Access> narrow;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    Access access = *operand;
    traceOperand(space, access, i < 2 ? &factors[i] : nullptr);
    auto convert = access.value.getDefiningOp<stablehlo::ConvertOp>();
    if (convert &&
        getElementTypeOrSelf(convert.getOperand().getType()) == type) {
      access = access.with(convert.getOperand());
      traceOperand(space, access, i < 2 ? &factors[i] : nullptr);
    }
    narrow.push_back(access);
  }
  bool allFit = llvm::all_of(narrow, [&](const Access &access) {
    return access.getType().getElementType() == type;
  });
  for (auto [i, operand] : llvm::enumerate(operands)) {
    if (!allFit) {
      factors[i] = 1;
      narrow[i] = *operand;
      traceOperand(space, narrow[i], i < 2 ? &factors[i] : nullptr);
    }
    *operand = narrow[i];
    Type other = operand->getType().getElementType();
    if (!isa<FloatType>(other))
      return fail("operands that are no floats");
    match.scores.scale *= factors[i];
    if (other != type &&
        other.getIntOrFloatBitWidth() == type.getIntOrFloatBitWidth())
      type = Float32Type::get(type.getContext()); // bf16 and f16
    if (other.getIntOrFloatBitWidth() > type.getIntOrFloatBitWidth())
      type = other;
  }
  match.elementType = type;
  if (type.getIntOrFloatBitWidth() < 16)
    return fail("attention in an 8-bit type");
  return true;
}
