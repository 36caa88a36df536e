//===- RulesElementwise.cpp - rules of elementwise ops --------------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rules.h"
#include "tsp/Dialect/StableHLO/IR/StableHLODialect.h"

using namespace mlir;
using namespace tsp;

int tsp::addFactorPerDim(ShardingRule &rule, Value value, FactorKind kind) {
  int first = rule.factors.size();
  for (int64_t size : cast<RankedTensorType>(value.getType()).getShape())
    rule.addFactor(size, kind);
  return first;
}

ShardingRule::ValueFactors tsp::consecutiveFactors(int first, int64_t rank) {
  ShardingRule::ValueFactors dims;
  for (int64_t i = 0; i < rank; ++i)
    dims.push_back({int(first + i)});
  return dims;
}

namespace {

/// Equal shapes; scalars (a predicate, a bound) have no dims.
template <typename OpTy>
struct ElementwiseRule : RuleModel<ElementwiseRule<OpTy>, OpTy> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule;
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    addFactorPerDim(rule, op->getResult(0));
    auto dims = consecutiveFactors(0, type.getRank());
    for (Value operand : op->getOperands())
      rule.operands.push_back(
          cast<RankedTensorType>(operand.getType()).getRank() == 0
              ? ShardingRule::ValueFactors()
              : dims);
    rule.results.push_back(dims);
    return rule;
  }
};

template <typename... Ops> void attach(MLIRContext *context) {
  (Ops::template attachInterface<ElementwiseRule<Ops>>(*context), ...);
}

} // namespace

void tsp::registerElementwiseRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context,
                            stablehlo::StableHLODialect *) {
    using namespace stablehlo;
    attach<AbsOp, NegOp, SignOp, NotOp, PopulationCountOp, ClzOp, CbrtOp,
           CeilOp, CosineOp, ExpOp, Expm1Op, FloorOp, Log1pOp, LogOp,
           LogisticOp, RoundOp, RoundNearestEvenOp, RsqrtOp, SineOp, SqrtOp,
           TanOp, TanhOp, ConvertOp, IsFiniteOp, ReducePrecisionOp>(context);
    attach<AddOp, MulOp, MaxOp, MinOp, SubtractOp, DivOp, RemOp, PowOp, Atan2Op,
           AndOp, OrOp, XorOp, ShiftLeftOp, ShiftRightArithmeticOp,
           ShiftRightLogicalOp, CompareOp, SelectOp, ClampOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, chlo::CHLODialect *) {
    using namespace chlo;
    attach<AcosOp, AcoshOp, AsinOp, AsinhOp, AtanOp, AtanhOp, CoshOp, ErfOp,
           ErfcOp, ErfInvOp, SinhOp, SquareOp, chlo::TanOp>(context);
  });
}
