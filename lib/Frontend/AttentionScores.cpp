//===- AttentionScores.cpp - from the softmax down to q k^T ---------------===//
//
// Part of tsp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionMatch.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace tsp;
using namespace tsp::raise;

/// A finite fill masks when no score can come near it: keys that are filled
/// then get probability 0 unless all keys of a row are filled.
static bool masks(double fill, Type type) {
  return fill <= (getElementTypeOrSelf(type).isF16() ? -3e4 : -1e6);
}

/// Adding a score or bias to such a fill gives the fill: in f32 one has to be
/// beyond 1e12 to change it.
static bool swallows(double fill) { return fill <= -1e20; }

std::pair<Access, Access> raise::stepContraction(IndexSpace &space,
                                                 const Access &result,
                                                 stablehlo::DotGeneralOp op,
                                                 Role role) {
  auto numbers = op.getDotDimensionNumbers();
  auto lhsType = cast<RankedTensorType>(op.getLhs().getType());
  auto rhsType = cast<RankedTensorType>(op.getRhs().getType());
  SmallVector<AtomList> lhs(lhsType.getRank()), rhs(rhsType.getRank());
  SmallVector<bool> lhsDone(lhs.size()), rhsDone(rhs.size());
  size_t next = 0;
  for (auto [l, r] : llvm::zip(numbers.getLhsBatchingDimensions(),
                               numbers.getRhsBatchingDimensions())) {
    lhs[l] = rhs[r] = result.axes[next++].atoms;
    lhsDone[l] = rhsDone[r] = true;
  }
  for (auto [l, r] : llvm::zip(numbers.getLhsContractingDimensions(),
                               numbers.getRhsContractingDimensions())) {
    lhs[l] = rhs[r] = space.create(lhsType.getDimSize(l), role);
    lhsDone[l] = rhsDone[r] = true;
  }
  for (size_t i = 0; i < lhs.size(); ++i)
    if (!lhsDone[i])
      lhs[i] = result.axes[next++].atoms;
  for (size_t i = 0; i < rhs.size(); ++i)
    if (!rhsDone[i])
      rhs[i] = result.axes[next++].atoms;
  return {Access(op.getLhs(), lhs), Access(op.getRhs(), rhs)};
}

namespace {
class Peeler {
public:
  Peeler(IndexSpace &space, NearMiss &miss) : space(space), miss(miss) {}

  /// `outer` is the constant that the value at `access` is multiplied by above.
  bool peel(Access access, double outer, ScoreForm form);
  ScoreForm result;

private:
  bool fail(Operation *at, const Twine &reason) {
    miss = {at, reason.str()};
    return false;
  }
  bool peelFactor(Access access, double outer, ScoreForm &form, Value lhs,
                  Value rhs, bool divides);
  bool peelSum(Access access, double outer, ScoreForm &form, Value scores,
               Value bias, double sign);
  bool peelSelect(Access access, double outer, ScoreForm &form,
                  stablehlo::SelectOp op);
  bool addMask(Operation *at, Predicate predicate, double fill,
               ScoreForm &form);

  IndexSpace &space;
  NearMiss &miss;
};
} // namespace

bool Peeler::addMask(Operation *at, Predicate predicate, double fill,
                     ScoreForm &form) {
  bool infinite = std::isinf(fill);
  bool differs =
      infinite ? form.fill.has_value()
               : form.hasInfiniteFill || (form.fill && *form.fill != fill);
  if (differs)
    return fail(at, "masks with different fill values");
  if (infinite)
    form.hasInfiniteFill = true;
  else
    form.fill = fill;
  form.masks.push_back(predicate);
  return true;
}

bool Peeler::peelFactor(Access access, double outer, ScoreForm &form, Value lhs,
                        Value rhs, bool divides) {
  std::optional<double> factor = getSplat(rhs);
  Value scores = lhs;
  if (!factor && !divides) {
    factor = getSplat(lhs);
    scores = rhs;
  }
  if (!factor)
    return fail(access.value.getDefiningOp(),
                divides ? "scores divided by what is no constant"
                        : "scores times what is no constant");
  return peel(access.with(scores), divides ? outer / *factor : outer * *factor,
              form);
}

bool Peeler::peelSum(Access access, double outer, ScoreForm &form, Value scores,
                     Value bias, double sign) {
  Operation *op = access.value.getDefiningOp();
  if (form.softcap)
    return fail(op, "a bias added before the softcap");
  // select(p, 0, -inf) added is a mask.
  Access inner = access.with(bias);
  while (true) {
    std::optional<Access> up = stepUp(space, inner, /*slices=*/true);
    auto convert = inner.value.getDefiningOp<stablehlo::ConvertOp>();
    if (up)
      inner = *up;
    else if (convert && isa<FloatType>(getElementTypeOrSelf(
                            convert.getOperand().getType())))
      inner = inner.with(convert.getOperand());
    else
      break;
  }
  if (auto select = inner.value.getDefiningOp<stablehlo::SelectOp>()) {
    std::optional<double> onTrue = getSplat(select.getOnTrue());
    std::optional<double> onFalse = getSplat(select.getOnFalse());
    if (onTrue && onFalse && (*onTrue == 0 || *onFalse == 0)) {
      bool negated = *onTrue != 0;
      double fill = sign * outer * (negated ? *onTrue : *onFalse);
      if (fill == -INFINITY || swallows(fill)) {
        if (!addMask(op, {inner.with(select.getPred()), negated}, fill, form))
          return false;
        return peel(access.with(scores), outer, form);
      }
    }
  }
  form.biases.push_back({access.with(bias), sign * outer});
  return peel(access.with(scores), outer, form);
}

bool Peeler::peelSelect(Access access, double outer, ScoreForm &form,
                        stablehlo::SelectOp op) {
  std::optional<double> onTrue = getSplat(op.getOnTrue());
  std::optional<double> onFalse = getSplat(op.getOnFalse());
  if (onTrue.has_value() == onFalse.has_value())
    return fail(op, "scores chosen by select without a constant fill");
  double fill = outer * (onTrue ? *onTrue : *onFalse);
  if (form.softcap)
    return fail(op, "a mask before the softcap");
  if (!std::isinf(fill) && !masks(fill, access.getType()))
    return fail(op, llvm::Twine("the fill ") +
                        std::to_string(static_cast<int64_t>(fill)) +
                        " is not negative enough to be a mask");
  if (fill > 0 || std::isnan(fill))
    return fail(op, "a fill that is not negative");
  if (!std::isinf(fill) && !form.biases.empty() && !swallows(fill))
    return fail(op, "a bias added to a finite fill");
  if (!addMask(op, {access.with(op.getPred()), onTrue.has_value()}, fill, form))
    return false;
  return peel(access.with(onTrue ? op.getOnFalse() : op.getOnTrue()), outer,
              form);
}

bool Peeler::peel(Access access, double outer, ScoreForm form) {
  Operation *op = access.value.getDefiningOp();
  if (!op)
    return fail(form.path.empty() ? nullptr : form.path.back(),
                "scores that are no contraction of queries and keys");
  form.path.push_back(op);
  if (std::optional<Access> up = stepUp(space, access, /*slices=*/false))
    return peel(*up, outer, form);
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](stablehlo::ConvertOp convert) {
        if (!isa<FloatType>(
                getElementTypeOrSelf(convert.getOperand().getType())))
          return fail(op, "scores converted from integers");
        return peel(access.with(convert.getOperand()), outer, form);
      })
      .Case([&](stablehlo::MulOp mul) {
        return peelFactor(access, outer, form, mul.getLhs(), mul.getRhs(),
                          false);
      })
      .Case([&](stablehlo::DivOp div) {
        return peelFactor(access, outer, form, div.getLhs(), div.getRhs(),
                          true);
      })
      .Case([&](stablehlo::NegOp neg) {
        return peel(access.with(neg.getOperand()), -outer, form);
      })
      .Case([&](stablehlo::TanhOp tanh) {
        // m tanh(y) with y = k q.k is the softcap of m of the scale m k.
        if (form.softcap)
          return fail(op, "two softcaps");
        if (outer == 0)
          return fail(op, "a softcap of 0");
        form.softcap = std::abs(outer);
        return peel(access.with(tanh.getOperand()), outer < 0 ? -1.0 : 1.0,
                    form);
      })
      .Case([&](stablehlo::AddOp add) {
        ScoreForm other = form;
        if (peelSum(access, outer, form, add.getLhs(), add.getRhs(), 1))
          return true;
        NearMiss first = miss;
        if (peelSum(access, outer, other, add.getRhs(), add.getLhs(), 1))
          return true;
        miss = first;
        return false;
      })
      .Case([&](stablehlo::SubtractOp sub) {
        return peelSum(access, outer, form, sub.getLhs(), sub.getRhs(), -1);
      })
      .Case([&](stablehlo::SelectOp select) {
        return peelSelect(access, outer, form, select);
      })
      .Case([&](stablehlo::DotGeneralOp dot) {
        form.scale = form.softcap ? *form.softcap * outer : outer;
        form.contraction = dot;
        form.result = access;
        result = std::move(form);
        return true;
      })
      .Default([&](Operation *) {
        return fail(op, "'" + Twine(op->getName().getStringRef()) +
                            "' between the contraction of queries and keys and "
                            "the softmax");
      });
}

bool raise::peelScores(IndexSpace &space, const Access &scores, ScoreForm &form,
                       NearMiss &miss) {
  Peeler peeler(space, miss);
  if (!peeler.peel(scores, 1, {}))
    return false;
  form = std::move(peeler.result);
  return true;
}
